"""Points: the pages of a class add up what the rules say of each answer."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, members_of
from app.classes.people.counted_answers import begin_sitting, dates_for, extend, variant_seed
from app.classes.people.gradebook import (
    WHOLE,
    GradeRule,
    Override,
    best_answer_times,
    cells_of,
    change_grade_rule,
    grades_of,
    override,
    total,
)
from app.classes.people.members import put_into_group
from app.classes.people.policy import CountableAnswer, Policy, best_share
from app.server.db.people import ClassRow, MemberRow, OverrideRow, PersonRow, RegradeRow
from app.server.db.tables import AttemptRow

SECRET = "s"
DUE = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
NAMES = ("a/one", "a/two", "b/three")
POLICIES = (
    Policy(due=DUE, closes=DUE + 3 * DAY, late=0.1),
    Policy(opens=DUE - 2 * DAY, due=DUE, closes=DUE + DAY, late=0.25, variants="same"),
    Policy(due=DUE, attempts=2),
    Policy(due=DUE, late=0.3, hints="cost", hint_cost=0.2),
    Policy(variants="many"),
    Policy(opens=DUE - 4 * DAY, due=DUE, sitting=90, closes=DUE + DAY),
    Policy(due=DUE, late=0.5, attempts=3, variants="many", hints="cost"),
    Policy(due=DUE, late=0.001),
    Policy(due=DUE, late=0.1, grace=2 * 86_400, closes=DUE + 5 * DAY, hints="cost", hint_cost=0.7),
    # Clocks go back on October 25: a day late has 25 hours, and one ends in an hour that comes twice.
    Policy(zone=BERLIN, due=datetime(2026, 10, 23, 21, 59, tzinfo=UTC), late=0.1),
    Policy(zone=BERLIN, due=datetime(2026, 10, 23, 0, 30, tzinfo=UTC), late=0.1, attempts=4),
)


def room(session: Session, people: int, zone: str = "UTC") -> tuple[int, list[Member]]:
    """A class of *people* students."""
    made = ClassRow(name="Systems", zone=zone, join_digest=f"{random.getrandbits(128):032x}")
    persons = [PersonRow(learner=f"{random.getrandbits(128):032x}") for _ in range(people)]
    session.add_all([made, *persons])
    session.flush()
    for person in persons:
        session.add(MemberRow(class_id=made.id or 0, person=person.id or 0, joined=DUE - 99 * DAY))
    session.flush()
    return made.id or 0, list(members_of(session, made.id or 0))


def assigned(session: Session, class_id: int, policy: Policy) -> Assignment:
    entries = [AssignmentEntry(name, points) for name, points in zip(NAMES, (1.0, 2.0, 4.0), strict=True)]
    return assignment_with(session, create_assignment(session, class_id, "Week 1", policy, entries))


def own_seed(assignment: Assignment, learner: str, exercise: str) -> int:
    whose = learner if assignment.policy.variants == "own" else ""
    return variant_seed(SECRET, assignment.id, exercise, whose)


def answer(session: Session, learner: str, exercise: str, seed: int, one: CountableAnswer) -> int:
    row = AttemptRow(
        learner=learner,
        exercise=exercise,
        seed=seed,
        answer="x",
        correct=one.score == 1,
        score=one.score,
        hints=one.hints,
        revealed=one.revealed,
        digest="old",
        drawn="{}",
        at=one.at,
    )
    session.add(row)
    session.flush()
    return row.id or 0


def drawn_answer(draw: random.Random, due: datetime) -> CountableAnswer:
    return CountableAnswer(
        due + timedelta(hours=draw.uniform(-100, 100)),
        draw.choice((0.0, 0.0, 0.5, 1.0)),
        draw.randrange(3),
        draw.random() < 0.1,
    )


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_the_gradebook_adds_up_what_the_rules_say_of_each_answer(session: Session, policy: Policy) -> None:
    draw, due = random.Random(7), policy.due or DUE
    class_id, members = room(session, 12, str(policy.zone))
    assignment = assigned(session, class_id, policy)
    extend(session, assignment.id, [one.person for one in members[:3]], due + 2 * DAY)
    for member in members[2:6]:
        begin_sitting(session, assignment.id, member.person)
    expected, times = {}, {}
    for member in members:
        for entry in assignment.entries:
            seed = own_seed(assignment, member.learner, entry.exercise)
            answers = sorted(drawn_answer(draw, due) for _ in range(draw.randrange(7)))
            for one in answers:
                answer(session, member.learner, entry.exercise, seed, one)
                answer(session, f"x{member.learner}"[:32], entry.exercise, seed, one)
            if policy.variants != "many":
                other = drawn_answer(draw, due)._replace(score=1.0)
                answer(session, member.learner, entry.exercise, seed + 1, other)
            dates = dates_for(session, assignment, member.person)
            share = best_share(policy, dates, answers)
            if share.tries:
                cell = Cell(share.earned * entry.points, share.tries, share.late)
                expected[member.person, entry.exercise] = cell
                times[member.person, entry.exercise] = share.at
    assert cells_of(session, SECRET, assignment, members) == expected
    assert best_answer_times(session, SECRET, assignment, members) == times
    assert len(expected) > 4
    assert any(cell.points for cell in expected.values())


def test_points_by_hand(session: Session) -> None:
    policy = Policy(due=DUE, closes=DUE + 3 * DAY, late=0.1)
    class_id, (member, other) = room(session, 2)
    assignment = assigned(session, class_id, policy)

    def gives(exercise: str, at: datetime, score: float) -> int:
        seed = own_seed(assignment, member.learner, exercise)
        one = CountableAnswer(at, score, 0, revealed=False)
        return answer(session, member.learner, exercise, seed, one)

    gives("a/one", DUE + timedelta(seconds=300), 1)  # the last second of the grace
    gives("a/two", DUE - HOUR, 0.5)
    gives("a/two", DUE + 26 * HOUR, 1)  # two days begun: 0.8 of 2 points
    broken = gives("b/three", DUE - HOUR, 0)
    gives("b/three", DUE + 3 * DAY + timedelta(seconds=301), 1)  # after the close
    cells = cells_of(session, SECRET, assignment, [member, other])
    shown = {name: cells[member.person, name] for name in NAMES}
    assert shown == {
        "a/one": Cell(1.0, 1, late=False),
        "a/two": Cell(1.6, 2, late=True),
        "b/three": Cell(0.0, 1, late=False),
    }
    assert total(cells, member.person, assignment) == pytest.approx(2.6)
    assert total(cells, other.person, assignment) == 0

    session.add(RegradeRow(attempt=broken, digest="new", score=0.75, correct=False))
    session.flush()
    cells = cells_of(session, SECRET, assignment, [member, other])
    assert cells[member.person, "b/three"] == Cell(3.0, 1)

    def by_hand(points: float | None) -> None:
        session.add(OverrideRow(assignment=assignment.id, person=member.person, exercise="b/three", points=points))
        session.flush()

    by_hand(1.5)
    by_hand(2.5)
    cells = cells_of(session, SECRET, assignment, [member, other])
    assert cells[member.person, "b/three"] == Cell(2.5, 1, overridden=True)
    by_hand(None)
    cells = cells_of(session, SECRET, assignment, [member, other])
    assert cells[member.person, "b/three"] == Cell(3.0, 1)


def test_grades_are_described_with_the_group_and_without_the_lowest(session: Session) -> None:
    class_id, (member, other) = room(session, 2)
    weeks = [assigned(session, class_id, Policy()) for _ in range(2)]
    put_into_group(session, class_id, [member.person], "Mon")
    override(session, weeks[0], [Override(member.person, WHOLE, 3.5)], "Grace", "oral")
    change_grade_rule(session, session.get_one(ClassRow, class_id), GradeRule(1, {}))
    described = {one["number"]: one for one in grades_of(session, SECRET, class_id).described()["people"]}  # type: ignore[attr-defined]
    assert [described[one.person]["group"] for one in (member, other)] == ["Mon", ""]
    assert [described[one.person]["overall_percent"] for one in (member, other)] == [50.0, 0.0]
    assert [one.person for one in grades_of(session, SECRET, class_id, "Mon").members] == [member.person]


def test_points_by_hand_for_what_was_not_drawn_are_none(session: Session) -> None:
    class_id, (member, _) = room(session, 2)
    entries = [AssignmentEntry(name, 1.0, pool=1) for name in NAMES]
    one = assignment_with(session, create_assignment(session, class_id, "Pool", Policy(), entries, draws=[1]))
    for name in (*NAMES, WHOLE):
        session.add(OverrideRow(assignment=one.id, person=member.person, exercise=name, points=1.0))
    session.flush()
    cells = cells_of(session, SECRET, one, [member])
    assert {exercise for _, exercise in cells} == {*one.drawn(member.learner), WHOLE}
