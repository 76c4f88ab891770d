"""Questions as Moodle XML, for the question bank of a Moodle.

The format is that of https://docs.moodle.org/en/Moodle_XML_format.
"""

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import ClassVar
from xml.etree.ElementTree import Element, SubElement, tostring

from app.authoring.question_bank import (
    IMAGE,
    BankQuestion,
    NotPortableError,
    NumberBody,
    NumberField,
    OptionBody,
    PairBody,
    StepBody,
    bank_images,
    other_units,
    place_links,
)
from app.core.units.scales import PHYSICAL_SCALES, SCALES, Scale
from app.course.content.catalog import Catalog
from app.course.content.images import read_image
from app.site.markdown import portable_html

# The parts of a grade that Moodle knows; it refuses a file with another.
_SHARES = {1: "100", 2: "50", 3: "33.33333", 4: "25", 5: "20", 6: "16.66667", 7: "14.28571",
           8: "12.5", 9: "11.11111", 10: "10"}  # fmt: skip
_NONE = "0"
_PARTS = (_NONE, "5", "10", "20", "25", "30", "40", "50", "60", "70", "75", "80", "90")
_SPECIAL = re.compile(r"([\\}#~/\"])")  # in the answers of a cloze question
# Of the many ways to write a unit, those that are offered in Moodle.
_PLAIN = re.compile(r"[num]?s|min|h|[kMGTP]?i?B(/s)?|[kMGT]?bit(/s)?|[MGTPE]?FLOP(/s|/B)?|[kMG]?(W|J|Wh)")
_STORED = 1e-12, 1e15  # Moodle keeps multipliers with 38 digits, 19 of them decimals
_MATHEMATICS = re.compile(r"\$[^$]+\$")
_MARKS = re.compile(r"[*`]|\[([^\[\]]*+)\]\([^)]*+\)")
_PENALTY = "0.3333333"  # of each further try, as Moodle's own default
BEGINNING = '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n'
END = "</quiz>\n"


@dataclass(frozen=True, slots=True)
class MoodleAnswers:
    """A type of question, its answers, what stands *below* the prompt, and what is not carried over."""

    type: str
    elements: Sequence[Element]
    below: str = ""
    without: tuple[str, ...] = ()


@dataclass(slots=True)
class MoodleWriter:
    """A file of questions; links into this site are kept only if its *address* is known."""

    catalog: Catalog
    address: str = ""
    system: ClassVar[str] = "Moodle"
    file: ClassVar[str] = "FILE.xml"
    _chapter: str = field(default="", init=False)
    _elements: list[Element] = field(default_factory=list, init=False)

    def add(self, chapter: str, question: BankQuestion) -> Sequence[str]:
        """Add the *question*, in the category of its *chapter*; what it is without there.

        Raises:
            NotPortableError: Moodle does not judge it as we do.
        """
        made, without = self.element(question)
        if chapter != self._chapter:
            self._chapter = chapter
            category = Element("question", type="category")
            place = chapter.replace("/", "//")
            _add_text(SubElement(category, "category"), f"$course$/top/Wallclock/{place}")
            self._elements.append(category)
        self._elements.append(made)
        return without

    def document(self) -> bytes:
        """The whole file."""
        lines = (f"{tostring(one, encoding='unicode')}\n" for one in self._elements)
        return "".join((BEGINNING, *lines, END)).encode()

    def element(self, asked: BankQuestion) -> tuple[Element, Sequence[str]]:
        """The question that was *asked* as an element, and what it is without.

        Raises:
            NotPortableError: Moodle does not judge it as we do.
        """
        answers = _ANSWERS[type(asked.body)](asked.body)
        question = Element("question", type=answers.type)
        _add_text(SubElement(question, "name"), asked.title)
        self._html(question, "questiontext", asked.prompt, answers.below)
        self._html(question, "generalfeedback", asked.solution)
        settings = {"defaultgrade": "1", "penalty": _PENALTY, "hidden": "0", "idnumber": asked.id}
        question.extend([*_settings(settings), *answers.elements])
        for hint in asked.hints:
            self._html(question, "hint", hint)
        tags = SubElement(question, "tags")
        for word in asked.tags:
            _add_text(SubElement(tags, "tag"), word)
        return question, (*asked.without, *answers.without)

    def _html(self, around: Element, name: str, markdown: str, below: str = "") -> None:
        """Add the element *name* with *markdown* as HTML, and the images that it shows."""
        element = SubElement(around, name, format="html")
        html = portable_html(markdown)
        _add_text(element, place_links(IMAGE.sub(r'\1@@PLUGINFILE@@/\4"', html), self.address) + below)
        for file, path in bank_images(html, self.catalog).items():
            body = base64.b64encode(read_image(path)[0]).decode()
            SubElement(element, "file", name=file, path="/", encoding="base64").text = body


def _settings(texts: dict[str, str]) -> Iterator[Element]:
    for name, text in texts.items():
        made = Element(name)
        made.text = text
        yield made


def _add_text(element: Element, text: str) -> None:
    SubElement(element, "text").text = text


def _answer_element(fraction: str, text: str, says: str, *, html: bool = False) -> Element:
    made = Element("answer", fraction=fraction, format="html" if html else "moodle_auto_format")
    _add_text(made, text)
    _add_text(SubElement(made, "feedback", format="html"), portable_html(says) if says else "")
    return made


def _numerical(body: NumberBody) -> MoodleAnswers:
    if len(body.fields) > 1 or body.fields[0].title:
        return _cloze(body)
    (asked,) = body.fields
    elements = [_number_element("100", *_range(asked), asked.praise)]
    elements += [
        _number_element(_part_of(one.share), _plain_number(one.value), _plain_number(one.near), one.says)
        for one in asked.wrong
    ]
    units = list(_units(asked.scale))
    if units:
        around = Element("units")
        for name, multiplier in units:
            unit = SubElement(around, "unit")
            unit.extend(_settings({"multiplier": multiplier, "unit_name": name}))
        elements.append(around)
    settings = {"unitgradingtype": "0", "unitpenalty": "0", "showunits": "0" if units else "3", "unitsleft": "0"}
    symbol = escape(asked.scale.symbol)
    below = f"<p>A number without a unit is in {symbol}.</p>" if symbol else ""
    return MoodleAnswers("numerical", [*elements, *_settings(settings)], below)


def _number_element(fraction: str, value: str, tolerance: str, says: str) -> Element:
    made = _answer_element(fraction, value, says)
    SubElement(made, "tolerance").text = tolerance
    return made


def _range(asked: NumberField) -> tuple[str, str]:
    """The middle of what counts as right, and how far from it."""
    return _plain_number((asked.low + asked.high) / 2), _plain_number((asked.high - asked.low) / 2)


def _plain_number(number: float) -> str:
    return f"{number:.15g}"


def _units(scale: Scale) -> Iterator[tuple[str, str]]:
    """The unit that is asked for, and others of its kind with what a number in it is there."""
    if not scale.symbol:
        return
    yield scale.symbol, "1"
    seen = {scale.symbol.casefold()}
    for symbol, other in (SCALES | PHYSICAL_SCALES).items():
        alike = other.unit.dimension == scale.unit.dimension and symbol.casefold() not in seen
        is_plain = symbol in PHYSICAL_SCALES or _PLAIN.fullmatch(symbol)
        if alike and symbol.isascii() and is_plain and scale.symbol != "%":
            seen.add(symbol.casefold())
            multiplier = scale.factor / other.factor
            if _STORED[0] < multiplier < _STORED[1]:
                yield symbol, _plain_number(multiplier)


def _cloze(body: NumberBody) -> MoodleAnswers:
    """Several numbers in one question; each in the unit that is asked for."""
    rows = []
    for asked in body.fields:
        told = ["=" + ":".join(_range(asked))]
        for wrong in asked.wrong:
            # What has mathematics cannot be shown where this goes.
            says = "" if _MATHEMATICS.search(wrong.says) else escape(_MARKS.sub(r"\1", wrong.says), quote=False)
            place = f"{_plain_number(wrong.value)}:{_plain_number(wrong.near)}"
            told.append(f"%{_part_of(wrong.share)}%{place}#" + _SPECIAL.sub(r"\\\1", says))
        title = portable_html(asked.title).strip().removeprefix("<p>").removesuffix("</p>")
        unit = f" {escape(asked.scale.symbol)}" if asked.scale.symbol else ""
        rows.append(f"<li>{title}: {{1:NUMERICAL:{'~'.join(told)}}}{unit}</li>")
    return MoodleAnswers("cloze", (), f"<ul>{''.join(rows)}</ul>", other_units(body))


def _multichoice(body: OptionBody) -> MoodleAnswers:
    right = sum(option.is_right for option in body.options)
    wrong = len(body.options) - right
    if body.shuffled and max(right, wrong) not in _SHARES:
        raise NotPortableError("choice: it has too many options for the grades of Moodle")
    off = f"-{_SHARES[wrong]}" if body.many else ""
    answers = [
        _answer_element(
            _SHARES[right] if option.is_right else off or _part_of(option.share),
            portable_html(option.text),
            option.says,
            html=True,
        )
        for option in body.options
    ]
    numbering, shuffles = ("abc", "true") if body.shuffled else ("none", "false")
    settings = {"single": "false" if body.many else "true", "shuffleanswers": shuffles, "answernumbering": numbering}
    return MoodleAnswers("multichoice", [*_settings(settings), *answers])


def _part_of(score: float) -> str:
    """The grade of a wrong answer that is worth *score* of the points."""
    known = {round(float(share), 3): share for share in _PARTS}
    if round(100 * score, 3) not in known:
        raise NotPortableError("score: Moodle does not know the share of a wrong answer")
    return known[round(100 * score, 3)]


def _matching(body: PairBody) -> MoodleAnswers:
    if any(len(thing.partners) > 1 for thing in body.things):
        raise NotPortableError("matching: an item has several right partners")
    if any(_MATHEMATICS.search(text) for text in body.partners.values()):
        raise NotPortableError("matching: Moodle shows no mathematics in a list of partners")
    pairs = [(thing.text, thing.partners[0]) for thing in body.things]
    used = {partner for _, partner in pairs}
    pairs += [("", partner) for partner in body.partners if partner not in used]
    elements = [*_settings({"shuffleanswers": "true"})]
    for text, partner in pairs:
        made = Element("subquestion", format="html")
        _add_text(made, portable_html(text) if text else "")
        _add_text(SubElement(made, "answer"), _MARKS.sub(r"\1", body.partners[partner]))
        elements.append(made)
    has_feedback = any(thing.says for thing in body.things)
    return MoodleAnswers("matching", elements, without=("feedback on wrong pairs",) if has_feedback else ())


def _ordering(body: StepBody) -> MoodleAnswers:
    settings = {
        "layouttype": "VERTICAL",
        "selecttype": "ALL",
        "selectcount": "0",
        "gradingtype": "RELATIVE_ALL_PREVIOUS_AND_NEXT",
        "showgrading": "SHOW",
    }
    steps = [
        _answer_element(str(place), portable_html(text), "", html=True)
        for place, text in enumerate(body.steps.values(), 1)
    ]
    without = ("feedback on wrong orders",) if body.has_feedback else ()
    return MoodleAnswers("ordering", [*_settings(settings), *steps], without=without)


_ANSWERS: dict[type, Callable[..., MoodleAnswers]] = {
    NumberBody: _numerical,
    OptionBody: _multichoice,
    PairBody: _matching,
    StepBody: _ordering,
}
