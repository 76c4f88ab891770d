"""Sentences that Python says: marked where they are raised."""

import ast
import re
import string
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import pytest

from app.core import translation
from app.core.translation import plural, speaking, translate
from app.core.translation.dates import short_day, short_moment, weekday
from app.core.translation.languages import catalog
from tests.translations import of_python

APP = Path(translation.__file__).parents[2]
OTHERS = ("de", "zh")
# What people see is raised by these rooms, as these errors.
ROOMS = ("course/kinds", "core/expressions", "classes/people", "classes/pages", "site/web")
RAISED = {"AnswerError", "NotFoundError", "InputError", "RefusedError", "TooLongError"}
# Messages about the fields of a request of a program, which are the same in every language.
FOR_PROGRAMS = {"classes/people/policy.py", "classes/people/assignments.py"}


@cache
def marked() -> frozenset[str]:
    """Every sentence that Python marks, but for those that count."""
    found = (key for path in APP.rglob("*.py") for key in of_python(path))
    return frozenset(key for key in found if isinstance(key, str))


def unmarked(path: Path) -> Iterator[str]:
    """The places where *path* raises an error with a sentence that is not marked."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        says = node.args[0]
        is_text = isinstance(says, ast.Constant) and " " in str(says.value)
        if name in RAISED and (is_text or _has_words(says)):
            yield f"{path.relative_to(APP)}:{node.lineno}"


def _has_words(says: ast.expr) -> bool:
    parts = says.values if isinstance(says, ast.JoinedStr) else []
    return any(isinstance(one, ast.Constant) and re.search("[a-z]{2}", str(one.value)) for one in parts)


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


def test_numbers_and_days_follow_the_language() -> None:
    day = date(2026, 3, 1)
    with speaking("de"):
        assert plural("in {number} hour", "in {number} hours", 1) == "in 1 Stunde"
        assert plural("in {number} hour", "in {number} hours", 3) == "in 3 Stunden"
        assert weekday(day, year=True) == "Sonntag, 1. März 2026"
        assert short_moment(datetime(2026, 3, 1, 9, 5, tzinfo=UTC)) == "01. März 09:05 UTC"
    with speaking("zh"):
        assert plural("in {number} hour", "in {number} hours", 1) == "1 小时后"
        assert short_day(day) == "2026 年 3 月 1 日"
    assert weekday(day, year=False) == "Sunday, Mar 1"


def test_english_needs_no_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(translation, "catalog")
    assert translate("Right: {value}.", value="70 ms") == "Right: 70 ms."
    with speaking("fr"):
        assert translate("Right.") == "Right."
