"""An assignment and its class as values: dates, rules and points in words, what is due, and how far a class is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from app.classes.pages.assignment import (
    ClassPage,
    StudentAssignment,
    assignment_page,
    begin_exam,
    class_page,
    due_page,
    rules_words,
)
from app.classes.people.assignments import Assignment, AssignmentEntry, change_groups, create_assignment
from app.classes.people.cells import Cell
from app.classes.people.classes import renew_seat_code
from app.classes.people.gradebook import WHOLE, Override, override
from app.classes.people.members import member_row, set_time_factor
from app.classes.people.policy import Dates, GroupDates, Policy
from app.core.errors import InputError
from app.server.db.people import RegradeRow, SittingRow
from app.server.db.session import open_writing_session
from app.site import Site
from tests.each import each
from tests.people.crowd import RING, STAGE, crowd_of
from tests.web.a_class import assignment_visit, visit

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


def test_a_student_sees_what_each_exercise_has_and_why(site: Site) -> None:
    policy = Policy(due=NOW + DAY, closes=NOW + 3 * DAY, late=0.5, attempts=3)
    at, crowd = replace(site, clock=lambda: NOW), crowd_of(site, "Bo", policy=policy)
    titles = [site.catalog.exercise(name).title for name in (RING, STAGE)]
    first = crowd.answers("Bo", RING, NOW - 2 * HOUR, right=False, score=0.5)
    with open_writing_session(site.engine) as session:
        bo = assignment_visit(at, session, crowd.assignment, crowd.persons["Bo"])

        def entries(moment: datetime = NOW) -> list[tuple[str, str, tuple[str, ...]]]:
            page = assignment_page(replace(bo, site=replace(site, clock=lambda: moment)))
            assert [one.title for one in page.entries] == titles
            return [(one.mark, one.points, one.says) for one in page.entries]

        assert entries() == [
            ("tried", "0.5 of 1 point", ("2 of 3 tries left",)), ("new", "4 points", ("3 of 3 tries left",)),
        ]  # fmt: skip
        assert entries(NOW + 4 * DAY) == [("tried", "0.5 of 1 point", ("1 answer",)), ("new", "4 points", ())]
        session.add(RegradeRow(attempt=first, digest="n", score=1.0, correct=True, at=NOW))
        override(session, crowd.assignment, [Override(crowd.persons["Bo"], STAGE, 1.5)], "Ada", "oral")
        session.flush()
        mended = "mended and judged again on Thursday, Oct 1, 14:00: an answer of yours is worth more"
        assert entries() == [
            ("solved", "1 of 1 point", ("2 of 3 tries left", mended)),
            ("new", "1.5 of 4 points", ("3 of 3 tries left", "given by your teacher: oral")),
        ]
        override(session, crowd.assignment, [Override(crowd.persons["Bo"], STAGE, None, excused=True)], "Ada", "ill")
        assert entries()[1] == ("new", "excused", ("3 of 3 tries left", "excused: ill"))
        page = assignment_page(bo)
        assert (page.phase, page.points, page.looks, page.starts, page.ends) == (
            "open",
            "1 of 1 points",
            False,
            "",
            None,
        )
        session.rollback()


def test_a_verdict_that_is_hidden_says_that_the_answer_is_recorded(site: Site) -> None:
    crowd = crowd_of(site, "Bo", policy=Policy(due=NOW + DAY, closes=NOW + 3 * DAY, show_points=False))
    crowd.answers("Bo", RING, NOW - HOUR, right=True)
    with open_writing_session(site.engine) as session:
        bo = assignment_visit(site, session, crowd.assignment, crowd.persons["Bo"])

        def seen(at: datetime) -> tuple[str, str, str, tuple[str, ...]]:
            page = assignment_page(replace(bo, site=replace(site, clock=lambda: at)))
            one = page.entries[0]
            return page.points, one.mark, one.points, one.says

        hidden = ("points shown after Friday, Oct 2, 14:00", "tried", "1 point", ("recorded", "1 answer"))
        assert [seen(NOW), seen(NOW + DAY)] == [hidden, hidden]
        assert seen(NOW + DAY + timedelta(seconds=1)) == ("1 of 5 points", "solved", "1 of 1 point", ("1 answer",))


@each(
    ("name", "phase", "starts", "runs", "entries"),
    [("Bo", "unstarted", True, False, 0), ("Cleo", "open", False, True, 2), ("Tom Assistant", "open", False, False, 2)],
)
def test_an_exam_shows_its_exercises_to_who_has_started_it(
    site: Site, name: str, phase: str, starts: bool, runs: bool, entries: int
) -> None:
    at = replace(site, clock=lambda: NOW)
    crowd = crowd_of(site, "Bo", "Cleo", policy=Policy(due=NOW + DAY, closes=NOW + DAY, sitting=45))
    with open_writing_session(site.engine) as session:
        session.add(SittingRow(assignment=crowd.assignment.id, person=crowd.persons["Cleo"], began=NOW - HOUR / 4))
        for one, factor in (("Bo", 1.5), ("Cleo", 1.0)):
            set_time_factor(session, member_row(session, crowd.class_id, crowd.persons[one]), factor)
        page = assignment_page(assignment_visit(at, session, crowd.assignment, crowd.persons[name]))
        assert (page.phase, bool(page.starts), len(page.entries)) == (phase, starts, entries)
        assert page.ends == (NOW + HOUR / 2 if runs else None)
        assert page.sitting == (68 if name == "Bo" else 45)
        assert (page.looks, page.points == "5 points") == (name == "Tom Assistant", name != "Cleo")
        session.rollback()


def test_an_exam_is_begun_once_while_it_is_open(site: Site) -> None:
    for policy, says in (
        (Policy(opens=NOW + HOUR, due=NOW + DAY, closes=NOW + DAY, sitting=45), "Week 1 has not opened yet: it cannot"),
        (Policy(due=NOW - HOUR, closes=NOW - HOUR, grace=0, sitting=45), "Week 1 is closed: it cannot be started"),
        (Policy(due=NOW + DAY, closes=NOW + DAY, sitting=45), ""),
        (Policy(due=NOW + DAY), ""),
    ):
        crowd = crowd_of(site, "Bo", policy=policy)
        with open_writing_session(site.engine) as session:
            bo = assignment_visit(replace(site, clock=lambda: NOW), session, crowd.assignment, crowd.persons["Bo"])
            if says:
                with pytest.raises(InputError, match=says):
                    begin_exam(bo)
            else:
                assert begin_exam(bo) == f"/assignments/{crowd.assignment.id}"
            began = session.get(SittingRow, (crowd.assignment.id, crowd.persons["Bo"]))
            assert (began is not None) is (policy.sitting > 0 and not says)
            session.rollback()


def test_what_is_due_comes_first_and_points_that_are_hidden_are_not_added(site: Site) -> None:
    at, crowd = replace(site, clock=lambda: NOW), crowd_of(site, "Bo", policy=Policy(due=NOW + 2 * DAY))
    crowd.answers("Bo", RING, NOW - HOUR, right=True)
    rules = {
        "no date": Policy(), "again": Policy(due=NOW + 2 * DAY), "first": Policy(due=NOW + DAY),
        "late": Policy(due=NOW - DAY), "exam": Policy(due=NOW + 3 * DAY, closes=NOW + 3 * DAY, sitting=45),
        "later": Policy(opens=NOW + HOUR), "past": Policy(due=NOW - DAY, closes=NOW - DAY),
        "hidden": Policy(due=NOW + 4 * DAY, show_points=False),
    }  # fmt: skip
    with open_writing_session(site.engine) as session:
        for title, policy in rules.items():
            create_assignment(session, crowd.class_id, title, policy, [AssignmentEntry(RING, 2.0)])
        page = due_page(visit(at, session, crowd.class_id, crowd.persons["Bo"]))
        assert [one.assignment.title for one in page.due] == [
            "late", "first", "Week 1", "again", "exam", "hidden", "no date",
        ]  # fmt: skip
        assert [[one.assignment.title for one in those] for those in (page.later, page.past)] == [["later"], ["past"]]
        assert page.earned == "1 of 15"  # of week 1, late, first, again, no date and past
        session.rollback()


def test_the_page_of_a_class_counts_students_and_says_when_each_assignment_counts(site: Site) -> None:
    at, crowd = replace(site, clock=lambda: NOW), crowd_of(site, "Bo", "Cleo", policy=Policy(due=NOW + DAY))
    crowd.answers("Bo", RING, NOW - HOUR, right=True)
    with open_writing_session(site.engine) as session:
        rules = (Policy(opens=NOW + HOUR, due=NOW + DAY), Policy(opens=NOW, due=NOW + DAY), Policy(),
                 Policy(due=NOW - DAY), Policy(due=NOW - DAY, closes=NOW - DAY))  # fmt: skip
        for place, policy in enumerate(rules):
            create_assignment(session, crowd.class_id, f"{place}", policy, [AssignmentEntry(RING, 2.0)])
        teacher, helper = (
            visit(at, session, crowd.class_id, crowd.persons[name]) for name in ("Ada Teacher", "Tom Assistant")
        )
        page = class_page(teacher)
        assert isinstance(page, ClassPage)
        assert (page.students, page.code_is_missing, page.has_groups, page.ties) == (2, True, False, ())
        due, opens = "due Friday, Oct 2, 14:00, tomorrow", "opens Thursday, Oct 1, 15:00, in 1 hour"
        past = "due Wednesday, Sep 30, 14:00, yesterday"
        assert [(one.state, one.dates) for one in page.cards] == [
            ("open", (due,)), ("not open yet", (opens, due)), ("open", (due,)), ("open", ("no due date",)),
            ("past due", (past,)), ("closed", (past,)),
        ]  # fmt: skip
        first = page.cards[0].turnout
        assert (first.students, first.begun, first.all, first.mean) == (2, 1, 0, 0.2)
        renew_seat_code(session, member_row(session, crowd.class_id, crowd.persons["Ada Teacher"]))
        groups = [GroupDates(group=name, due=NOW + 2 * DAY) for name in ("Mon", "Tue")]
        change_groups(session, crowd.assignment, groups)
        page = class_page(teacher)
        assert isinstance(page, ClassPage)
        assert (page.code_is_missing, page.has_groups, page.cards[0].dates[-1]) == (
            False, True, "other dates for Mon, Tue",
        )  # fmt: skip
        other = class_page(helper)
        assert isinstance(other, ClassPage)
        assert other.code_is_missing
        assert other.code_form == f"{crowd.href}/people/{crowd.persons['Tom Assistant']}/code"
        session.rollback()
