"""QTI 3.0: every element and attribute is one of the specification, and an item's own processing judges as we do.

The schema of the specification may not be copied here, so its content models are written down by hand, as far as items
use them, from https://www.imsglobal.org/spec/qti/v3p0/impl.
"""

import asyncio
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from app.__main__ import main
from app.authoring.qti import QtiPage, QtiWriter
from app.authoring.question_bank import NotPortableError, bank_question
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.base import Answer
from app.course.kinds.choice import Choice
from app.course.kinds.numeric import Numeric
from app.course.kinds.order import Match, Order
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.content.test_images import SVG
from tests.kinds.test_scored_mistakes import scored

Capture = pytest.CaptureFixture[str]
Response = Mapping[str, list[str]]
NAMESPACE = "http://www.imsglobal.org/xsd/imsqtiasi_v3p0"
MATHML = "http://www.w3.org/1998/Math/MathML"
PACKAGE = "http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1"
NO_RUNNER = Runner(Settings())
RING = "collectives/ring-all-reduce-time"
EXPRESSION = "(base-value|variable|correct|map-response|sum|and|gte|lte|not|is-null|match|member|multiple)"
RULE = "(set-outcome-value|response-condition)"
BLOCK = "(p|ul|ol|table|pre|blockquote|hr|h1|h2|h3|div|span)"
INLINE = "(a|br|code|em|img|span|strong|math|text-entry-interaction)"
CHOICE = "(p|ul|ol|table|pre|code|em|img|span|strong|a|br)"
# The children of an element, in order, as a regular expression over their names; the prefix qti- is left out.
CHILDREN = {
    "assessment-item": "(response-declaration )+(outcome-declaration )+item-body response-processing (modal-feedback )*",
    "response-declaration": "correct-response (mapping )?",
    "outcome-declaration": "(default-value )?",
    "correct-response": "(value )+",
    "default-value": "value ",
    "value": "",
    "mapping": "(map-entry )+",
    "map-entry": "",
    "item-body": f"({BLOCK} |choice-interaction |match-interaction |order-interaction )+",
    "choice-interaction": "(simple-choice ){2,}",
    "order-interaction": "(simple-choice ){2,}",
    "match-interaction": "simple-match-set simple-match-set ",
    "simple-match-set": "(simple-associable-choice )+",
    "simple-choice": f"({CHOICE} )*",
    "simple-associable-choice": f"({CHOICE} )*",
    "text-entry-interaction": "",
    "response-processing": f"({RULE} )+",
    "response-condition": "response-if (response-else-if )*",
    "response-if": f"{EXPRESSION} (set-outcome-value )*",
    "response-else-if": f"{EXPRESSION} (set-outcome-value )*",
    "set-outcome-value": f"{EXPRESSION} ",
    "base-value": "",
    "variable": "",
    "correct": "",
    "map-response": "",
    **dict.fromkeys(("sum", "and", "multiple"), f"({EXPRESSION} )+"),
    **dict.fromkeys(("gte", "lte", "match", "member"), f"{EXPRESSION} {EXPRESSION} "),
    **dict.fromkeys(("not", "is-null"), f"{EXPRESSION} "),
    "modal-feedback": "content-body ",
    "content-body": f"({BLOCK} )+",
    **dict.fromkeys(("p", "h1", "h2", "h3", "em", "strong", "a", "code", "span"), f"({INLINE} )*"),
    **dict.fromkeys(("li", "td", "th", "blockquote", "div"), f"({INLINE} |{BLOCK} )*"),
    "pre": "(code )?",
    **dict.fromkeys(("ul", "ol"), "(li )+"),
    "table": "thead (tbody )?",
    **dict.fromkeys(("thead", "tbody"), "(tr )+"),
    "tr": "(th |td )+",
    **dict.fromkeys(("br", "hr", "img"), ""),
}
# Attributes that must be there; of those of HTML, all that may be.
ATTRIBUTES = {
    "assessment-item": {"identifier", "title", "adaptive", "time-dependent", "xml:lang", "xsi:schemaLocation"},
    "response-declaration": {"identifier", "cardinality", "base-type"},
    "outcome-declaration": {"identifier", "cardinality", "base-type"},
    "mapping": {"default-value"},
    "map-entry": {"map-key", "mapped-value"},
    "choice-interaction": {"response-identifier", "shuffle", "max-choices"},
    "order-interaction": {"response-identifier", "shuffle"},
    "match-interaction": {"response-identifier", "shuffle", "max-associations"},
    "simple-choice": {"identifier"},
    "simple-associable-choice": {"identifier", "match-max"},
    "text-entry-interaction": {"response-identifier", "expected-length"},
    "set-outcome-value": {"identifier"},
    "base-value": {"base-type"},
    **dict.fromkeys(("variable", "correct", "map-response"), {"identifier"}),
    "modal-feedback": {"outcome-identifier", "identifier", "show-hide"},
}
OF_HTML = {"a": {"href"}, "img": {"src", "alt"}}
MORE = {"outcome-declaration": {"normal-maximum"}}
BASE_TYPES = {"float", "identifier", "directedPair"}


def item_of(catalog: Catalog, exercise: Exercise, seed: int = 0, address: str = "") -> Element:
    return ElementTree.fromstring(QtiPage(bank_question(exercise, seed), catalog, address).item())


@pytest.fixture(scope="module")
def items(catalog: Catalog) -> Mapping[str, Element]:
    """Every exercise that can be carried over, as the first seed draws it."""
    found = {}
    for exercise in catalog.exercises:
        try:
            found[exercise.id] = item_of(catalog, exercise)
        except NotPortableError:
            continue
    return found


def name_of(element: Element) -> str:
    tag = element.tag
    if tag.startswith(f"{{{MATHML}}}"):
        return tag.partition("}")[2]
    assert tag.startswith(f"{{{NAMESPACE}}}"), tag
    return tag.partition("}")[2].removeprefix("qti-")


def elements(item: Element) -> Iterable[tuple[str, Element]]:
    """Every element but those inside mathematics, and its name."""
    waiting = [item]
    while waiting:
        element = waiting.pop()
        name = name_of(element)
        if name != "math":
            yield name, element
            waiting += element


def test_numbers_choices_matches_and_orders_are_carried_over(items: Mapping[str, Element], catalog: Catalog) -> None:
    left_out = {one.kind for one in catalog.exercises if one.id not in items}
    assert left_out == {"function", "schedule", "lab", "expression", "design", "sharding", "order"}
    assert {catalog.exercise(name).kind for name in items} == {"numeric", "choice", "match", "order", "buggy_line"}


def test_every_element_has_the_children_and_attributes_of_the_specification(items: Mapping[str, Element]) -> None:
    for name, item in items.items():
        for tag, element in elements(item):
            children = "".join(f"{name_of(child)} " for child in element)
            assert re.fullmatch(CHILDREN[tag], children), (name, tag, children)
            found = {key.replace("{http://www.w3.org/XML/1998/namespace}", "xml:") for key in element.attrib}
            found = {re.sub(r"\{.*XMLSchema-instance\}", "xsi:", key) for key in found} - MORE.get(tag, set())
            if tag in ATTRIBUTES:
                assert found == ATTRIBUTES[tag], (name, tag)
            else:
                assert found <= OF_HTML.get(tag, set()) | {"class"}, (name, tag, found)
            assert element.get("base-type", "float") in BASE_TYPES


def test_identifiers_are_valid_unique_and_declared(items: Mapping[str, Element]) -> None:
    for name, item in items.items():
        declared = [one.attrib["identifier"] for tag, one in elements(item) if tag.endswith("declaration")]
        shown = [
            one.attrib["identifier"] for tag, one in elements(item) if tag.startswith("simple-") and "set" not in tag
        ]
        for identifiers in (declared, shown):
            assert len(set(identifiers)) == len(identifiers), name
        for identifier in (item.attrib["identifier"], *declared, *shown):
            assert re.fullmatch(r"[A-Za-z_][\w.-]*", identifier), name
        for _, element in elements(item):
            for key in ("response-identifier", "outcome-identifier"):
                assert element.get(key, declared[0]) in declared, name
        for tag, element in elements(item):
            if tag in ("variable", "correct", "map-response", "set-outcome-value"):
                assert element.attrib["identifier"] in declared, name


class ItemPlayer:
    """What a learner is told by an item: its response processing, played as the specification says."""

    def __init__(self, item: Element, response: Response) -> None:
        self.item, self.response = item, response
        self.outcomes: dict[str, list[str]] = {"SCORE": ["0"], "FEEDBACK": [], "SOLUTION": []}
        for rule in self.found("response-processing")[0]:
            self.play(rule)

    @property
    def score(self) -> float:
        (score,) = self.outcomes["SCORE"]
        return float(score)

    @property
    def says(self) -> str:
        shown = [one for one in self.found("modal-feedback") if one.get("identifier") in self.outcomes["FEEDBACK"]]
        return " ".join("".join(one.itertext()) for one in shown)

    def found(self, tag: str) -> list[Element]:
        return list(self.item.iter(f"{{{NAMESPACE}}}qti-{tag}"))

    def play(self, rule: Element) -> None:
        if name_of(rule) == "set-outcome-value":
            self.outcomes[rule.attrib["identifier"]] = self.value(rule[0])
            return
        for case in rule:
            if self.value(case[0]) == ["true"]:
                for done in case[1:]:
                    self.play(done)
                return

    def declaration(self, name: str, part: str) -> Element:
        (found,) = (one for one in self.found("response-declaration") if one.get("identifier") == name)
        return found.find(f"{{{NAMESPACE}}}qti-{part}")  # type: ignore[return-value]

    def value(self, node: Element) -> list[str]:
        """The values that *node* stands for; none is NULL."""
        name, of = name_of(node), node.get("identifier", "")
        inside = [] if name == "base-value" else [self.value(child) for child in node]
        match name:
            case "base-value":
                return [node.text or ""]
            case "variable":
                return self.outcomes[of] if of in self.outcomes else self.response.get(of, [])
            case "correct":
                return [value.text or "" for value in self.declaration(of, "correct-response")]
            case "map-response":
                mapping = self.declaration(of, "mapping")
                points = {one.attrib["map-key"]: float(one.attrib["mapped-value"]) for one in mapping}
                return [str(sum(points.get(one, float(mapping.attrib["default-value"])) for one in self.response[of]))]
            case "sum":
                return [str(sum(float(one) for (one,) in inside))]
            case "multiple":
                return [one for values in inside for one in values]
        return ["true" if self.holds(name, inside) else "false"]

    def holds(self, name: str, inside: list[list[str]]) -> bool:
        match name:
            case "and":
                return all(one == ["true"] for one in inside)
            case "not":
                return inside[0] == ["false"]
            case "is-null":
                return not inside[0]
            case "member":
                return inside[0][0] in inside[1]
            case "match":
                is_ordered = any(one.get("cardinality") == "ordered" for one in self.found("response-declaration"))
                left, right = inside if is_ordered else map(sorted, inside)
                return left == right
        left, right = inside
        if not left:
            return False
        return float(left[0]) >= float(right[0]) if name == "gte" else float(left[0]) <= float(right[0])


def response_of(exercise: Exercise, answer: Answer) -> Response:
    """What is typed and chosen in an item for our *answer*."""
    if isinstance(exercise, Numeric):
        texts = answer if isinstance(answer, dict) else {"answer": str(answer)}
        return {f"RESPONSE-{name}": [text.split()[0]] for name, text in texts.items()}
    if isinstance(answer, dict):
        return {"RESPONSE": [f"thing-{key} partner-{partner}" for key, partner in answer.items()]}
    prefix = "step" if isinstance(exercise, Order) else "option"
    return {"RESPONSE": [f"{prefix}-{key}" for key in ([answer] if isinstance(answer, str) else answer)]}


def test_an_item_gives_the_points_that_we_give(items: Mapping[str, Element], catalog: Catalog) -> None:
    kinds: dict[str, int] = {}
    for name, item in items.items():
        exercise = catalog.exercise(name)
        if exercise.runs_code:
            continue
        answers = [exercise.right_answer(0), *(answer for answer, _ in exercise.mistakes(0))]
        for answer in answers:
            ours = asyncio.run(exercise.grade(0, answer, NO_RUNNER))
            theirs = ItemPlayer(item, response_of(exercise, answer)).score
            if isinstance(exercise, Order):
                assert theirs == float(ours.correct), (name, answer)
                continue
            builds = isinstance(exercise, Numeric) and len(exercise.answers) > 1 and not ours.correct
            assert theirs == pytest.approx(ours.score, abs=1e-9) or (builds and theirs < ours.score), (name, answer)
            kinds[exercise.kind] = kinds.get(exercise.kind, 0) + 1
    assert all(kinds[kind] > 20 for kind in ("numeric", "choice", "match"))


def test_every_share_of_several_options_is_ours(items: Mapping[str, Element], catalog: Catalog) -> None:
    exercise = next(one for one in catalog.exercises if isinstance(one, Choice) and one.many)
    keys = list(exercise.options)
    for chosen in (keys[:1], keys[1:], keys, keys[:2]):
        ours = asyncio.run(exercise.grade(0, chosen, NO_RUNNER)).score
        player = ItemPlayer(items[exercise.id], response_of(exercise, chosen))
        assert player.score == pytest.approx(ours, abs=1e-9), chosen
    assert ItemPlayer(items[exercise.id], {}).score == 0


def test_the_edges_of_a_number_count_and_what_is_beyond_does_not(items: Mapping[str, Element]) -> None:
    low, high = 69.65, 70.35
    for number, score in ((low, 1), (high, 1), (low - 1e-6, 0), (high + 1e-6, 0)):
        assert ItemPlayer(items[RING], {"RESPONSE-answer": [str(number)]}).score == score, number
    assert ItemPlayer(items[RING], {}).score == 0


def test_a_mistake_is_told_its_sentence(items: Mapping[str, Element], catalog: Catalog) -> None:
    assert "reduce-scatter alone" in ItemPlayer(items[RING], {"RESPONSE-answer": ["35"]}).says
    exercise = next(
        one for one in catalog.exercises if isinstance(one, Match) and any(t.says for t in one.things.values())
    )
    answer, _ = next(iter(exercise.mistakes(0)))
    assert ItemPlayer(items[exercise.id], response_of(exercise, answer)).says


def test_a_mistake_about_a_number_is_worth_its_share(catalog: Catalog, tmp_path: Path) -> None:
    exercise = scored(tmp_path, RING, (), 0.37)
    (answer, _), *_ = exercise.mistakes(0)
    player = ItemPlayer(item_of(catalog, exercise), response_of(exercise, answer))
    assert player.score == pytest.approx(0.37)


def test_mathematics_is_mathml_and_links_are_whole_addresses_or_words(catalog: Catalog) -> None:
    ring = catalog.exercise(RING)
    shown = ring.model_copy(update={"solution": "3. See [the page](/formulas), $\\frac{a}{b} < 1$ and <b>&nbsp;."})
    shown._variants.clear()
    (alone,) = (one for one in item_of(catalog, shown).iter() if one.get("identifier") == "solution")
    assert [one.tag for one in alone.iter() if one.tag.endswith("mfrac")] == [f"{{{MATHML}}}mfrac"]
    assert "See the page," in "".join(alone.itertext())
    assert "<b>" in "".join(alone.itertext())
    site = item_of(catalog, shown, address="https://wallclock.example.org")
    assert [one.get("href") for one in site.iter(f"{{{NAMESPACE}}}a")] == ["https://wallclock.example.org/formulas"]


def test_an_image_travels_with_its_item(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "ring.svg").write_text(SVG.format("<path d='M0 0h1'/>"))
    ring = catalog.exercise(RING)
    shown = ring.model_copy(update={"prompt": "![A ring](/images/collectives/ring.svg) How long?"})
    shown._variants.clear()
    writer = QtiWriter(replace(catalog, images={"collectives/ring.svg": tmp_path / "ring.svg"}))
    writer.add("", bank_question(shown, 0))
    with zipfile.ZipFile(io.BytesIO(writer.document())) as package:
        assert package.read("images/collectives/ring.svg") == (tmp_path / "ring.svg").read_bytes()
        assert b'src="../images/collectives/ring.svg"' in package.read("items/collectives-ring-all-reduce-time-0.xml")
        assert b'<file href="images/collectives/ring.svg"' in package.read("imsmanifest.xml")


def test_the_command_writes_a_package_and_says_what_is_left_out_and_lost(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "bank.zip"
    assert main(["qti", "--chapter", "collectives", "--seeds", "0..1", "-o", str(out)]) == 0
    said = capsys.readouterr().err
    with zipfile.ZipFile(out) as package:
        manifest = ElementTree.fromstring(package.read("imsmanifest.xml"))
        assert manifest.tag == f"{{{PACKAGE}}}manifest"
        named = {one.attrib["href"] for one in manifest.iter(f"{{{PACKAGE}}}file")}
        assert {*named, "imsmanifest.xml"} == set(package.namelist())
        resources = list(manifest.iter(f"{{{PACKAGE}}}resource"))
        assert {one.attrib["type"] for one in resources} == {"imsqti_item_xmlv3p0"}
        assert len({one.attrib["identifier"] for one in resources}) == len(resources) > 10
    assert "write code: only a server can judge it" in said
    assert "statements that belong nowhere" in said
    assert f"{len(resources)} without hints" in said
    assert f"{len(resources)} questions" in said
    assert main(["qti", "collectives/write-ring-time", "-o", str(tmp_path / "none.zip")]) == 1
    assert "none of these exercises can be judged by QTI" in capsys.readouterr().err
