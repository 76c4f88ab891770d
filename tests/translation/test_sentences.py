"""Sentences as values: they are read in English, and said in any language."""

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from app.core.folders import ROOT
from app.core.formulas import FORMULAS, Formula, formula_value
from app.core.formulas.records import Record
from app.core.simulators.pipeline import SCHEDULES, build
from app.core.translation import join_sentences, localize, noted, say, speaking, translate
from app.core.translation.languages import catalog
from app.core.translation.sentence import Sentence
from app.core.units import BYTE, SECOND, read, show
from app.course.explorers import EXPLORERS
from app.course.kinds.common_mistakes import common_wordings
from tests.each import each
from tests.formulas.samples import as_text, illegal, legal
from tests.pages import SAMPLES
from tests.translation.test_told import NAMES, Reader
from tests.translations import said

# Rooms that know no language, and what they raise.
ROOMS = ("core/units", "core/formulas", "core/simulators", "core/searching", "core/predicting", "course/illustrations")
RAISED = {"ValueError", "ScheduleError", "IllegalMoveError"}
ENGLISH = re.compile(r"\b(must|not|cannot|should|expected|did you|the|of|and|has|have)\b")


KNOWN = {
    *NAMES,
    *(name for kind in Record.__subclasses__() for name in (*kind.known(), *kind.__annotations__)),
    *(name.partition(".")[2].replace("_", " ").capitalize() for name in FORMULAS),
}


def reads_english(said: str) -> bool:
    """Whether *said* has English words outside of names and quotations."""
    for name in sorted(KNOWN, key=len, reverse=True):
        said = said.replace(name, "")
    return bool(ENGLISH.search(re.sub(r"""(['"]).*?\1|`.*?`""", "", said)))


def english(page: str) -> list[str]:
    """The sentences of *page* that are English, and do not say so."""
    reader = Reader()
    reader.feed(page)
    return [text for text in reader.said if reads_english(text)]


def test_a_sentence_is_its_english_text() -> None:
    said = say("{name} must be at least {least}, not {value}", name="ranks", least=1, value=0)
    assert said == "ranks must be at least 1, not 0"
    assert f"{said}." == "ranks must be at least 1, not 0."
    assert said in {"ranks must be at least 1, not 0"}


@each(
    "make",
    [
        copy.copy,
        copy.deepcopy,
        lambda said: pickle.loads(pickle.dumps(said)),
        str,
        lambda said: str(ValueError(said)),
        lambda said: str(pickle.loads(pickle.dumps(ValueError(said)))),
    ],
)
def test_a_sentence_stays_one_wherever_it_goes(make: object) -> None:
    said = make(say("{name} must be even, not {value}", name="ports", value=3))  # type: ignore[operator]
    with speaking("de"):
        assert localize(said) == "ports muss gerade sein, nicht 3"


def test_sentences_in_a_sentence_are_said_in_its_language() -> None:
    problem = say("{name} must be a whole number, not {value}", name="ranks", value="2.5")
    outer = say("rank {rank}, instruction {place}: {problem}", rank=1, place=2, problem=problem)
    with speaking("de"):
        assert translate(outer) == "Rank 1, Anweisung 2: ranks muss eine ganze Zahl sein, nicht 2.5"
        assert translate(join_sentences([noted("a plain number")] * 3)) == "; ".join(["eine reine Zahl"] * 3)
        assert translate("Right: {value}.", value=show(3 * 86400.0, SECOND)) == "Richtig: 3 Tage."
        assert translate("Right: {value}.", value="3 days") == "Richtig: 3 days."  # a stranger's


def test_what_a_stranger_wrote_is_quoted_and_never_translated() -> None:
    with pytest.raises(ValueError, match="cannot read 'a plain number'") as raised:
        read("a plain number", BYTE)
    with speaking("de"):
        assert localize(str(raised.value)).startswith("»a plain number« kann nicht gelesen werden")
        assert localize("a plain number") == "a plain number"


def test_a_unit_that_is_close_is_offered_in_every_language() -> None:
    with pytest.raises(ValueError, match="did you mean GB or Gb") as raised:
        read("1 gb", BYTE)
    with speaking("de"):
        assert localize(str(raised.value)) == (
            "»1 gb« kann nicht gelesen werden: »gb« ist hier keine Einheit, erwartet wird B; "
            "gemeint vielleicht GB oder Gb?"
        )


def bare(path: Path) -> Iterator[str]:
    """The places where *path* raises an error with a text instead of a sentence."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        said = node.args[0]
        is_text = isinstance(said, ast.JoinedStr | ast.BinOp | ast.Constant)
        if name in RAISED and is_text:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_rooms_that_know_no_language_raise_sentences() -> None:
    """Write `raise ValueError(say("{name} must be …", name=name))`."""
    paths = [path for room in ROOMS for path in sorted((ROOT / "app" / room).rglob("*.py"))]
    assert len(paths) > 80
    assert [place for path in paths for place in bare(path)] == []


def test_the_walk_finds_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.translation.test_sentences.ROOT", tmp_path)
    (tmp_path / "a.py").write_text(
        'raise ValueError(f"{x} must")\nraise ValueError("no " + x)\nreturn ScheduleError("it")\n'
        'raise ValueError(say("{x} must", x=1))\nraise ValueError(problem)\nraise TypeError("a bug")\n'
    )
    assert list(bare(tmp_path / "a.py")) == ["a.py:1", "a.py:2", "a.py:3"]


def problems_of(formula: Formula) -> Iterator[ValueError]:
    """What *formula* says of each illegal value of each of its arguments."""
    for name, argument in formula.inputs.items():
        for value in [*illegal(argument), "x", "3 gb", "1/0", [], [7, "x"]]:
            try:
                formula_value(formula, {**legal(formula), name: value})
            except ValueError as error:
                yield error


@each("name", FORMULAS)
def test_what_a_formula_refuses_is_said_in_every_language(name: str) -> None:
    formula = FORMULAS[name]
    problems = [*problems_of(formula)]
    assert problems or not formula.inputs
    for error in problems:
        said = str(error)
        assert isinstance(said, Sentence), said
        if catalog("de").sentence(said.form):
            with speaking("de"):
                assert not reads_english(translate(said)), said


@each("name", sorted(FORMULAS))
def test_the_page_of_a_formula_is_in_one_language(client: TestClient, name: str) -> None:
    formula = FORMULAS[name]
    texts = {key: as_text(value, formula.inputs[key].unit) for key, value in legal(formula).items()}
    for key in list(formula.inputs)[:2]:
        path = f"/formulas/{name}?{urlencode({**texts, key: 'x gb'})}"
        assert english(client.get(path, headers={"Accept-Language": "de"}).text) == [], path


@pytest.mark.parametrize(
    "path",
    [
        "/formulas/pipeline.schedule_bubble?schedule=interleaved&stages=4&microbatches=7&virtual=2"
        "&forward=1+ms&backward_input=1+ms&backward_weight=1+ms",
        "/formulas/batching.gradient_noise_scale?small_batch=8&large_batch=8&small_norm_squared=1&large_norm_squared=1",
        "/formulas/none.such",
    ],
)
@pytest.mark.parametrize("code", ["de", "zh"])
def test_no_error_of_a_formula_is_english_on_another_page(client: TestClient, path: str, code: str) -> None:
    assert english(client.get(path, headers={"Accept-Language": code}).text) == []


LAYOUTS = "/explore/fit?model=Llama-3-8B&gpus=16&batch=128"


@each(
    "path",
    [
        LAYOUTS,
        "/explore/fit?model=x",
        "/explore/fit?model=Llama-3-8B+layers=0&gpus=16&batch=128",
        "/explore/fit?model=Llama-3-8B&gpus=7&batch=0",
        "/explore/fit?model=Llama-3-8B&gpus=99999999&batch=128",
        f"{LAYOUTS}&fixed=tensor%3D3",
        f"{LAYOUTS}&fix=tensor&cluster=x",
        "/labs/all-reduce?gpu=x",
        "/labs/all-reduce?run.sizes=x&run.ranks=0&run.latency=x",
        "/placement/x/1",
        "/labs/x",
        "/explore/x",
        "/errata/x",
        "/measured/x",
    ],
)
def test_a_page_that_refuses_is_in_one_language(client: TestClient, path: str) -> None:
    found = english(client.get(path, headers={"Accept-Language": "de"}).text)
    assert [text for text in found if "arXiv:" not in text and "Report" not in text] == []


@each("name", EXPLORERS)
def test_an_explorer_refuses_in_the_language_of_the_page(client: TestClient, name: str) -> None:
    for control in EXPLORERS[name].controls:
        for text in ("x", "-1", "7", "1e40"):
            path = f"/explore/{name}?show=1&{control.name}={text}"
            found = english(client.get(path, headers={"Accept-Language": "de"}).text)
            assert name == "fit" or found == [], path  # it quotes sources


@each("name", SCHEDULES)
@each("sizes", [(0, 1, 1), (4, 7, 2), (3, 4, 1), (4, 5, 1), (4, 4, 3), (10**4, 10**4, 1)])
def test_a_simulator_refuses_in_every_language(name: str, sizes: tuple[int, int, int]) -> None:
    try:
        build(name, *sizes)
    except ValueError as error:
        with speaking("de"):
            assert not reads_english(localize(str(error))), str(error)


@each("path", SAMPLES.values())
def test_an_exercise_answers_in_the_language_of_the_request(
    client: TestClient, bearer: dict[str, str], path: str
) -> None:
    for answer in ("x", "3 gb", "1/0", "-7 parsecs", "[]", "{}", "def f(: pass", "0"):
        body = {"exercise": path.removeprefix("/exercises/"), "seed": 3, "answer": answer}
        reply = client.post("/api/v1/check", json=body, headers={**bearer, "Accept-Language": "de"})
        if reply.json().get("verdict") == "unreadable":
            assert not any(map(reads_english, reply.json()["feedback"])), reply.json()


def test_a_typical_mistake_is_said_in_every_language() -> None:
    said = [says for _, says in common_wordings()]
    assert len(said) > 1000
    with speaking("de"):
        assert [one for one in said if localize(one) == one or reads_english(localize(one))] == []
        assert localize("Your number is 1/8 of the right one.") == "Your number is 1/8 of the right one."


def test_a_record_refuses_in_every_language() -> None:
    for kind in Record.__subclasses__():
        for text in ("nonsense", "name=x", "x=1", ""):
            try:
                kind.read(text)
            except ValueError as error:
                with speaking("de"):
                    assert not reads_english(localize(str(error))), str(error)


def test_a_sentence_names_the_values_that_it_is_given() -> None:
    wrong, noted = [], 0
    for path in sorted((ROOT / "app").rglob("*.py")):
        for node, form in said(ast.parse(path.read_text(encoding="utf-8"))):
            noted += isinstance(node.args[0], ast.Name)
            fields = {field.split(".")[0] for _, field, *_ in Formatter().parse(form) if field}
            values = {one.arg for one in node.keywords}
            if node.keywords and None not in values and fields != values:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {fields ^ values}")
    assert noted > 40
    assert wrong == []
