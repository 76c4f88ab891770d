"""Pools of an assignment: what each student has, and that nothing else counts."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session

from app.classes.people.activity import turnouts, work_in
from app.classes.people.assignment_copies import chosen_assignments, copies_of, store_copies
from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    ExercisePool,
    assignment_numbered,
    assignment_with,
    assignments_of,
    change_assignment,
    create_assignment,
    entries_in_pools,
)
from app.classes.people.classes import Member, create_class, enroll, members_of, number_of
from app.classes.people.counted_answers import Drawings, given_in, variant_seed
from app.classes.people.exercise_statistics import statistics_of
from app.classes.people.gradebook import Override, cells_of, overall_percent, override, total
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.classes.people.work import veils, works_at
from app.core.errors import InputError, NotFoundError
from app.server.db.people import OverrideRow
from app.server.db.tables import AttemptRow
from app.site.members import SignedIn
from tests.each import each

SECRET = "secret"
DUE = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
DAY = timedelta(days=1)
FIXED = AssignmentEntry("a/fixed", 3.0)
POOL = tuple(AssignmentEntry(f"b/{name}", 2.0, 1) for name in ("one", "two", "three", "four"))
NAMES = tuple(one.exercise for one in POOL)


def room(session: Session, size: int) -> tuple[int, list[Member]]:
    class_id = number_of(create_class(session, SECRET, "Ring"))
    for place in range(size):
        enroll(session, class_id, number_of(new_person(session, f"Student {place:03}")))
    return class_id, list(members_of(session, class_id))


def assigned(session: Session, class_id: int, policy: Policy | None = None) -> Assignment:
    """Two of four exercises for two points each, and one for three that everyone has."""
    number = create_assignment(session, class_id, "Week 1", policy or Policy(due=DUE), [FIXED, *POOL], draws=[2])
    return assignment_with(session, number)


def answer(session: Session, one: Assignment, member: Member, exercise: str) -> None:
    """A right answer of *member* to the drawing that would count."""
    seed = variant_seed(SECRET, one.id, exercise, member.learner)
    session.add(
        AttemptRow(
            learner=member.learner,
            exercise=exercise,
            seed=seed,
            answer="x",
            correct=True,
            score=1.0,
            hints=0,
            revealed=False,
            digest="old",
            drawn="{}",
            at=DUE - DAY,
        )
    )
    session.flush()


def test_each_student_has_as_many_as_are_to_be_drawn_and_the_same_at_any_time(session: Session) -> None:
    class_id, members = room(session, 200)
    one = assigned(session, class_id)
    counts: Counter[str] = Counter()
    for member in members:
        own = one.personal(member.learner)
        assert own == assignment_with(session, one.id).personal(member.learner)
        first, *drawn = [entry.exercise for entry in own.entries]
        assert first == "a/fixed"
        assert len(set(drawn)) == 2
        assert drawn == sorted(drawn, key=NAMES.index)  # in the order of the pool
        assert own.points == one.points == 7.0
        counts.update(drawn)
    # Each is drawn with probability 1/2: 100 of 200, with a standard deviation of 7.
    assert all(abs(counts[name] - 100) < 35 for name in NAMES)
    assert one.length == 3


def test_an_exercise_that_comes_changes_what_few_have() -> None:
    pool = ExercisePool(2, NAMES, 1.0)
    more = replace(pool, exercises=(*NAMES, "b/five"))
    for learner in map(str, range(100)):
        before, after = set(pool.drawn(7, learner)), set(more.drawn(7, learner))
        assert after - {"b/five"} <= before
        assert before == set(replace(pool, exercises=NAMES[::-1]).drawn(7, learner))


def test_only_what_was_drawn_counts(session: Session) -> None:
    class_id, members = room(session, 25)
    one = assigned(session, class_id)
    for member in members:
        for entry in one.entries:
            answer(session, one, member, entry.exercise)
    for those in (members[:2], members):  # one by one, and added up by the database
        cells = cells_of(session, SECRET, one, those)
        for member in those:
            assert {name for person, name in cells if person == member.person} == set(one.drawn(member.learner))
            assert total(cells, member.person, one) == 7.0
    earned = {one.id: total(cells, members[0].person, one)}
    assert overall_percent([one], earned, 0) == 100.0
    assert turnouts(session, SECRET, [one], members)[one.id].all == len(members)


def test_points_by_hand_of_what_was_not_drawn_are_refused_and_do_not_count(session: Session) -> None:
    class_id, (member,) = room(session, 1)
    one = assigned(session, class_id)
    drawn = one.drawn(member.learner)
    (absent, *_) = [name for name in NAMES if name not in drawn]
    with pytest.raises(InputError, match=f"{absent} was not drawn for this student"):
        override(session, one, [Override(member.person, absent, 2.0)], "Ada", "oral")
    session.add(OverrideRow(assignment=one.id, person=member.person, exercise=absent, points=2.0))
    session.flush()
    assert not cells_of(session, SECRET, one, [member])
    assert not work_in(session, SECRET, one, [member])
    present = next(name for name in NAMES if name in drawn)
    override(session, one, [Override(member.person, present, 1.0)], "Ada", "oral")
    cells = cells_of(session, SECRET, one, [member])
    assert total(cells, member.person, one) == 1.0


def test_statistics_count_those_who_have_the_exercise(session: Session) -> None:
    class_id, members = room(session, 40)
    one = assigned(session, class_id)
    for member in members:
        for entry in one.entries:
            answer(session, one, member, entry.exercise)
    found = {each.exercise: each for each in statistics_of(session, SECRET, one, members)}
    assert found["a/fixed"].students == 40
    assert sum(found[name].students for name in NAMES) == 80
    assert all(found[name].share == 1.0 for name in NAMES)
    given = given_in(session, SECRET, one, members[0])
    assert set(given) == set(one.drawn(members[0].learner))


def test_the_page_of_an_exercise_that_was_not_drawn_is_practice(session: Session) -> None:
    class_id, (member,) = room(session, 1)
    one = assigned(session, class_id, Policy(due=DUE, show_points=False))
    person = SignedIn(member.person, member.learner, member.name)
    works = works_at(session, SECRET, [person], [*NAMES, "a/fixed"], DUE - DAY)
    drawn = set(one.drawn(member.learner))
    assert {exercise for _, exercise in works} == drawn
    (work,) = works[member.person, "a/fixed"]
    assert {entry.exercise for entry in work.assignment.entries} == drawn
    hidden = veils(session, SECRET, [person], DUE - DAY)[member.person]
    assert {exercise for exercise, _ in hidden} == drawn


def test_any_drawing_counts_of_what_was_drawn_alone(session: Session) -> None:
    class_id, (member,) = room(session, 1)
    one = assigned(session, class_id, Policy(variants="many"))
    drawings, drawn = Drawings(SECRET, one), one.drawn(member.learner)
    for entry in one.entries:
        assert drawings.counts(member.learner, entry.exercise, 5) == (entry.exercise in drawn)


def test_a_copy_draws_the_same_and_so_does_a_copy_of_it(session: Session) -> None:
    class_id, members = room(session, 20)
    one, known = assigned(session, class_id), {"a/fixed", *NAMES}
    for _ in range(2):
        copies = copies_of(chosen_assignments(session, class_id), 1, ZoneInfo("UTC"), known)
        class_id = number_of(create_class(session, SECRET, "Again"))
        store_copies(session, class_id, copies)
        (copy,) = assignments_of(session, class_id)
        assert (copy.entries, copy.draws, copy.points) == (one.entries, (2,), 7.0)
        assert all(copy.drawn(m.learner) == one.drawn(m.learner) for m in members)


@each(
    ("known", "left", "draws"),
    [
        ({"a/fixed", "b/one"}, ["a/fixed", "b/one"], (1,)),
        ({"a/fixed"}, ["a/fixed"], ()),
        ({"b/one", "b/two", "b/three"}, ["b/one", "b/two", "b/three"], (2,)),
    ],
)
def test_a_copy_draws_no_more_than_the_course_still_has(
    session: Session, known: set[str], left: list[str], draws: tuple[int, ...]
) -> None:
    class_id, _ = room(session, 0)
    assigned(session, class_id)
    (copy,) = copies_of(chosen_assignments(session, class_id), 0, ZoneInfo("UTC"), known)
    assert ([entry.exercise for entry in copy.entries], copy.draws) == (left, draws)
    (other,) = (assignment_with(session, number) for number in store_copies(session, class_id, [copy]).values())
    assert other.draws == draws


@each(
    ("draws", "points", "says"),
    [
        ([0], 2.0, "pool 1 draws 0 of 4 exercises"),
        ([-1], 2.0, "draws -1 of 4 exercises"),
        ([5], 2.0, "draws 5 of 4 exercises"),
        ([2, 1], 2.0, "pool 2 has no exercises"),
        ([2], 1.0, "need the same points, not 1 and 2"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(session: Session, draws: list[int], points: float, says: str) -> None:
    class_id, _ = room(session, 0)
    entries = [FIXED, replace(POOL[0], points=points), *POOL[1:]]
    with pytest.raises(InputError, match=says):
        create_assignment(session, class_id, "Week 1", Policy(), entries, draws=draws)


def test_all_of_a_pool_may_be_drawn_and_an_assignment_may_be_pools_alone(session: Session) -> None:
    class_id, (member,) = room(session, 1)
    number = create_assignment(session, class_id, "Week 1", Policy(), POOL, draws=[4])
    one = assignment_with(session, number)
    assert (one.drawn(member.learner), one.points) == (set(NAMES), 8.0)


def test_the_version_changes_with_the_pools(session: Session) -> None:
    class_id, _ = room(session, 0)
    one = assigned(session, class_id)
    versions = {one.version}
    for draws in ([3], []):
        change_assignment(session, one.id, one.title, one.policy, one.entries, draws=draws)
        versions.add(assignment_with(session, one.id).version)
    assert len(versions) == 3
    assert {entry.pool for entry in assignment_with(session, one.id).entries} == {0}


def test_entries_that_are_sent_again_keep_their_pools_and_what_is_drawn(session: Session) -> None:
    class_id, _ = room(session, 0)
    stored = assigned(session, class_id)
    sent = [replace(one, pool=0) for one in stored.entries]
    assert entries_in_pools(sent, stored) == ([*stored.entries], [2])
    assert entries_in_pools(sent[:1], stored) == ([FIXED], [])


def test_an_assignment_is_found_by_its_own_number_alone(session: Session) -> None:
    class_id, _ = room(session, 0)
    first, second = assigned(session, class_id), assigned(session, class_id)
    assert assignment_numbered([first, second], second.id) == second
    for number in (0, first.id):
        with pytest.raises(NotFoundError, match=f"no assignment {number}"):
            assignment_numbered([second], number)
