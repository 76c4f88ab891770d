"""The page of an exercise is made of plain values: no request, no site, no database."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.core.errors import AnswerError
from app.course.content.catalog import Catalog
from app.course.kinds.base import TooLongError, Verdict
from app.server.db.history import ExerciseHistory, LastAnswer, LastAnswers, RevealedParts, Standing
from app.site.web.exercise.page_context import (
    ActionResult,
    AssignmentBanner,
    AssignmentRules,
    ExerciseRequest,
    facts_beside,
    fields_of,
    seconds_on,
    unreadable,
)
from app.site.web.exercise.view import ExercisePage, exercise_page
from tests.each import each

RING = "collectives/ring-all-reduce-time"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RIGHT = ActionResult(verdict=Verdict(True, 1.0, ("Yes.",)))
WRONG = ActionResult(verdict=Verdict(False, 0.0, ("Twice as long.",)))
HIDDEN = AssignmentRules(verdict="Shown on Monday.", exam=True)


def page(
    catalog: Catalog,
    result: ActionResult,
    history: ExerciseHistory | None = None,
    rules: AssignmentRules | None = None,
    name: str = RING,
    **asks: Any,
) -> ExercisePage:
    """The page at noon of a learner with that *history*."""
    asked = ExerciseRequest(
        exercise=catalog.exercise(name),
        seed=7,
        learner="ada",
        moment=NOON,
        history=history or ExerciseHistory(),
        history_before=ExerciseHistory(),
        given={"answer": ["70 ms"]},
    )
    return exercise_page(catalog, replace(asked, **asks), result, rules or AssignmentRules())


def test_a_page_says_the_verdict_and_that_it_is_over(catalog: Catalog) -> None:
    right, wrong = page(catalog, RIGHT), page(catalog, WRONG)
    assert (right.state, right.is_over) == ("correct", True)
    assert (wrong.state, wrong.is_over) == ("incorrect", False)
    assert "Twice as long." in wrong.feedback[0]
    assert wrong.begun == NOON.timestamp()


def test_rules_that_hide_the_verdict_leave_nothing_of_it(catalog: Catalog) -> None:
    hidden = page(catalog, RIGHT, rules=HIDDEN)
    assert (hidden.state, hidden.is_over) == ("recorded", False)
    assert "Yes." not in "".join(hidden.feedback)
    assert (hidden.around.facts, hidden.around.another) == ((), None)


def test_a_drawing_under_a_veil_is_neither_solved_nor_right(catalog: Catalog) -> None:
    answer = LastAnswer(7, NOON, "70 ms", True)
    solved = ExerciseHistory(last=LastAnswers((answer,), frozenset({7})), known={RING: Standing(1, True, True)})
    plain = page(catalog, ActionResult(), solved)
    assert (plain.mark, plain.attempts[0].correct) == ("unaided", True)
    assert plain.help.solution
    veiled = page(catalog, ActionResult(), replace(solved, veil=frozenset({(RING, 7)}), known={}))
    assert (veiled.mark, veiled.attempts[0].correct) == ("new", None)
    assert veiled.help.solution is None


def missed(*, mistake: str = "", seed: int = 7, correct: bool = False) -> LastAnswer:
    return LastAnswer(seed, NOON, "1 s", correct, mistake=mistake)


@each(
    ("last", "hints", "offers"),
    [
        ([missed(), missed()], 2, True),
        ([missed(), missed()], 3, False),
        ([missed()], 0, False),
        ([missed(), missed(mistake="half"), missed()], 0, False),
        ([missed(), missed(seed=8), missed()], 0, True),
        ([missed(), missed(seed=8)], 0, False),
        ([missed(), missed(correct=True), missed()], 0, False),
    ],
)
def test_a_hint_is_offered_after_two_answers_that_nothing_is_known_of(
    catalog: Catalog, last: list[LastAnswer], hints: int, *, offers: bool
) -> None:
    history = ExerciseHistory(seen=RevealedParts(hints, solution=False), last=LastAnswers(tuple(last)))
    assert page(catalog, WRONG, history).offers_hint is offers
    assert not page(catalog, RIGHT, history).offers_hint
    assert not page(catalog, ActionResult(), history).offers_hint
    assert not page(catalog, WRONG, history, AssignmentRules(hints="Off.")).offers_hint


def test_help_is_what_was_asked_for_and_the_solution_once_nothing_more_is_answered(catalog: Catalog) -> None:
    hinted = page(catalog, ActionResult(), ExerciseHistory(seen=RevealedParts(1, solution=False))).help
    assert (len(hinted.hints), hinted.hints_left, hinted.solution, hinted.right_answer) == (1, 2, None, None)
    shown = ExerciseHistory(seen=RevealedParts(0, solution=True))
    assert page(catalog, ActionResult(), shown).help.solution
    assert page(catalog, ActionResult(), shown, AssignmentRules(solution="On Monday.")).help.solution is None
    elsewhere = ExerciseHistory(last=LastAnswers(right=frozenset({8})))
    assert page(catalog, ActionResult(), elsewhere).help.solution is None, "another drawing was solved"


def test_a_right_answer_after_the_solution_counts_only_if_it_was_solved_before(catalog: Catalog) -> None:
    shown = ExerciseHistory(seen=RevealedParts(0, solution=True))
    solved = replace(shown, known={RING: Standing(1, True, False)})
    assert page(catalog, RIGHT, shown, history_before=shown).is_uncounted
    assert not page(catalog, WRONG, shown, history_before=shown).is_uncounted
    assert not page(catalog, RIGHT, shown, history_before=solved).is_uncounted
    assert not page(catalog, RIGHT, shown).is_uncounted, "it was shown afterwards"


@each(
    ("score", "says", "state", "heading"),
    [(0.0, "No.", "incorrect", "Not yet"), (0.5, "Half.", "partial", "Partly right"), (0.0, "Not yet: no.", "incorrect", "")],
)  # fmt: skip
def test_a_verdict_has_a_word_above_it_once(
    catalog: Catalog, score: float, says: str, state: str, heading: str
) -> None:
    found = page(catalog, ActionResult(verdict=Verdict(False, score, (says,))))
    assert (found.state, found.heading) == (state, heading)


def test_the_last_answers_say_whether_they_count_and_are_of_this_drawing(catalog: Catalog) -> None:
    last = (LastAnswer(7, NOON, "70 ms", True, revealed=True), LastAnswer(0, NOON, "1 s", False))
    found = page(catalog, ActionResult(), ExerciseHistory(last=LastAnswers(last))).attempts
    assert [(one.counts, one.same, one.href) for one in found] == [
        (False, True, f"/exercises/{RING}?seed=7"),
        (True, False, f"/exercises/{RING}"),
    ]


def test_a_review_stays_one_and_the_last_of_a_path_says_that_it_is_finished(catalog: Catalog) -> None:
    assert page(catalog, ActionResult()).action == f"/exercises/{RING}?seed=7"
    assert page(catalog, ActionResult(), reviewing=True).action == f"/exercises/{RING}?seed=7&review=1"
    solved = {one.id: Standing(1, True, True) for one in catalog.topic("collectives").path}
    before = {name: one for name, one in solved.items() if name != RING}
    last = page(catalog, RIGHT, ExerciseHistory(known=solved), history_before=ExerciseHistory(known=before))
    assert last.finished is not None
    assert last.finished.href == "/chapters/collectives#finished"
    assert page(catalog, RIGHT, ExerciseHistory(known=before)).finished is None


def test_a_fragment_is_the_verdict_without_the_question(catalog: Catalog) -> None:
    whole, part = page(catalog, WRONG), page(catalog, WRONG, fragment=True)
    assert whole.prompt
    assert whole.illustration is not None
    assert whole.around.place == "2 of 8"
    assert (part.prompt, part.illustration, part.around.place, part.around.facts) == ("", None, "", ())
    assert part.feedback == whole.feedback


BANNER = AssignmentBanner(title="Week 1", href="/a", place="", says=(), warns="", ends=None, following=None)


def test_what_stands_around_an_exercise_is_less_in_an_assignment_and_least_in_an_exam(catalog: Catalog) -> None:
    free = page(catalog, ActionResult()).around
    assigned = page(catalog, ActionResult(), rules=AssignmentRules(banners=(BANNER,))).around
    exam = page(catalog, ActionResult(), rules=AssignmentRules(exam=True)).around
    practice = f"/chapters/collectives/practice?after={RING}"
    assert [one.practice for one in (free, assigned, exam)] == [practice, "", ""]
    assert [one.another is not None for one in (free, assigned, exam)] == [True, True, False]
    assert [bool(one.facts or one.primer) for one in (free, assigned, exam)] == [True, True, False]
    assert [one.place for one in (free, exam)] == ["2 of 8"] * 2
    assert page(catalog, ActionResult(), name="collectives/ring-or-tree").around.place == "practice"


def test_a_chapter_is_to_be_read_before_its_first_exercise(catalog: Catalog) -> None:
    begun = ExerciseHistory(known={"collectives/ring-or-tree": Standing(1)})
    elsewhere = ExerciseHistory(known={"memory/does-it-load": Standing(1)})
    minutes = [page(catalog, ActionResult(), past).around.primer for past in (None, elsewhere, begun)]
    assert minutes == [catalog.topic("collectives").reading] * 2 + [0]


def test_the_path_beside_an_exercise_marks_that_one_and_what_is_solved(catalog: Catalog) -> None:
    solved = ExerciseHistory(known={RING: Standing(1, True, True)})
    other = catalog.topic("collectives").path[0].id
    pages = [page(catalog, ActionResult(), past, name=name) for past in (None, solved) for name in (RING, other)]
    assert len({one.around.stretch for one in pages}) == 4


def test_a_program_has_no_formula_beside_it(catalog: Catalog) -> None:
    topic = catalog.topic("collectives")
    assert any(fact.formula for fact in topic.facts)
    program = catalog.exercise("collectives/write-the-fit")
    assert not [one for one in facts_beside(program, topic, 0) if one.href.startswith("/formulas/")]


@each(
    ("begun", "seconds"),
    [
        (NOON.timestamp(), 0.0), (NOON.timestamp() - 14_400, 14_400.0), (NOON.timestamp() - 14_401, None),
        (NOON.timestamp() + 1, None), ("0", None), ("", None), ("-1", None), ("1" * 13, None), ("٣", None),
    ],
)  # fmt: skip
def test_a_page_was_open_for_at_most_four_hours_or_nobody_knows(begun: object, seconds: float | None) -> None:
    text = begun if isinstance(begun, str) else f"{begun:.0f}"
    assert seconds_on({"begun": [text]}, NOON) == seconds
    assert seconds_on({}, NOON) is None


def test_a_form_has_the_line_breaks_of_programs_and_no_files() -> None:
    assert fields_of([("a", "x\r\ny"), ("b", b"file"), ("a", "z\n")]) == {"a": ["x\ny", "z\n"]}


def test_an_answer_that_is_too_long_is_another_refusal_than_one_that_cannot_be_read() -> None:
    assert (unreadable(AnswerError("no number")).status, unreadable(TooLongError("too long")).status) == (200, 413)
    assert unreadable(AnswerError("no number")).says == "No number."


@pytest.mark.parametrize("action", ["hint", "solution", "check", ""])
def test_a_rule_refuses_the_button_that_it_names(action: str) -> None:
    rules = AssignmentRules(hints="no hints", solution="no solution", verdict="hidden")
    assert rules.refusal(action) == {"hint": "no hints", "solution": "no solution"}.get(action, "")
    assert AssignmentRules().refusal(action) == ""


def test_what_a_wrong_answer_counts_is_drawn_with_sizes_only_once_it_is_over(catalog: Catalog) -> None:
    bill = catalog.exercise("collectives/bytes-sent-by-a-ring")
    wrong = next(answer for answer, _ in bill.mistakes(7) if bill.counted(7, answer))
    assert isinstance(wrong, str)

    def drawn(result: ActionResult, answer: str = wrong, **more: Any) -> str:
        view = page(catalog, result, name=bill.id, given={"answer": [answer]}, **more).counted
        return view.svg if view else ""

    right = bill.right_answer(7)
    assert isinstance(right, str)
    assert "left out" in drawn(WRONG)
    assert right not in drawn(WRONG)
    assert f"right: {right}" in drawn(WRONG, history=ExerciseHistory(seen=RevealedParts(0, solution=True)))
    unreadable = ActionResult(state="unreadable", says="cannot read '7 parsecs'")
    assert drawn(RIGHT) == drawn(ActionResult()) == drawn(unreadable, "7 parsecs") == ""
    assert drawn(WRONG, rules=HIDDEN) == ""
