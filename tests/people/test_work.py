"""What a student has of an assignment now: tries that are left, and what stays hidden until when."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, number_of
from app.classes.people.counted_answers import extend
from app.classes.people.members import put_into_group, set_time_factor
from app.classes.people.persons import new_person
from app.classes.people.policy import GroupDates, Policy, dates_of
from app.classes.people.work import StudentWork, own_seed, release_of, veils, works_at
from app.server.db.people import SittingRow
from app.server.db.tables import AttemptRow
from app.site.members import SignedIn
from tests.each import each

SECRET, RING, TREE = "a secret of sixteen characters and more", "collectives/ring-all-reduce-time", "collectives/tree"
DUE = datetime(2036, 10, 2, 21, 59, tzinfo=UTC)
SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


@pytest.fixture
def class_id(session: Session) -> int:
    return number_of(create_class(session, SECRET, "Systems"))


def member(session: Session, class_id: int, name: str, role: Role = Role.STUDENT) -> SignedIn:
    person = new_person(session, name)
    enroll(session, class_id, number_of(person), role).joined = DUE - 9 * DAY
    return SignedIn(number_of(person), person.learner, name)


def week(session: Session, class_id: int, policy: Policy, *groups: GroupDates) -> Assignment:
    entries = [AssignmentEntry(RING, 1.0), AssignmentEntry(TREE, 4.0)]
    return assignment_with(session, create_assignment(session, class_id, "Week", policy, entries, groups))


def answer(session: Session, one: SignedIn, seed: int, at: datetime, exercise: str = RING) -> None:
    row = AttemptRow(
        learner=one.learner, exercise=exercise, seed=seed, answer="1", correct=True, score=1.0, digest="", drawn="{}",
        at=at,
    )  # fmt: skip
    session.add(row)
    session.flush()


def work(session: Session, one: SignedIn, now: datetime, exercise: str = RING) -> StudentWork:
    (found,) = works_at(session, SECRET, [one], [exercise], now)[one.person, exercise]
    return found


@each(("variants", "tries"), [("own", 3), ("many", 3)])
def test_tries_are_answers_that_count_to_the_drawing_since_the_student_joined(
    session: Session, variants: str, tries: int
) -> None:
    class_id = number_of(create_class(session, SECRET, variants))
    ada, bo = member(session, class_id, "Ada"), member(session, class_id, "Bo")
    policy = Policy(opens=DUE - 20 * DAY, due=DUE, closes=DUE, grace=0, attempts=5, variants=variants)  # type: ignore[arg-type]
    seed = own_seed(SECRET, week(session, class_id, policy), RING, ada.learner) or 0
    for at in (DUE - 30 * DAY, DUE - 10 * DAY, DUE - DAY, DUE, DUE + SECOND):
        answer(session, ada, seed, at)
    answer(session, ada, seed + 1, DUE)
    answer(session, ada, seed, DUE, TREE)
    answer(session, bo, seed, DUE)
    found = work(session, ada, DUE)
    assert (found.tries, found.tries_left) == (tries, 5 - tries)


def test_an_answer_takes_a_try_while_it_counts_and_no_more_than_there_are(session: Session, class_id: int) -> None:
    ada = member(session, class_id, "Ada")
    week(session, class_id, Policy(due=DUE, closes=DUE, grace=0, attempts=1))
    found = work(session, ada, DUE)
    assert found.answered(1 + (found.seed or 0)) == found
    once = found.answered(found.seed or 0)
    assert (once.tries_left, once.answered(found.seed or 0).tries_left) == (0, 0)
    closed = work(session, ada, DUE + SECOND)
    assert closed.answered(found.seed or 0) == closed


@each(("variants", "same_for_two", "differs_from_the_class"), [("own", False, True), ("same", True, False)])
def test_a_seed_is_of_one_student_or_of_the_class(
    session: Session, class_id: int, variants: str, same_for_two: bool, differs_from_the_class: bool
) -> None:
    one = week(session, class_id, Policy(variants=variants))  # type: ignore[arg-type]
    ada, bo, nobody = (own_seed(SECRET, one, RING, learner) for learner in ("ada", "bo", ""))
    assert (ada == bo, ada != nobody) == (same_for_two, differs_from_the_class)


def test_points_stay_hidden_until_the_due_date_of_the_one_who_looks(session: Session, class_id: int) -> None:
    ada, bo, tom = member(session, class_id, "Ada"), member(session, class_id, "Bo"), member(session, class_id, "Tom")
    enroll(session, class_id, tom.person, Role.ASSISTANT)
    hidden = week(session, class_id, Policy(due=DUE, closes=DUE + DAY, show_points=False))
    week(session, class_id, Policy(due=DUE + 9 * DAY))
    extend(session, hidden.id, [bo.person], DUE + 2 * DAY)
    session.flush()

    def veiled(now: datetime) -> dict[str, int]:
        found = veils(session, SECRET, [ada, bo, tom], now)
        return {one.name: len(found[one.person]) for one in (ada, bo, tom)}

    assert veiled(DUE) == {"Ada": 2, "Bo": 2, "Tom": 0}
    assert veiled(DUE + SECOND) == {"Ada": 0, "Bo": 2, "Tom": 0}
    assert veiled(DUE + 2 * DAY + SECOND) == {"Ada": 0, "Bo": 0, "Tom": 0}


def test_a_solution_is_released_after_the_due_date_and_not_at_it(session: Session, class_id: int) -> None:
    ada = member(session, class_id, "Ada")
    week(session, class_id, Policy(due=DUE, closes=DUE + DAY))
    assert [work(session, ada, at).is_released for at in (DUE, DUE + SECOND)] == [False, True]


def test_an_exam_is_released_when_the_last_group_and_the_slowest_may_have_finished(
    session: Session, class_id: int
) -> None:
    policy = Policy(due=DUE, closes=DUE, sitting=60)
    one = week(session, class_id, policy, GroupDates(group="Mon", due=DUE + DAY, closes=DUE + DAY))
    own = dates_of(policy, began=DUE - 9 * DAY)
    assert release_of(one, own) == DUE + DAY
    assert release_of(replace(one, longest=1.5), own) == DUE + DAY + 30 * MINUTE
    assert release_of(replace(one, policy=Policy(), groups=()), dates_of(Policy())) is None
    assert release_of(one, replace(own, due=DUE + 3 * DAY, closes=DUE + 4 * DAY)) == DUE + 3 * DAY


def test_work_has_the_dates_of_the_group_the_extension_and_the_time_of_its_student(
    session: Session, class_id: int
) -> None:
    ada, bo, cy = (member(session, class_id, name) for name in ("Ada", "Bo", "Cy"))
    put_into_group(session, class_id, [bo.person], "Mon")
    homework = week(session, class_id, Policy(due=DUE), GroupDates(group="Mon", due=DUE + DAY))
    extend(session, homework.id, [cy.person], DUE + 2 * DAY)
    session.flush()
    found = [work(session, one, DUE) for one in (ada, bo, cy)]
    assert [(one.dates.due, one.extended) for one in found] == [
        (DUE, False), (DUE + DAY, False), (DUE + 2 * DAY, True),
    ]  # fmt: skip


def test_an_exam_runs_as_long_as_its_student_has(session: Session, class_id: int) -> None:
    ada, bo = member(session, class_id, "Ada"), member(session, class_id, "Bo")
    set_time_factor(session, enroll(session, class_id, bo.person), 1.5)
    exam = week(session, class_id, Policy(due=DUE, closes=DUE, sitting=60))
    assert [work(session, one, DUE - DAY).is_exam for one in (ada, bo)] == [False, False], "not begun"
    for one in (ada, bo):
        session.add(SittingRow(assignment=exam.id, person=one.person, began=DUE - DAY))
    session.flush()
    ends = [work(session, one, DUE - DAY + 61 * MINUTE) for one in (ada, bo)]
    assert [one.dates.closes for one in ends] == [DUE - DAY + 60 * MINUTE, DUE - DAY + 90 * MINUTE]
    assert [work(session, one, DUE - DAY + 70 * MINUTE).is_exam for one in (ada, bo)] == [False, True]
