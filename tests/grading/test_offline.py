"""A line of a file of answers: what it may say, and what comes of it."""

import asyncio
import json
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import pytest

from app.core.errors import AnswerError, AppError, InputError
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.site.grading.offline import (
    FileGrader,
    Submission,
    VerdictTally,
    error_row,
    gradable_lines,
    read_submission,
    unreadable_result,
)
from tests.each import each

RING = "collectives/ring-all-reduce-time"


def line(**changes: Any) -> bytes:
    return json.dumps({"exercise": RING, "answer": "1 s", **changes}).encode()


@each(
    ("changes", "name", "read"),
    [
        ({}, "seed", 0),
        ({"seed": 7.0}, "seed", 7),
        ({"seed": 2**31 - 1}, "seed", 2**31 - 1),
        ({"learner": 4711}, "learner", "4711"),
        ({"learner": "l" * 255}, "learner", "l" * 255),
        ({"ref": 3}, "ref", 3),
        ({"expect": "incorrect"}, "expect", "incorrect"),
    ],
)
def test_a_line_is_read(changes: dict[str, Any], name: str, read: object) -> None:
    for start in (b"", b"\xef\xbb\xbf"):
        assert getattr(read_submission(start + line(**changes), 999), name) == read


@each(
    "changes",
    [
        {"seed": -1}, {"seed": 7.5}, {"seed": "7"}, {"seed": 2**53}, {"learner": True}, {"learner": ""},
        {"learner": "l" * 256}, {"answer": None}, {"answer": float("inf")}, {"answer": [1]}, {"more": 1},
        {"exercise": "e" * 201}, {"expect": "right"}, {"ref": 1.5},
    ],
)  # fmt: skip
def test_a_line_that_says_something_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_submission(line(**changes), 999)


def test_a_line_that_is_too_long_is_told_with_the_limit() -> None:
    with pytest.raises(InputError, match="at most 1,048,576 bytes are read"):
        read_submission(None, 1 << 20)


@each(
    ("answer", "read"),
    [("1 s", "1 s"), (7, "7"), (0.1, "0.1"), (["a", "b"], ["a", "b"]), ({"x": 1.5, "y": "b"}, {"x": "1.5", "y": "b"})],
)
def test_an_answer_is_in_the_form_that_exercises_accept(answer: Any, read: object) -> None:
    assert Submission(exercise=RING, answer=answer).read(9) == read


def test_an_answer_has_at_most_as_many_characters_as_are_allowed() -> None:
    assert Submission(exercise=RING, answer="1 day").read(5) == "1 day"
    with pytest.raises(AppError, match="at most 4 characters"):
        Submission(exercise=RING, answer="1 day").read(4)


def test_a_result_that_quotes_an_answer_escapes_it() -> None:
    asked = Submission(exercise=RING, seed=3, answer="*", ref="r", learner="l", expect="correct")
    row = unreadable_result(asked, AnswerError("cannot read '*a*'"))
    assert (row.verdict, row.score, row.ref, row.learner, row.expect, row.seed) == (
        "unreadable", 0, "r", "l", "correct", 3,
    )  # fmt: skip
    assert row.feedback == [r"cannot read '\*a\*'"]


@each(
    ("content", "ref"),
    [
        (b'{"ref": "a"}', "a"),
        (b'{"ref": 7}', 7),
        (b'{"ref": 1.5}', None),
        (b'["ref"]', None),
        (b"{", None),
        (None, None),
    ],
)
def test_a_row_of_an_error_names_its_line_and_what_it_was_called(content: bytes | None, ref: object) -> None:
    row = json.loads(error_row(12, content, "why"))
    assert row == {"error": "why", "line": 12} | ({"ref": ref} if ref is not None else {})


def graded(catalog: Catalog, lines: Iterable[bytes | None]) -> tuple[list[dict[str, Any]], VerdictTally]:
    tally = VerdictTally()

    async def rows() -> list[dict[str, Any]]:
        grader = FileGrader(catalog, Settings(answer_limit=10))
        found = [json.loads(row) async for row in grader.grade(enumerate(lines, 1), tally)]
        await grader.close()
        return found

    return asyncio.run(rows()), tally


def test_rows_are_in_the_order_of_the_lines_and_blank_ones_have_none(catalog: Catalog) -> None:
    right = catalog.exercise(RING).right_answer(0)
    lines = [
        line(answer=right, ref=1),
        b" \n",
        line(answer="1 us", ref=3, expect="correct"),
        line(answer="much", ref=4),
    ]
    lines += [line(answer="9" * 11, ref=5), line(exercise="no/ne", ref=6), None]  # type: ignore[list-item]
    rows, tally = graded(catalog, lines)
    assert [row.get("verdict") for row in rows] == ["correct", "incorrect", "unreadable", None, None, None]
    assert [row.get("ref") for row in rows] == [1, 3, 4, 5, 6, None]
    assert [row["line"] for row in rows[3:]] == [5, 6, 7]
    assert (tally.correct, tally.incorrect, tally.unreadable, tally.errors) == (1, 1, 1, 3)
    assert (tally.expected, tally.disagreements) == (1, [3])
    assert str(tally).startswith("1 correct, 1 incorrect, 1 unreadable, 3 lines with an error")
    assert str(VerdictTally(errors=1)).endswith("1 line with an error")


def test_lines_are_read_as_they_are_unless_they_are_one_export(catalog: Catalog) -> None:
    def read(content: bytes, limit: int = 99) -> list[bytes | None]:
        return list(gradable_lines(BytesIO(content), catalog, limit))

    assert read(b"") == []
    assert read(b"a\n\nb") == [b"a", b"", b"b"]
    assert read(b"a" * 99 + b"\n" + b"b" * 100 + b"\nc") == [b"a" * 99, None, b"c"]
    assert read(b'{\n"a": 1}\n') == [b"{", b'"a": 1}']
    for other in (b'{"attempts": 7}', b'["attempts"]', b'{"attempts": [', b'{"exercise": 1, "attempts": []}'):
        assert read(other) == [other]
    assert read(b'{"attempts": []}') == []


def test_an_answer_of_several_parts_in_an_export_is_sent_as_it_was(catalog: Catalog) -> None:
    exercise = next(one for one in catalog.exercises if isinstance(one.right_answer(7), list))
    right = exercise.right_answer(7)
    row = {"exercise": exercise.id, "seed": 7, "answer": json.dumps(right), "correct": False}
    (found,) = gradable_lines(BytesIO(json.dumps({"attempts": [row]}).encode()), catalog, 999)
    assert json.loads(found or b"") == {
        "exercise": exercise.id, "seed": 7, "answer": right, "expect": "incorrect", "ref": 1,
    }  # fmt: skip
    for changes in ({"exercise": "no/ne"}, {"seed": 2**60}, {"seed": "7"}):
        (kept,) = gradable_lines(BytesIO(json.dumps({"attempts": [row | changes]}).encode()), catalog, 999)
        assert json.loads(kept or b"")["answer"] == row["answer"]
