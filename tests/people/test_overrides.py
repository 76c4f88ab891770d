"""Points by hand: the last that were given hold, with a reason, for one exercise or for the whole."""

import pytest
from sqlmodel import Session

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Member, create_class, enroll, members_of, number_of
from app.classes.people.gradebook import (
    WHOLE,
    Override,
    best_answer_times,
    cells_of,
    override,
    overrides_in_force,
    overrides_of,
    points_in,
    total,
)
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.core.errors import InputError
from tests.each import each

RING, TREE = "collectives/ring-all-reduce-time", "collectives/ring-or-tree"
SECRET = "a secret of sixteen characters and more"


@pytest.fixture
def members(session: Session) -> list[Member]:
    class_id = number_of(create_class(session, SECRET, "Systems"))
    for name in ("Ada", "Alan"):
        enroll(session, class_id, number_of(new_person(session, name)))
    session.flush()
    return list(members_of(session, class_id))


def week(session: Session, members: list[Member]) -> Assignment:
    entries = [AssignmentEntry(RING, 2.0), AssignmentEntry(TREE, 3.0)]
    return assignment_with(session, create_assignment(session, members[0].class_id, "Week", Policy(), entries))


def give(session: Session, assignment: Assignment, person: int, exercise: str, points: float | None) -> None:
    override(session, assignment, [Override(person, exercise, points)], "Grace", "asked")


def test_points_by_hand_count_like_those_of_answers_until_they_are_taken_back(
    session: Session, members: list[Member]
) -> None:
    one, other = week(session, members), week(session, members)
    ada, alan = (member.person for member in members)

    def points(assignment: Assignment, person: int) -> float | None:
        return points_in(cells_of(session, SECRET, assignment, members), person, assignment)

    assert points(one, ada) is None
    assert total(cells_of(session, SECRET, one, members), ada, one) == 0.0
    give(session, one, ada, RING, 0.0)
    assert points(one, ada) == 0.0, "nothing is something"
    give(session, one, ada, RING, 1.5)
    give(session, one, ada, TREE, 2.0)
    assert points(one, ada) == 3.5
    give(session, one, ada, WHOLE, 0.5)
    assert points(one, ada) == 0.5, "points for the whole hold instead of the sum"
    assert (points(one, alan), points(other, ada)) == (None, None)
    give(session, one, ada, WHOLE, None)
    give(session, one, ada, TREE, None)
    assert points(one, ada) == 1.5
    cells = cells_of(session, SECRET, one, members)
    assert [(key, cell.points, cell.overridden) for key, cell in cells.items()] == [((ada, RING), 1.5, True)]
    assert best_answer_times(session, SECRET, one, members) == {}


def test_only_points_that_hold_are_listed_and_all_are_remembered(session: Session, members: list[Member]) -> None:
    one, other = week(session, members), week(session, members)
    ada, alan = (member.person for member in members)
    give(session, one, alan, RING, 1.0)
    give(session, one, ada, TREE, 1.0)
    give(session, one, ada, RING, 1.0)
    give(session, one, ada, TREE, 2.0)
    give(session, one, ada, RING, None)
    give(session, other, ada, RING, 2.0)
    assert [(row.person, row.exercise, row.points) for row in overrides_in_force(session, one.id)] == [
        (ada, TREE, 2.0),
        (alan, RING, 1.0),
    ]
    every = overrides_of(session, one, ada)
    assert {exercise: [row.points for row in rows] for exercise, rows in every.items()} == {
        RING: [None, 1.0],
        TREE: [2.0, 1.0],
    }


@each(
    ("why", "says"),
    [
        ("", "give a reason"),
        (" \n ", "give a reason"),
        ("x" * 501, "a reason has at most 500 printable characters"),
        ("a\x00b", "printable"),
        ("x" * 500, ""),
        ("  two \n words ", ""),
    ],
)
def test_points_by_hand_need_a_reason(session: Session, members: list[Member], why: str, says: str) -> None:
    assignment = week(session, members)
    given = [Override(members[0].person, RING, 1.0)]
    if says:
        with pytest.raises(InputError, match=says):
            override(session, assignment, given, "Grace", why)
    else:
        override(session, assignment, given, "G" * 1000, why)
        (row,) = overrides_in_force(session, assignment.id)
        assert row.why == " ".join(why.split())
        assert 0 < len(row.by) < 1000


def test_points_for_an_exercise_of_another_assignment_are_refused(session: Session, members: list[Member]) -> None:
    with pytest.raises(InputError, match="the assignment has no exercise 'collectives/ring-or-tre'.*did you mean"):
        give(session, week(session, members), members[0].person, "collectives/ring-or-tre", 1.0)
