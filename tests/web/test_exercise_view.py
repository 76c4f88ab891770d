"""The page of an exercise is made of plain values: no request, no site, no database."""

from dataclasses import replace
from datetime import UTC, datetime

from app.course.content.catalog import Catalog
from app.course.kinds.base import Verdict
from app.server.db.history import ExerciseHistory, LastAnswer, LastAnswers, Standing
from app.site.web.exercise.page_context import ActionResult, AssignmentRules, ExerciseRequest
from app.site.web.exercise.view import ExercisePage, exercise_page

RING = "collectives/ring-all-reduce-time"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RIGHT = ActionResult(verdict=Verdict(True, 1.0, ("Yes.",)))
WRONG = ActionResult(verdict=Verdict(False, 0.0, ("Twice as long.",)))
HIDDEN = AssignmentRules(verdict="Shown on Monday.", exam=True)


def page(
    catalog: Catalog, result: ActionResult, history: ExerciseHistory | None = None, rules: AssignmentRules | None = None
) -> ExercisePage:
    """The page at noon of a learner with that *history*."""
    asked = ExerciseRequest(
        exercise=catalog.exercise(RING),
        seed=7,
        learner="ada",
        moment=NOON,
        history=history or ExerciseHistory(),
        history_before=ExerciseHistory(),
        given={"answer": ["70 ms"]},
    )
    return exercise_page(catalog, asked, result, rules or AssignmentRules())


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
