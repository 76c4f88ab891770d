"""Sentences that Python says: marked where they are raised, told again where they cannot be."""

import ast
import re
import string
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from app import translation
from app.translation import plural, speaking, translate
from app.translation.dates import short_day, weekday
from app.translation.languages import catalog
from app.translation.retelling import FORMS, MISTAKES, retold, retold_mistake
from tests.translations import of_python

APP = Path(translation.__file__).parents[1]
OTHERS = ("de", "zh")
# What people see is raised by these rooms, as these errors.
ROOMS = ("kinds", "expressions", "people", "web")
RAISED = {"AnswerError", "NotFoundError", "InputError", "RefusedError", "TooLongError"}
# Messages about the fields of a request of a program, which are the same in every language.
FOR_PROGRAMS = {"people/assignments.py", "people/demo.py"}


@cache
def marked() -> frozenset[str]:
    """Every sentence that Python marks, but for those that count."""
    found = (key for path in APP.rglob("*.py") for key in of_python(path))
    return frozenset(key for key in found if isinstance(key, str))


def unmarked(path: Path) -> Iterator[str]:
    """The places where *path* raises an error with a sentence that is not marked."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        says = node.args[0]
        is_text = isinstance(says, ast.Constant) and " " in str(says.value)
        if node.func.id in RAISED and (is_text or _has_words(says)):
            yield f"{path.relative_to(APP)}:{node.lineno}"


def _has_words(says: ast.expr) -> bool:
    parts = says.values if isinstance(says, ast.JoinedStr) else []
    return any(
        isinstance(one, ast.Constant) and re.search("[a-z]{2}", str(one.value)) for one in parts
    )


def fields(sentence: str) -> list[tuple[str | None, ...]]:
    """The placeholders of *sentence* with their formats."""
    return sorted(part[1:] for part in string.Formatter().parse(sentence) if part[1] is not None)


def test_errors_that_people_see_are_marked() -> None:
    paths = [path for room in ROOMS for path in sorted((APP / room).rglob("*.py"))]
    kept = [p for p in paths if p.relative_to(APP).as_posix() not in FOR_PROGRAMS]
    assert [place for path in kept for place in unmarked(path)] == []


@pytest.mark.parametrize("code", OTHERS)
def test_translations_have_the_placeholders_of_their_sentences(code: str) -> None:
    said = catalog(code).said
    known = marked() & said.keys()
    assert len(known) > 1000
    assert [key for key in known if fields(said[key]) != fields(key)] == []


def test_the_forms_of_what_is_told_again_are_those_of_the_rooms_that_say_it() -> None:
    """A form that nobody says anymore is found by its longest run of words."""
    rooms = [APP / name for name in ("units", "formulas", "simulators", "kinds")]
    sources = "".join(path.read_text("utf-8") for room in rooms for path in room.rglob("*.py"))
    plain = re.sub(r'"\s*f?"', "", sources)
    gone = [form for form in (*FORMS, *MISTAKES) if _longest(form) not in plain]
    assert gone == []


def _longest(form: str) -> str:
    parts = re.split(r"\{\w+\}", form)
    words = [word for part in parts for word in re.split(r"[;:,.]", part)]
    return max(words, key=len).strip()


def test_an_english_sentence_is_told_again_in_another_language() -> None:
    said = "cannot read '1 gb': 'gb' is not a unit here, B expected; did you mean 'GB'?"
    with speaking("de"):
        assert retold(said) == (
            "'1 gb' kann nicht gelesen werden: 'gb' ist hier keine Einheit, erwartet wird B; "
            "gemeint vielleicht 'GB'?"
        )
        assert retold("ranks must be at least 1, not 0") == "ranks muss mindestens 1 sein, nicht 0"
    assert retold(said) == said


def test_a_sentence_of_an_author_is_not_taken_for_a_typical_mistake() -> None:
    with speaking("zh"):
        assert retold_mistake("A ring takes 14 steps, not 7.") == "A ring takes 14 steps, not 7."
        told = retold_mistake("Your number is 1/8 of the right one.")
        assert told == "该数是正确值的 1/8。"


def test_what_is_told_again_is_bounded() -> None:
    with speaking("de"):
        long = f"ranks must be at least {'1' * 1_000}, not 0"
        assert retold(long) == long


def test_numbers_and_days_follow_the_language() -> None:
    day = date(2026, 3, 1)
    with speaking("de"):
        assert plural("in {number} hour", "in {number} hours", 1) == "in 1 Stunde"
        assert plural("in {number} hour", "in {number} hours", 3) == "in 3 Stunden"
        assert weekday(day, year=True) == "Sonntag, 1. März 2026"
    with speaking("zh"):
        assert plural("in {number} hour", "in {number} hours", 1) == "1 小时后"
        assert short_day(day) == "2026 年 3 月 1 日"
    assert weekday(day, year=False) == "Sunday, Mar 1"


def test_english_needs_no_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(translation, "catalog")
    assert translate("Right: {value}.", value="70 ms") == "Right: 70 ms."
    with speaking("fr"):
        assert translate("Right.") == "Right."
