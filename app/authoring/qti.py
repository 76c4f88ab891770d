"""Questions as a package of QTI 3.0 items, for the question banks of Canvas, Brightspace, Inspera and others.

Elements are those of https://www.imsglobal.org/spec/qti/v3p0/impl. A number is judged by its range, options and pairs
by a mapping that gives our points, and an order as a whole.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from io import BytesIO
from typing import ClassVar
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from app.authoring.question_bank import (
    BankQuestion,
    NumberBody,
    NumberField,
    OptionBody,
    PairBody,
    StepBody,
    bank_images,
    other_units,
    place_links,
)
from app.core.units import spelling
from app.course.content.catalog import Catalog
from app.course.content.images import read_image
from app.site.markdown import html, inline_html

NAMESPACE = "http://www.imsglobal.org/xsd/imsqtiasi_v3p0"
MATHML = "http://www.w3.org/1998/Math/MathML"
PACKAGE = "http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1"
_SCHEMA = "https://purl.imsglobal.org/spec/qti/v3p0/schema/xsd/imsqti_asiv3p0_v1p0.xsd"
_LOCATION = "http://www.w3.org/2001/XMLSchema-instance", f"{NAMESPACE} {_SCHEMA}"
_MADE = (1980, 1, 1, 0, 0, 0)  # the same questions make the same package
_RESPONSE, _SCORE, _FEEDBACK, _SOLUTION = "RESPONSE", "SCORE", "FEEDBACK", "SOLUTION"
_PARAGRAPH = re.compile(r"<(/?)p>")
_NAMED = re.compile(r"&(?!lt;|gt;|amp;|quot;|#)\w+;")  # characters that XML has no name for
_ORDER_OF_LIST = re.compile(r'(<ol) start="\d+"')


@dataclass(slots=True, kw_only=True)
class QtiItem:
    """What one kind of body adds to an item: elements in the order of their places, and *feedback* by identifier."""

    declarations: list[Element]
    interaction: list[Element]
    processing: list[Element]
    feedback: dict[str, str]
    several: bool = True  # sentences may be shown at once
    without: tuple[str, ...] = ()


@dataclass(slots=True)
class QtiWriter:
    """A package of items; links into this site are kept only if its *address* is known."""

    catalog: Catalog
    address: str = ""
    system: ClassVar[str] = "QTI"
    file: ClassVar[str] = "FILE.zip"
    _files: dict[str, bytes] = field(default_factory=dict, init=False)
    _resources: list[Element] = field(default_factory=list, init=False)

    def add(self, _chapter: str, question: BankQuestion) -> Sequence[str]:
        """Add the *question*; what it is without."""
        item, without = self.element(question)
        name = re.sub(r"[^\w-]", "-", question.id)
        images = self._images(item)
        resource = _element("resource", identifier=f"item-{name}", type="imsqti_item_xmlv3p0", href=f"items/{name}.xml")
        resource.extend(_element("file", href=href) for href in (f"items/{name}.xml", *images))
        self._resources.append(resource)
        self._files |= {f"items/{name}.xml": _document(item), **images}
        return without

    def document(self) -> bytes:
        """The whole package."""
        manifest = _element("manifest", xmlns=PACKAGE, identifier="wallclock")
        about = SubElement(manifest, "metadata")
        SubElement(about, "schema").text = "QTI Package"
        SubElement(about, "schemaversion").text = "3.0.0"
        SubElement(manifest, "organizations")
        SubElement(manifest, "resources").extend(self._resources)
        file = BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in {"imsmanifest.xml": _document(manifest), **self._files}.items():
                packed.writestr(zipfile.ZipInfo(name, _MADE), content, zipfile.ZIP_DEFLATED)
        return file.getvalue()

    def element(self, asked: BankQuestion) -> tuple[Element, Sequence[str]]:
        """The question that was *asked* as an item, and what it is without."""
        made = _ITEMS[type(asked.body)](asked.body)
        item = _element(
            "qti-assessment-item",
            xmlns=NAMESPACE,
            identifier=re.sub(r"[^\w-]", "-", asked.id),
            title=asked.title,
            **{"xmlns:xsi": _LOCATION[0], "xsi:schemaLocation": _LOCATION[1], "xml:lang": "en"},
            adaptive="false",
            time_dependent="false",
        )
        many = "multiple" if made.several else "single"
        item.extend(made.declarations)
        item.append(_declaration("outcome", _SCORE, "single", "float", default="0", normal_maximum="1"))
        item.append(_declaration("outcome", _FEEDBACK, many, "identifier"))
        item.append(_declaration("outcome", _SOLUTION, "single", "identifier"))
        body = SubElement(item, "qti-item-body")
        body.extend([*self._blocks(asked.prompt), *made.interaction])
        solved = _set(_SOLUTION, _value("identifier", "solution"))
        SubElement(item, "qti-response-processing").extend([*made.processing, solved])
        for key, says in made.feedback.items():
            item.append(self._feedback(_FEEDBACK, key, says))
        item.append(self._feedback(_SOLUTION, "solution", asked.solution))
        hints = ("hints",) if asked.hints else ()
        return item, (*asked.without, *hints, *made.without)

    def _feedback(self, outcome: str, key: str, says: str) -> Element:
        shown = _element("qti-modal-feedback", outcome_identifier=outcome, identifier=key, show_hide="show")
        SubElement(shown, "qti-content-body").extend(self._blocks(says))
        return shown

    def _blocks(self, markdown: str) -> Iterable[Element]:
        return _parsed(place_links(html(markdown), self.address))

    def _images(self, item: Element) -> Mapping[str, bytes]:
        """The images of *item* by their paths in the package, to which its elements lead from now on."""
        images = {}
        for shown in item.iter("img"):
            found = bank_images(f'<img src="{shown.get("src", "")}"', self.catalog)
            for path in found.values():
                place = shown.get("src", "").removeprefix("/")
                images[place] = read_image(path)[0]
                shown.set("src", f"../{place}")
        return images


def _element(tag: str, *children: Element, **attributes: str) -> Element:
    """An element; `_` in the name of an attribute is a hyphen."""
    made = Element(tag, {name.replace("_", "-"): value for name, value in attributes.items()})
    made.extend(children)
    return made


def _document(root: Element) -> bytes:
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}\n".encode()


def _parsed(written: str) -> Iterable[Element]:
    """The elements of HTML that this site *written*, as QTI has them."""
    plain = _NAMED.sub(lambda found: unescape(found[0]), _ORDER_OF_LIST.sub(r"\1", written))
    plain = plain.replace("<math", f'<math xmlns="{MATHML}"')
    around = fromstring(f"<div>{plain}</div>")
    for one in around.iter():
        if one.tag.startswith(f"{{{MATHML}}}"):  # the namespace is declared where mathematics begins
            one.tag = one.tag.partition("}")[2]
            if one.tag == "math":
                one.set("xmlns", MATHML)
    return around


def _inline(tag: str, markdown: str, **attributes: str) -> Element:
    """The element *tag* with a line of *markdown* in it."""
    made = _element(tag, **attributes)
    (paragraph,) = _parsed(f"<span>{inline_html(markdown)}</span>")
    made.text, made[:] = paragraph.text, list(paragraph)
    return made


def _block(tag: str, markdown: str, **attributes: str) -> Element:
    """The element *tag* with blocks of *markdown* in it; without a paragraph where it is the only block."""
    written = html(markdown)
    if written.count("<p>") == 1 and _PARAGRAPH.sub("", written).strip() == str(inline_html(markdown)).strip():
        return _inline(tag, markdown, **attributes)
    return _element(tag, *_parsed(written), **attributes)


def _declaration(of: str, name: str, cardinality: str, base: str, *, default: str = "", **more: str) -> Element:
    made = _element(f"qti-{of}-declaration", identifier=name, cardinality=cardinality, base_type=base, **more)
    if default:
        made.append(_values("qti-default-value", [default]))
    return made


def _values(tag: str, texts: Iterable[str]) -> Element:
    made = _element(tag)
    for text in texts:
        SubElement(made, "qti-value").text = text
    return made


def _mapping(points: Mapping[str, float]) -> Element:
    entries = (_element("qti-map-entry", map_key=key, mapped_value=f"{value:.12g}") for key, value in points.items())
    return _element("qti-mapping", *entries, default_value="0")


def _value(base: str, text: str) -> Element:
    made = _element("qti-base-value", base_type=base)
    made.text = text
    return made


def _variable(name: str) -> Element:
    return _element("qti-variable", identifier=name)


def _set(outcome: str, value: Element) -> Element:
    return _element("qti-set-outcome-value", value, identifier=outcome)


def _say(key: str) -> Element:
    """Feedback that is shown beside what is shown already."""
    return _set(_FEEDBACK, _element("qti-multiple", _variable(_FEEDBACK), _value("identifier", key)))


def _credit(share: float) -> Element:
    return _set(_SCORE, _element("qti-sum", _variable(_SCORE), _value("float", f"{share:.12g}")))


def _condition(*cases: tuple[Element, Sequence[Element]]) -> Element:
    """The first of the *cases* that holds is done."""
    tags = ("qti-response-if", *["qti-response-else-if"] * (len(cases) - 1))
    return _element(
        "qti-response-condition", *(_element(tag, holds, *done) for tag, (holds, done) in zip(tags, cases, strict=True))
    )


def _is_right() -> Element:
    return _element("qti-match", _variable(_RESPONSE), _element("qti-correct", identifier=_RESPONSE))


def _is_answered() -> Element:
    return _element("qti-not", _element("qti-is-null", _variable(_RESPONSE)))


def _number_item(body: NumberBody) -> QtiItem:
    made = QtiItem(declarations=[], interaction=[], processing=[], feedback={}, without=other_units(body))
    for asked in body.fields:
        name = f"{_RESPONSE}-{asked.name}"
        declared = _declaration("response", name, "single", "float")
        declared.append(_values("qti-correct-response", [f"{asked.right:.15g}"]))
        made.declarations.append(declared)
        line = _inline("p", f"{asked.title}:" if asked.title else "")
        box = SubElement(line, "qti-text-entry-interaction", response_identifier=name, expected_length="15")
        box.attrib = {key.replace("_", "-"): value for key, value in box.attrib.items()}
        box.tail = f" {spelling(asked.scale.symbol)}" if asked.scale.symbol else ""
        made.interaction.append(line)
        made.feedback[f"{asked.name}-right"] = asked.praise
        made.feedback |= {f"{asked.name}-mistake-{place}": wrong.says for place, wrong in enumerate(asked.wrong, 1)}
        made.processing.append(_condition(*_ranges(asked, name, 1 / len(body.fields))))
    return made


def _ranges(asked: NumberField, name: str, share: float) -> Iterator[tuple[Element, Sequence[Element]]]:
    """What is right, then each foreseen mistake; of overlapping ones, the first counts."""
    yield _between(name, asked.low, asked.high), [_credit(share), _say(f"{asked.name}-right")]
    for place, wrong in enumerate(asked.wrong, 1):
        credit = [_credit(wrong.share * share)] if wrong.share else []
        told = [*credit, _say(f"{asked.name}-mistake-{place}")]
        yield _between(name, wrong.value - wrong.near, wrong.value + wrong.near), told


def _between(name: str, low: float, high: float) -> Element:
    return _element(
        "qti-and",
        _element("qti-gte", _variable(name), _value("float", f"{low:.15g}")),
        _element("qti-lte", _variable(name), _value("float", f"{high:.15g}")),
    )


def _option_item(body: OptionBody) -> QtiItem:
    """Of several options, each that is chosen or left out as it should be counts alike, as here."""
    each = 1 / len(body.options)
    right = [f"option-{one.key}" for one in body.options if one.is_right]
    declared = _declaration("response", _RESPONSE, "multiple" if body.many else "single", "identifier")
    points = {
        f"option-{one.key}": (each if one.is_right else -each) if body.many else float(one.is_right) or one.share
        for one in body.options
    }
    declared.extend([_values("qti-correct-response", right), _mapping(points)])
    interaction = _element(
        "qti-choice-interaction",
        *(_block("qti-simple-choice", one.text, identifier=f"option-{one.key}") for one in body.options),
        response_identifier=_RESPONSE,
        shuffle="true" if body.shuffled else "false",
        max_choices="0" if body.many else "1",
    )
    points_of_choice = _element("qti-map-response", identifier=_RESPONSE)
    if body.many:
        left_out = _value("float", f"{1 - len(right) * each:.12g}")
        points_of_choice = _element("qti-sum", points_of_choice, left_out)
    told = _set(_FEEDBACK, _variable(_RESPONSE))
    judged = _condition(
        (_is_right(), [_set(_SCORE, _value("float", "1")), told]),
        (_is_answered(), [_set(_SCORE, points_of_choice), told]),
    )
    return QtiItem(
        declarations=[declared],
        interaction=[interaction],
        processing=[judged],
        feedback={f"option-{one.key}": one.says for one in body.options if one.says},
        several=body.many,
    )


def _pair_item(body: PairBody) -> QtiItem:
    declared = _declaration("response", _RESPONSE, "multiple", "directedPair")
    each = 1 / len(body.things)
    right = {_pair(thing.key, partner): each for thing in body.things for partner in thing.partners}
    first = [_pair(thing.key, thing.partners[0]) for thing in body.things]
    declared.extend([_values("qti-correct-response", first), _mapping(right)])
    things = ((f"thing-{thing.key}", thing.text, "1") for thing in body.things)
    partners = ((f"partner-{key}", text, "0") for key, text in body.partners.items())
    interaction = _element(
        "qti-match-interaction",
        *(
            _element(
                "qti-simple-match-set",
                *(
                    _block("qti-simple-associable-choice", text, identifier=key, match_max=most)
                    for key, text, most in side
                ),
            )
            for side in (things, partners)
        ),
        response_identifier=_RESPONSE,
        shuffle="true",
        max_associations=str(len(body.things)),
    )
    wrong = {_pair(thing.key, partner): says for thing in body.things for partner, says in thing.says.items()}
    named = {f"pair-{place}": pair for place, pair in enumerate(wrong, 1)}
    judged = _condition((_is_answered(), [_set(_SCORE, _element("qti-map-response", identifier=_RESPONSE))]))
    told = (
        _condition((_element("qti-member", _value("directedPair", pair), _variable(_RESPONSE)), [_say(key)]))
        for key, pair in named.items()
    )
    return QtiItem(
        declarations=[declared],
        interaction=[interaction],
        processing=[judged, *told],
        feedback={key: wrong[pair] for key, pair in named.items()},
    )


def _pair(thing: str, partner: str) -> str:
    return f"thing-{thing} partner-{partner}"


def _step_item(body: StepBody) -> QtiItem:
    declared = _declaration("response", _RESPONSE, "ordered", "identifier")
    declared.append(_values("qti-correct-response", (f"step-{key}" for key in body.steps)))
    choices = (_block("qti-simple-choice", body.steps[key], identifier=f"step-{key}") for key in body.shown)
    interaction = _element("qti-order-interaction", *choices, response_identifier=_RESPONSE, shuffle="true")
    return QtiItem(
        declarations=[declared],
        interaction=[interaction],
        processing=[_condition((_is_right(), [_set(_SCORE, _value("float", "1"))]))],
        feedback={},
        without=("points for a part of the order", *(("feedback on wrong orders",) if body.has_feedback else ())),
    )


_ITEMS: Mapping[type, Callable[..., QtiItem]] = {
    NumberBody: _number_item,
    OptionBody: _option_item,
    PairBody: _pair_item,
    StepBody: _step_item,
}
