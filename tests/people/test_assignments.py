"""Assignments: their limits, pools, dates of groups, and what counts as another version."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import Session

from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    ExercisePool,
    assignment_numbered,
    assignment_with,
    assignments_of,
    assignments_with,
    change_assignment,
    change_groups,
    check_pool,
    create_assignment,
    delete_assignment,
    entries_in_pools,
    entries_left,
    first_origin,
    mark_changed,
    number_pools,
    policy_of,
    read_draws,
)
from app.classes.people.classes import create_class, enroll, number_of, set_archived
from app.classes.people.members import remove_members, set_time_factor
from app.classes.people.persons import new_person
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.server.db.people import AssignmentRow, ClassRow
from tests.each import each

DUE = datetime(2036, 10, 2, 21, 59, tzinfo=UTC)
DAY = timedelta(days=1)
FIXED, POOLED = AssignmentEntry("a/one", 1.0), [AssignmentEntry(f"b/{n}", 2.0, 1) for n in range(3)]


@pytest.fixture
def class_id(session: Session) -> int:
    return number_of(create_class(session, "secret", "Systems", "Europe/Berlin"))


def made(session: Session, class_id: int, entries: Sequence[AssignmentEntry], **more: Any) -> Assignment:
    return assignment_with(session, create_assignment(session, class_id, "Week 1", Policy(), entries, **more))


@each(
    ("draw", "points", "says"),
    [
        (1, [2.0], ""), (3, [2.0, 2.0, 2.0], ""), (4, [2.0, 2.0, 2.0], "draws 4 of 3"), (0, [2.0], "draws 0 of 1"),
        (1, [], "has no exercises"), (1, [2.0, 3.0], "not 2 and 3"),
    ],
)  # fmt: skip
def test_a_pool_draws_one_or_more_and_at_most_all_of_the_same_points(draw: int, points: list[float], says: str) -> None:
    try:
        check_pool(7, draw, points)
    except InputError as error:
        assert says
        assert says in str(error)
        assert "pool 7" in str(error)
    else:
        assert not says


@each(("count", "right"), [(0, False), (1, True), (200, True), (201, False)])
def test_an_assignment_has_one_to_two_hundred_exercises(
    session: Session, class_id: int, count: int, right: bool
) -> None:
    entries = [AssignmentEntry(f"a/{n}", 1.0) for n in range(count)]
    try:
        assert made(session, class_id, entries).entries == tuple(entries)
    except InputError as error:
        assert (right, "1 to 200 exercises" in str(error)) == (False, True)
    else:
        assert right


@each(("points", "right"), [(0.0, True), (1000.0, True), (1000.5, False), (-0.5, False)])
def test_an_exercise_has_none_to_a_thousand_points(session: Session, class_id: int, points: float, right: bool) -> None:
    try:
        assert made(session, class_id, [AssignmentEntry("a/one", points)]).points == points
    except InputError as error:
        assert (right, "a/one: points must be from 0 to 1,000" in str(error)) == (False, True)
    else:
        assert right


@each(("count", "right"), [(500, True), (501, False)])
def test_an_assignment_has_dates_for_at_most_five_hundred_groups(
    session: Session, class_id: int, count: int, right: bool
) -> None:
    one = made(session, class_id, [FIXED])
    groups = [GroupDates(group=f"{n:03}", due=DUE) for n in range(count)]
    try:
        change_groups(session, one, groups)
    except InputError as error:
        assert (right, "at most 500 groups, not 501" in str(error)) == (False, True)
    else:
        assert right
        assert assignment_with(session, one.id).groups == tuple(groups)


def test_dates_of_groups_are_replaced_and_stay_where_they_are_not_named(session: Session, class_id: int) -> None:
    both = [GroupDates(group=name, due=DUE) for name in "AB"]
    one = made(session, class_id, [FIXED], groups=reversed(both))
    other = made(session, class_id, [FIXED], groups=both[:1])
    assert one.groups == tuple(both), "by name"
    change_assignment(session, one.id, "Week 2", Policy(), [FIXED])
    assert assignment_with(session, one.id).groups == tuple(both)
    with pytest.raises(InputError, match="the group A is there twice"):
        change_groups(session, one, [both[0], both[0]])
    change_groups(session, one, [replace(both[1], due=DUE + DAY)])
    assert assignment_with(session, one.id).groups == (replace(both[1], due=DUE + DAY),)
    change_assignment(session, one.id, "Week 2", Policy(), [FIXED], [])
    assert assignment_with(session, one.id).groups == ()
    assert assignment_with(session, other.id).groups == tuple(both[:1])


def test_an_exercise_that_is_there_twice_counts_once_as_it_was_said_last(session: Session, class_id: int) -> None:
    one = made(session, class_id, [FIXED, AssignmentEntry("a/two", 4.0), replace(FIXED, points=3.0)])
    assert [(entry.exercise, entry.points) for entry in one.entries] == [("a/one", 3.0), ("a/two", 4.0)]


def test_points_and_length_are_those_that_a_student_has(session: Session, class_id: int) -> None:
    one = made(session, class_id, [FIXED, *POOLED], draws=[2])
    assert (one.points, one.length) == (5.0, 3)
    (pool,) = one.pools
    assert (pool.draw, pool.exercises, pool.points) == (2, ("b/0", "b/1", "b/2"), 2.0)
    own = one.personal("ada")
    assert (own.points, own.draws, own.length, {entry.pool for entry in own.entries}) == (5.0, (), 3, {0})
    assert {entry.exercise for entry in own.entries} == set(one.drawn("ada")) >= {"a/one"}
    assert len({frozenset(one.drawn(f"l{n}")) for n in range(30)}) == 3, "students have different ones"
    alone = made(session, class_id, POOLED[:1])
    assert (alone.entries[0].pool, alone.draws) == (0, ()), "without draws there is no pool"


def test_a_draw_follows_from_the_learner_and_the_first_origin_and_changes_little() -> None:
    names = tuple(f"b/{n}" for n in range(9))
    pool = ExercisePool(4, names, 1.0)
    draws = {(origin, learner): pool.drawn(origin, learner) for origin in (1, 2) for learner in ("ada", "bo")}
    assert len({tuple(one) for one in draws.values()}) == 4
    assert all(list(one) == sorted(one) and len(one) == 4 for one in draws.values())
    drawn = set(draws[1, "ada"])
    for name in names:
        fewer = set(ExercisePool(4, tuple(one for one in names if one != name), 1.0).drawn(1, "ada"))
        assert len(fewer - drawn) == (name in drawn)
    assert pool.drawn(1, "ada") == draws[1, "ada"]
    assert (first_origin(9, ""), first_origin(9, "4"), first_origin(9, "4 7")) == (9, 4, 4)
    assert (read_draws(""), read_draws("2 1")) == ((), (2, 1))


@each(
    ("pools", "draws", "numbered", "drawn"),
    [
        ([0, 7, 3, 7], {7: 2, 3: 1}, [0, 2, 1, 2], [1, 2]),
        ([2, 2], {}, [1, 1], [1]),
        ([0, 0], {1: 2}, [0, 0], []),
        ([5], {5: 3}, [1], [3]),
    ],
)
def test_pools_are_numbered_from_one_without_gaps(
    pools: list[int], draws: dict[int, int], numbered: list[int], drawn: list[int]
) -> None:
    entries = [AssignmentEntry(f"a/{place}", 1.0, pool) for place, pool in enumerate(pools)]
    found, counts = number_pools(entries, draws)
    assert ([one.pool for one in found], counts) == (numbered, drawn)


def test_what_is_left_of_a_pool_draws_no_more_than_there_is(session: Session, class_id: int) -> None:
    one = made(session, class_id, [FIXED, *POOLED, AssignmentEntry("c/1", 1.0, 2)], draws=[2, 1])
    for left, pools, draws in (
        (one.entries, [0, 1, 1, 1, 2], [2, 1]),
        (one.entries[:3], [0, 1, 1], [2]),
        (one.entries[:2], [0, 1], [1]),
        (one.entries[3:], [1, 2], [1, 1]),
        (one.entries[4:], [1], [1]),
    ):
        entries, counts = entries_left(one, left)
        assert ([entry.pool for entry in entries], counts) == (pools, draws)
    typed = [AssignmentEntry("c/1", 1.0), AssignmentEntry("new/1", 1.0), AssignmentEntry("b/1", 2.0)]
    entries, counts = entries_in_pools(typed, one)
    assert ([entry.pool for entry in entries], counts) == ([2, 0, 1], [2, 1])


def test_another_title_rule_date_exercise_or_pool_is_another_version(session: Session, class_id: int) -> None:
    one = made(session, class_id, [FIXED, *POOLED], draws=[2])
    others = [
        replace(one, title="Week 2"), replace(one, policy=replace(one.policy, late=0.1)),
        replace(one, policy=replace(one.policy, due=DUE)), replace(one, entries=(FIXED,), draws=()),
        replace(one, entries=one.entries[::-1]), replace(one, draws=(1,)),
        replace(one, groups=(GroupDates(group="A", due=DUE),)), replace(one, groups=(GroupDates(group="B", due=DUE),)),
    ]  # fmt: skip
    assert len({one.version, *(other.version for other in others)}) == 9
    assert assignment_with(session, one.id).version == one.version
    assert replace(one, weight=3.0).version == one.version


def test_a_group_has_its_own_policy_and_those_without_one_that_of_everyone(session: Session, class_id: int) -> None:
    one = made(session, class_id, [FIXED], groups=[GroupDates(group="A", due=DUE)])
    assert (one.policy_in("A").due, one.policy_in("B").due, one.policy_in("").due) == (DUE, None, None)
    assert [policy.due for policy in one.policies] == [None, DUE]


def test_the_longest_time_is_of_those_who_are_in_the_class(session: Session, class_id: int) -> None:
    number = made(session, class_id, [FIXED]).id
    assert assignment_with(session, number).longest == 1.0
    for name, factor in (("Ada", 1.5), ("Bo", 2.0)):
        person = number_of(new_person(session, name))
        set_time_factor(session, enroll(session, class_id, person), factor)
    assert assignment_with(session, number).longest == 2.0
    remove_members(session, class_id, [person])
    assert assignment_with(session, number).longest == 1.5


def test_assignments_are_found_in_the_order_in_which_they_were_made(session: Session, class_id: int) -> None:
    other = number_of(create_class(session, "secret", "Other"))
    first, theirs, second = (made(session, one, [FIXED]).id for one in (class_id, other, class_id))
    assert [one.id for one in assignments_of(session, class_id)] == [first, second]
    assert [one.id for one in assignments_with(session, [second, theirs])] == [theirs, second]
    assert assignments_with(session, []) == []
    own = assignments_of(session, class_id)
    assert assignment_numbered(own, second).id == second
    with pytest.raises(NotFoundError, match=f"no assignment {theirs}"):
        assignment_numbered(own, theirs)
    delete_assignment(session, first)
    assert [one.id for one in assignments_of(session, class_id)] == [second]
    with pytest.raises(NotFoundError, match="does not exist"):
        assignment_with(session, 10**9)
    with pytest.raises(NotFoundError, match="does not exist"):
        change_assignment(session, 10**9, "x", Policy(), [FIXED])


def test_a_change_is_noted_in_its_own_class_alone(session: Session, class_id: int) -> None:
    other = number_of(create_class(session, "secret", "Other"))
    numbers = [made(session, one, [FIXED]).id for one in (class_id, other)]
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)

    def changed(work: Any) -> list[bool]:
        for number in numbers:
            session.get_one(AssignmentRow, number).changed = long_ago
        session.flush()
        work()
        session.flush()
        session.expire_all()
        return [session.get_one(AssignmentRow, number).changed != long_ago for number in numbers]

    first = assignment_with(session, numbers[0])
    assert changed(lambda: mark_changed(session, class_id)) == [True, False]
    assert changed(lambda: change_groups(session, first, [])) == [True, False]
    assert changed(lambda: change_assignment(session, first.id, "x", Policy(), [FIXED])) == [True, False]


def test_rules_that_contradict_each_other_are_not_stored(session: Session, class_id: int) -> None:
    for wrong in (Policy(opens=DUE + DAY, due=DUE), Policy(late=1.5)):
        with pytest.raises(InputError):
            create_assignment(session, class_id, "Week", wrong, [FIXED])
    with pytest.raises(InputError, match="1 to 100 printable"):
        create_assignment(session, class_id, " ", Policy(), [FIXED])


def test_the_rules_of_a_class_come_with_its_zone_and_its_end(session: Session, class_id: int) -> None:
    policy = Policy(due=DUE, late=0.1, attempts=3, hints="cost", show_points=False, sitting=45, solution="off")
    number = create_assignment(session, class_id, " Week  1 ", policy, [FIXED])
    one = assignment_with(session, number)
    assert (one.title, one.policy.zone.key, one.policy.archived) == ("Week 1", "Europe/Berlin", None)
    assert replace(one.policy, zone=policy.zone) == policy
    set_archived(session, session.get_one(ClassRow, class_id))
    assert assignment_with(session, number).policy.archived is not None
    assert policy_of(session.get_one(AssignmentRow, number)).zone.key == "UTC"
