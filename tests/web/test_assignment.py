"""An assignment as a student reads it: its dates, rules and points in words, without a server."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from app.classes.pages.assignment import StudentAssignment, rules_words
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.cells import Cell
from app.classes.people.gradebook import WHOLE
from app.classes.people.policy import Dates, Policy
from tests.each import each

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)  # a Thursday
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DUE, CLOSE = NOW + DAY, NOW + 3 * DAY
ENTRIES = (AssignmentEntry("a/one", 1.0), AssignmentEntry("a/two", 4.0))


def assigned(policy: Policy | None = None, **more: Any) -> StudentAssignment:
    """An assignment of five points that is open, unless *more* says otherwise."""
    rules = policy or Policy()
    given: dict[str, Any] = {
        "assignment": Assignment(id=7, class_id=1, title="Week 1", policy=rules, entries=ENTRIES),
        "dates": Dates(rules.opens, rules.due, rules.closes),
        "phase": "open", "extended": None, "group_due": None, "why": "", "cells": {}, "points": 0.0, "possible": 5.0,
        "excused": False, "factor": 1.0, "by_hand": MappingProxyType({}), "regrades": {}, "hidden": "", "now": NOW,
    }  # fmt: skip
    return StudentAssignment(**{**given, **more})


DUE_SAYS, CLOSE_SAYS = "due Friday, Oct 2, 12:00, tomorrow", "closes Sunday, Oct 4, 12:00, in 3 days"


@each(
    ("phase", "policy", "more", "says"),
    [
        ("open", Policy(), {}, ["no due date"]),
        ("open", Policy(opens=NOW - DAY, due=DUE, closes=DUE), {}, [DUE_SAYS]),
        ("before", Policy(opens=NOW + HOUR, due=DUE, closes=DUE), {},
         ["opens Thursday, Oct 1, 13:00, in 1 hour", DUE_SAYS]),
        ("open", Policy(due=DUE, closes=CLOSE), {}, [DUE_SAYS, CLOSE_SAYS]),
        ("open", Policy(closes=CLOSE), {}, ["no due date", CLOSE_SAYS]),
        ("closed", Policy(due=NOW - DAY, closes=NOW - 2 * HOUR), {}, ["closed Thursday, Oct 1, 10:00, 2 hours ago"]),
        ("closed", Policy(due=NOW - DAY), {}, ["closed"]),
        ("open", Policy(due=DUE, closes=DUE), {"extended": DUE}, [DUE_SAYS, "extended for you"]),
        ("open", Policy(due=DUE, closes=DUE), {"extended": DUE, "group_due": NOW},
         [DUE_SAYS, "extended for you (for others Thursday, Oct 1, 12:00)"]),
        ("open", Policy(due=DUE, closes=DUE), {"group_due": NOW}, [DUE_SAYS]),
        ("unstarted", Policy(due=DUE, closes=DUE, sitting=45), {}, [f"start it, and finish by {DUE_SAYS[4:]}"]),
        ("open", Policy(due=DUE, closes=DUE, sitting=45), {}, [f"ends {DUE_SAYS[4:]}"]),
    ],
)  # fmt: skip
def test_the_dates_that_matter_now_are_said(phase: str, policy: Policy, more: dict[str, Any], says: list[str]) -> None:
    assert list(assigned(policy, phase=phase, **more).dates_in_words()) == says


@each(
    ("more", "says"),
    [
        ({"points": 1.23456}, "1.235 of 5 points"),
        ({"points": 1.0, "possible": 3.0}, "1 of 3 points"),
        ({"phase": "before", "points": 1.0, "possible": 3.0}, "5 points"),
        ({"phase": "unstarted", "points": 1.0}, "5 points"),
        ({"phase": "closed", "points": 1.0}, "1 of 5 points"),
        ({"hidden": "shown after Friday"}, "points shown after Friday"),
        ({"hidden": "shown after Friday", "phase": "before"}, "5 points"),
        ({"excused": True, "hidden": "shown after Friday"}, "excused"),
        ({"excused": True, "by_hand": {WHOLE: "ill", "a/one": "no"}}, "excused: ill"),
        ({"excused": True, "by_hand": {"a/one": "no"}}, "excused"),
    ],
)
def test_points_are_said_once_they_are_shown(more: dict[str, Any], says: str) -> None:
    assert assigned(**more).points_in_words == says


def test_an_exercise_is_tried_with_an_answer_that_counts() -> None:
    cells = {"a/one": Cell(0.0, tries=1), "a/two": Cell(2.0, tries=0, overridden=True)}
    assert assigned(cells=cells).tried == 1
    assert [assigned(phase=phase).is_open for phase in ("before", "unstarted", "open", "late", "closed")] == [
        False, False, True, True, True,
    ]  # fmt: skip


USUAL_RULES = [
    "The best answer to each exercise counts; try as often as you like.",
    "The numbers in each exercise are your own: others have different ones.",
    "Hints are free.",
    "Worked solutions are shown after the due date.",
]


@each(
    ("policy", "place", "says"),
    [
        (Policy(attempts=1), 0, "The first answer to each exercise can count."),
        (Policy(attempts=3), 0, "The first 3 answers to each exercise can count; the best of them does."),
        (Policy(variants="same"), 1, "Everyone in the class has the same numbers."),
        (Policy(variants="many"), 1,
         "Answers with any numbers count: draw another variant as often as you like."),
        (Policy(hints="cost", hint_cost=0.25), 2, "Each hint costs 25 % of the points of its exercise."),
        (Policy(hints="off"), 2, "Hints are turned off."),
        (Policy(hints="cost", sitting=45), 2, "Hints are turned off."),
        (Policy(solution="off"), 3, "Worked solutions are not shown."),
        (Policy(solution="free"), 3,
         "After you look at a worked solution, answers to that exercise earn no points."),
    ],
)  # fmt: skip
def test_each_rule_is_a_sentence(policy: Policy, place: int, says: str) -> None:
    expected = [says if number == place else usual for number, usual in enumerate(USUAL_RULES)]
    assert list(rules_words(assigned(policy))) == expected


@each(
    ("policy", "says"),
    [
        (Policy(late=0.1), []),
        (Policy(due=DUE, closes=DUE, late=0.1), ["After the due date, nothing counts."]),
        (Policy(due=DUE, late=0.125), ["Late answers lose 12.5 % of the points a day begun."]),
        (Policy(due=DUE, closes=CLOSE, late=0.1),
         ["Late answers lose 10 % of the points a day begun, until Sunday, Oct 4, 12:00, in 3 days."]),
        (Policy(due=DUE, closes=CLOSE), ["Late answers lose no points, until Sunday, Oct 4, 12:00, in 3 days."]),
        (Policy(due=DUE), ["Late answers lose no points."]),
        (Policy(due=DUE, closes=CLOSE, sitting=45, hints="off"), []),
    ],
)  # fmt: skip
def test_what_late_answers_lose_is_said_where_they_can_be_late(policy: Policy, says: list[str]) -> None:
    assert list(rules_words(assigned(policy)))[2:-2] == says


def test_points_that_are_hidden_are_said_to_be() -> None:
    hidden = replace(assigned(), hidden="shown after Friday")
    assert list(rules_words(hidden)) == [*USUAL_RULES, "Verdicts and points are shown after Friday."]
