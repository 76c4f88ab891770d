"""Moodle XML: every element is one that Moodle's importer reads, and verdicts are ours."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from app.__main__ import main
from app.authoring.moodle import BEGINNING, END, MoodlePage
from app.authoring.question_bank import NotPortableError, bank_question
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.choice import Choice
from app.course.kinds.numeric import Numeric
from tests.content.test_images import SVG
from tests.kinds.test_scored_mistakes import BUS
from tests.kinds.test_scored_mistakes import scored as scored_file
from tests.people.school import RING

Capture = pytest.CaptureFixture[str]
# What stands in every question, and what only in those of one type; from Moodle's documentation.
COMMON = {"name", "questiontext", "generalfeedback", "defaultgrade", "penalty", "hidden", "idnumber", "hint", "tags"}
OWN = {
    "numerical": {"answer", "units", "unitgradingtype", "unitpenalty", "showunits", "unitsleft"},
    "multichoice": {"answer", "single", "shuffleanswers", "answernumbering"},
    "matching": {"subquestion", "shuffleanswers"},
    "ordering": {"answer", "layouttype", "selecttype", "selectcount", "gradingtype", "showgrading"},
    "cloze": set(),
}
GRADES = {"100", "50", "33.33333", "25", "20", "16.66667", "14.28571", "12.5", "11.11111", "10", "0"}


@pytest.fixture(scope="module")
def questions(catalog: Catalog) -> Mapping[str, Element]:
    """Every exercise that Moodle can judge, as the first seed draws it."""
    found = {}
    for exercise in catalog.exercises:
        try:
            found[exercise.id] = ElementTree.fromstring(question_text(catalog, exercise))
        except NotPortableError:
            continue
    return found


def question_text(catalog: Catalog, exercise: Exercise, seed: int = 0, address: str = "") -> str:
    """The drawing of *exercise* by *seed* as a question of a Moodle."""
    return MoodlePage(bank_question(exercise, seed), catalog, address).question()


def text(element: Element, path: str) -> str:
    return element.findtext(path) or ""


def test_most_exercises_can_be_judged_by_moodle(questions: Mapping[str, Element], catalog: Catalog) -> None:
    left_out = {one.kind for one in catalog.exercises if one.id not in questions}
    code = {"function", "schedule"}
    assert left_out == code | {"lab", "expression", "design", "sharding", "order", "match"}
    assert len(questions) > 0.75 * len(catalog.exercises)


def test_every_element_is_one_that_moodle_reads(questions: Mapping[str, Element]) -> None:
    for name, question in questions.items():
        kind = question.attrib["type"]
        assert {element.tag for element in question} <= COMMON | OWN[kind], name
        assert text(question, "name/text")
        assert text(question, "questiontext/text")
        assert question.find("questiontext").attrib == {"format": "html"}  # type: ignore[union-attr]
        assert len(text(question, "idnumber")) <= 100


def test_every_grade_is_one_that_moodle_knows(questions: Mapping[str, Element]) -> None:
    for name, question in questions.items():
        answers = question.findall("answer")
        if question.attrib["type"] == "ordering":
            assert [answer.attrib["fraction"] for answer in answers] == [
                str(place) for place in range(1, len(answers) + 1)
            ]
            continue
        fractions = [answer.attrib["fraction"] for answer in answers]
        assert {fraction.removeprefix("-") for fraction in fractions} <= GRADES, name
        if fractions:
            right = sum(float(fraction) for fraction in fractions if float(fraction) > 0)
            assert right == pytest.approx(100, abs=0.001), name


def test_mathematics_is_left_to_mathjax(questions: Mapping[str, Element]) -> None:
    written = "".join(ElementTree.tostring(one, encoding="unicode") for one in questions.values())
    assert "&lt;math" not in written
    assert r"\frac" in written
    assert 'href="/' not in written.replace("&quot;", '"')


def judged(question: Element, number: float) -> str:
    """The grade that Moodle gives: that of the first answer whose range has the number."""
    for answer in question.findall("answer"):
        if abs(number - float(text(answer, "text"))) <= float(text(answer, "tolerance")):
            return answer.attrib["fraction"]
    return "0"


def test_a_number_has_the_same_verdict_as_here(questions: Mapping[str, Element], catalog: Catalog) -> None:
    seen = 0
    for name, question in questions.items():
        exercise = catalog.exercise(name)
        if question.attrib["type"] != "numerical" or not isinstance(exercise, Numeric):
            continue
        (key,) = exercise.keys(0).values()
        factor = key.asked.scale.factor
        width = (key.high - key.low) / 1000
        for value, right in (
            (key.right, "100"),
            (key.low + width, "100"),
            (key.high - width, "100"),
            (key.low - width, "0"),
            (key.high + width, "0"),
            *((wrong, "0") for wrong, _ in key.mistakes),
        ):
            assert judged(question, value / factor) == right, (name, value)
            seen += 1
        for unit in question.iter("unit"):
            assert 1e-12 < float(text(unit, "multiplier")) < 1e15  # Moodle stores no others
            typed = f"{key.right / factor * float(text(unit, 'multiplier')):.12g}"
            reading = key.asked.read(f"{typed} {text(unit, 'unit_name')}")
            assert key.holds(reading), (name, text(unit, "unit_name"))
    assert seen > 300


def test_several_numbers_are_gaps_in_the_text(catalog: Catalog) -> None:
    exercise = next(one for one in catalog.exercises if isinstance(one, Numeric) and len(one.answers) == 2)
    question = ElementTree.fromstring(question_text(catalog, exercise, 3))
    assert question.attrib["type"] == "cloze"
    written = text(question, "questiontext/text")
    assert written.count("{1:NUMERICAL:=") == 2
    units = [key.asked.scale.symbol for key in exercise.keys(3).values()]
    assert [line.rpartition("}")[2].strip() for line in written.split("</li>")[:2]] == units
    for key in exercise.keys(3).values():
        gap = written.partition("{1:NUMERICAL:=")[2]
        middle, _, rest = gap.partition(":")
        assert float(middle) == pytest.approx((key.low + key.high) / 2 / key.asked.scale.factor)
        assert float(rest.partition("~")[0].partition("}")[0]) > 0
        written = gap


def test_links_into_the_site_are_whole_addresses_or_words(catalog: Catalog) -> None:
    ring = catalog.exercise("collectives/ring-all-reduce-time")
    linked = ring.model_copy(update={"solution": "See [the page](/formulas) and <b>."})
    linked._variants.clear()
    site = question_text(catalog, linked, address="https://wallclock.example.org")
    told = text(ElementTree.fromstring(site), "generalfeedback/text")
    assert told.startswith('<p>See <a href="https://wallclock.example.org/formulas">the page</a> ')
    assert "&lt;b&gt;" in told
    alone = ElementTree.fromstring(question_text(catalog, linked))
    assert text(alone, "generalfeedback/text").startswith("<p>See the page and ")


def test_an_image_travels_with_its_question(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "ring.svg").write_text(SVG.format("<path d='M0 0h1'/>"))
    ring = catalog.exercise("collectives/ring-all-reduce-time")
    shown = ring.model_copy(update={"prompt": "![A ring](/images/collectives/ring.svg) How long?"})
    shown._variants.clear()
    images = {"collectives/ring.svg": tmp_path / "ring.svg"}
    asked = ElementTree.fromstring(question_text(replace(catalog, images=images), shown)).find("questiontext")
    assert asked is not None
    assert 'src="@@PLUGINFILE@@/ring.svg"' in text(asked, "text")
    assert b64decode(text(asked, "file")) == (tmp_path / "ring.svg").read_bytes()


def test_images_are_those_that_are_shown_and_known_by_their_names_in_the_folder(
    catalog: Catalog, tmp_path: Path
) -> None:
    found = {name: tmp_path / Path(name).name for name in ("a/ring.svg", "b/tree.svg", "b/other.svg")}
    for at, path in enumerate(found.values()):
        path.write_text(SVG.format(f"<path d='M0 0h{at}'/>"))
    asked = bank_question(catalog.exercise("collectives/ring-all-reduce-time"), 0)
    page = MoodlePage(asked, replace(catalog, images=found), "")
    shown = page.files("![A](/images/a/ring.svg) ![B](/images/b/tree.svg) ![C](/images/b/none.svg)")
    assert {name: b64decode(content) for name, content in shown.items()} == {
        name: (tmp_path / name).read_bytes() for name in ("ring.svg", "tree.svg")
    }
    assert page.files("") == {}


def test_the_command_writes_a_file_and_says_what_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "quiz.xml"
    assert main(["moodle", "--chapter", "collectives", "--seeds", "0..1", "-o", str(out)]) == 0
    written = out.read_text(encoding="utf-8")
    assert written.startswith(BEGINNING)
    assert written.endswith(END)
    root = ElementTree.fromstring(written)
    assert root[0].attrib == {"type": "category"}
    assert text(root[0], "category/text") == "$course$/top/Wallclock/Ring all-reduce"
    names = [text(one, "idnumber") for one in root[1:]]
    assert len(set(names)) == len(names) > 10
    said = capsys.readouterr().err
    assert "write code: only a server can judge it" in said
    assert f"{len(names)} questions" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["collectives/write-ring-time"], "none of these exercises can be judged by Moodle"),
        (["collectives/ring-all-reduce-tim"], "did you mean"),
        (["--chapter", "colectives"], "did you mean 'collectives'"),
        (["--seeds", "0..99"], "are more than 5,000 questions"),
    ],
)
def test_what_cannot_be_written_is_told(tmp_path: Path, capsys: Capture, arguments: list[str], says: str) -> None:
    out = tmp_path / "quiz.xml"
    assert main(["moodle", *arguments, "-o", str(out)]) == 1
    assert says in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(("score", "fraction"), [(0.5, "50"), (0.25, "25"), (0.75, "75")])
def test_a_wrong_option_is_worth_its_share_in_moodle(catalog: Catalog, score: float, fraction: str) -> None:
    question = ElementTree.fromstring(question_text(catalog, scored(catalog, score)))
    grades = sorted(float(one.attrib["fraction"]) for one in question.findall("answer"))
    assert grades[-2:] == [float(fraction), 100]


def test_a_share_that_moodle_does_not_know_is_told(catalog: Catalog) -> None:
    with pytest.raises(NotPortableError, match="share"):
        question_text(catalog, scored(catalog, 0.37))


@pytest.mark.parametrize(("name", "fraction"), [(RING, 'fraction="50"'), (BUS, "%50%22.2")])
def test_a_mistake_about_a_number_is_worth_its_share_in_moodle(
    catalog: Catalog, tmp_path: Path, name: str, fraction: str
) -> None:
    way = ("answers", "bus") if name == BUS else ()
    exercise = scored_file(tmp_path, name, way)
    assert fraction in question_text(catalog, exercise)
    with pytest.raises(NotPortableError, match="share"):
        question_text(catalog, scored_file(tmp_path, name, way, 0.37))


def scored(catalog: Catalog, score: float) -> Choice:
    """A choice, one of whose wrong options is worth a share of the points."""
    exercise = catalog.exercise("memory/fsdp-default")
    assert isinstance(exercise, Choice)
    wrong = next(key for key in exercise.options if key != exercise.correct)
    worth = exercise.options[wrong].model_copy(update={"score": score})
    return exercise.model_copy(update={"options": {**exercise.options, wrong: worth}})
