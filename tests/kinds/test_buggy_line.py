"""A listing with one wrong line: which it is, how it is named, and what lint says of it."""

import asyncio

import pytest
from pydantic import ValidationError

from app.core.errors import AnswerError
from app.course.kinds.base import Answer, mistake_key
from app.course.kinds.code.buggy_line import BuggyLine, read_line, symptom_text
from app.course.kinds.code.mutation import SAYS
from tests.each import each
from tests.kinds.small import Here, graded, small

CODE = "def f(a, b):\n    x = a * b\n    return [x + 1, x]\n"
BUGS = [
    {"line": 2, "shown": "    x = a + b", "says": "It multiplies.", "symptom": "comes out wrong"},
    {"line": 3, "shown": "    return [x + 2, x]", "says": "One is added.", "symptom": "comes out too large"},
]


def listing(**fields: object) -> BuggyLine:
    made = small(
        "buggy_line",
        **{
            "code": CODE,
            "bugs": BUGS,
            "prompt": "It {symptom}.",
            "reference": "a * b + 1",
            "also": ["a * b"],
            "arguments": {"a": [1, 2, 3, 5], "b": [2, 4, 7]},
            "elsewhere": {1: "That is the name.", 3: "That is the sum."},
            **fields,
        },
    )
    assert isinstance(made, BuggyLine)
    return made


@each(
    ("text", "line"),
    [("1", 1), ("12", 12), (" Line 3 ", 3), ("line #3", 3), ("LINE3", 3), ("#7", 7), ("03", 3), ("10#", 10)],
)
def test_a_line_is_named_by_its_number(text: str, line: int) -> None:
    assert read_line(text, 12) == line


@each(
    ("text", "says"),
    [
        ("", "choose a line first"),
        (" line # ", "choose a line first"),
        ("0", "line 0 does not exist: the listing has 12 lines"),
        ("13", "line 13 does not exist"),
        ("003", "a line number from 1 to 12, not '003'"),
        ("-1", "a line number from 1 to 12, not '-1'"),
        ("1.0", "a line number"),
        ("x" * 30, f"not '{'x' * 20}'"),
        ("٣", "a line number"),
    ],
)
def test_what_is_no_line_is_unreadable(text: str, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        read_line(text, 12)


def test_the_first_bug_is_shown_at_first_and_each_at_some_seed() -> None:
    two, one = listing(), listing(bugs=BUGS[1:])
    assert two.right_answer(0) == "2"
    assert {two.right_answer(seed) for seed in range(1, 30)} == {"2", "3"}
    assert {one.right_answer(seed) for seed in range(30)} == {"3"}
    assert (two.variation, listing(bugs=[], mutate=["constant"]).variation) == ("Draws another bug.",) * 2
    assert one.variation != "Draws another bug."
    assert two.question(0).lines == ("def f(a, b):", "    x = a + b", "    return [x + 1, x]")
    assert two.draw(0).shown["symptom"] == "comes out wrong"
    assert two.reveal(0) == "Line **2**. It should read `x = a * b`."
    assert two.telling(0) == {"line 2"}


def test_beside_listed_bugs_others_are_drawn_from_the_listing_ten_times_as_often() -> None:
    both = listing(bugs=BUGS[:1], mutate=["constant", "operator"])
    shown = [both.bug(seed).shown for seed in range(1, 200)]
    assert both.bug(0).shown == BUGS[0]["shown"]
    assert 5 < shown.count(BUGS[0]["shown"]) < 40
    assert len(set(shown)) == 3


@each(
    ("answer", "correct", "feedback", "mistake"),
    [
        ("2", True, ("It multiplies.", "Line **2**. It should read `x = a * b`."), ""),
        ("3", False, ("That is the sum.",), "That is the sum."),
        ("line 1", False, ("That is the name.",), "That is the name."),
    ],
)
def test_only_the_line_with_the_bug_is_right(
    answer: Answer, correct: bool, feedback: tuple[str, ...], mistake: str
) -> None:
    verdict = graded(listing(), answer)
    assert (verdict.correct, verdict.score, verdict.feedback) == (correct, float(correct), feedback)
    assert verdict.mistake == (mistake_key(mistake) if mistake else "")


def test_a_right_line_that_nobody_speaks_of_is_called_right() -> None:
    bare = listing(elsewhere={2: "That multiplies."})
    assert graded(bare, "1").feedback == ("Line 1 is correct as written.",)
    assert list(bare.mistakes(0)) == []
    assert list(listing().mistakes(0)) == [("1", "That is the name."), ("3", "That is the sum.")]


def test_what_an_author_adds_to_a_known_sentence_is_kept() -> None:
    known = next(iter(SAYS.values()))
    assert symptom_text(f"{known} And more.") == f"{known} And more."
    assert symptom_text("Something else.") == "Something else."


@each(
    ("fields", "says"),
    [
        ({"bugs": []}, "give bugs, or use mutate"),
        ({"elsewhere": {4: "No."}}, "line 4 does not exist: the code has 3 lines"),
        ({"elsewhere": {0: "No."}}, "line 0 does not exist"),
        ({"bugs": [{"line": 4, "shown": "x", "says": "No."}]}, "line 4 does not exist"),
        ({"bugs": [{"line": 2, "shown": "x = a * b ", "says": "No."}]}, "line 2 is the same as the right one"),
        ({"code": "x = 1\ny = 2\nz = 3"}, "defines no function"),
    ],
)
def test_a_listing_that_cannot_be_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        listing(**fields)


def proven(**fields: object) -> list[tuple[tuple[object, ...], str]]:
    findings = asyncio.run(listing(**fields).prove_code(range(1), Here()))
    return [(one.where, one.says) for one in findings]


def test_lint_finds_a_listing_that_is_wrong_and_a_bug_that_does_not_show() -> None:
    assert proven() == []
    (where, says), *_ = proven(reference="a * b + 2")
    assert (where, says[:21]) == (("code",), "the right code fails:")
    assert "f(" in says
    assert " not [" in says
    idle = {"line": 2, "shown": "    x = b * a", "says": "No.", "symptom": "comes out wrong"}
    assert (("bugs", 1), "line 2 changes no result") in proven(bugs=[BUGS[0], idle])
    raising = {"line": 2, "shown": "    x = a / (b - b)", "says": "No.", "symptom": "comes out wrong"}
    assert (("bugs", 0), "raises ZeroDivisionError, which its symptom does not say") in proven(bugs=[raising])
    assert proven(bugs=[{**raising, "symptom": "raises a ZeroDivisionError"}]) == []
    dead = CODE.replace("    return", "    y = a\n    return")
    assert (("code",), "line 3 changes no result") in proven(code=dead, bugs=BUGS[:1], elsewhere={})


def test_lint_finds_a_bug_that_another_line_could_cure() -> None:
    (where, says), *_ = proven(also=[], code=CODE.replace("[x + 1, x]", "x + 1"), bugs=[
        {"line": 3, "shown": "    return x + 2", "says": "One.", "symptom": "comes out too large"}
    ])  # fmt: skip
    assert where == ("bugs", 0)
    assert says.startswith("line 2 could be fixed instead of line 3, as `x = a * b - 1`")


def test_four_listed_bugs_are_enough_without_drawn_ones() -> None:
    shown = ("    x = a + b", "    x = a - b", "    x = b", "    x = a")
    four = [{**BUGS[0], "shown": text} for text in shown]
    enough = (("mutate",), "4 bugs are listed: draw none by chance")
    assert enough in proven(bugs=four, mutate=["constant"])
    assert enough not in proven(bugs=four[:3], mutate=["constant"])
