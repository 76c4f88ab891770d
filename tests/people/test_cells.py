"""What the database adds up is what the rules say of each answer, at each edge of them."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session

from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.cells import Cell
from app.classes.people.classes import create_class, enroll, members_of, number_of
from app.classes.people.counted_answers import extend
from app.classes.people.gradebook import best_answer_times, cells_of
from app.classes.people.persons import new_person
from app.classes.people.policy import CountableAnswer, Policy, best_share, dates_of
from app.server.db.tables import AttemptRow

SECRET, RING, TREE = "a secret of sixteen characters and more", "collectives/ring-all-reduce-time", "collectives/tree"
DUE = datetime(2036, 10, 2, 21, 59, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
POLICIES = (
    Policy(variants="many"),
    Policy(variants="many", due=DUE, closes=DUE, grace=0, late=0.5),
    Policy(variants="many", due=DUE, closes=DUE + DAY, late=0.5, attempts=2),
    Policy(variants="many", due=DUE, late=0.25),
    Policy(variants="many", opens=DUE - DAY, due=DUE, closes=DUE + 3 * DAY, late=0.5, grace=60, attempts=3),
    Policy(variants="many", due=DUE, hints="cost", hint_cost=0.25),
    Policy(variants="many", due=DUE, hints="cost", hint_cost=0.5, late=0.5, grace=0, closes=DUE + DAY),
)
EDGES = [
    days * DAY + seconds * SECOND for days in (-1, 0, 1, 2, 3) for seconds in (-1, 0, 1, 59, 60, 61, 299, 300, 301)
]


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_the_cells_of_a_class_are_those_of_its_answers_one_by_one(session: Session, policy: Policy) -> None:
    draw = random.Random(7)
    class_id = number_of(create_class(session, SECRET, "Systems"))
    persons = [new_person(session, f"Student {number}") for number in range(60)]
    for person in persons:
        enroll(session, class_id, number_of(person))
    number = create_assignment(
        session, class_id, "Week", policy, [AssignmentEntry(RING, 2.0), AssignmentEntry(TREE, 3.0)]
    )
    extended = {number_of(person) for person in persons[:3]}
    extend(session, number, sorted(extended), DUE + 2 * DAY)
    session.flush()
    expected: dict[tuple[int, str], Cell] = {}
    times: dict[tuple[int, str], datetime] = {}
    for person in persons:
        key = number_of(person)
        dates = dates_of(policy, DUE + 2 * DAY if key in extended else None)
        for exercise, points in ((RING, 2.0), (TREE, 3.0)):
            given = [
                CountableAnswer(
                    DUE + draw.choice(EDGES), draw.choice((0.0, 0.5, 1.0)), draw.randrange(6), draw.random() < 0.1
                )
                for _ in range(draw.randrange(4))
            ]
            given.sort(key=lambda one: one.at)
            for one in given:
                store(session, person.learner, exercise, one)
            share = best_share(policy, dates, given)
            if share.tries and share.at:
                expected[key, exercise] = Cell(points * share.earned, share.tries, share.late)
                times[key, exercise] = share.at
    assignment, members = assignment_with(session, number), members_of(session, class_id)
    assert expected
    assert cells_of(session, SECRET, assignment, members) == expected
    assert best_answer_times(session, SECRET, assignment, members) == times


def store(session: Session, learner: str, exercise: str, one: CountableAnswer) -> None:
    row = AttemptRow(
        learner=learner,
        exercise=exercise,
        seed=int(one.at.timestamp()) % 3,  # any drawing counts
        answer="1",
        correct=one.score == 1,
        score=one.score,
        hints=one.hints,
        revealed=one.revealed,
        digest="d",
        drawn="{}",
        at=one.at,
    )
    session.add(row)
    session.flush()
