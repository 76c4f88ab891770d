"""Figures of random classes: equal to those reckoned answer by answer, without a database's sums."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean
from typing import Any

import pytest
from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Member
from app.classes.people.counted_answers import dates_for, extend
from app.classes.people.exercise_statistics import ExerciseStatistics, statistics_of
from app.classes.people.policy import CountableAnswer, Policy, best_share
from app.server.db.people import OverrideRow, RegradeRow
from app.server.db.tables import AttemptRow
from tests.people.test_gradebook import DAY, DUE, NAMES, POLICIES, SECRET, answer, drawn_answer, own_seed, room

_POINTS = 2.0
Answers = Sequence[tuple[AttemptRow, RegradeRow | None]]
Numbers = tuple[float | None, ...]


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
@pytest.mark.parametrize("drawn", [0, 2], ids=["all", "pool"])
def test_the_figures_of_a_random_class_are_those_reckoned_answer_by_answer(
    session: Session, policy: Policy, drawn: int
) -> None:
    class_id, members = room(session, 9, str(policy.zone))
    entries = [AssignmentEntry(name, _POINTS, int(drawn > 0)) for name in NAMES]
    draws = [drawn] if drawn else []
    number = create_assignment(session, class_id, "Week 1", policy, entries, draws=draws)
    assignment = assignment_with(session, number)
    extend(session, number, [one.person for one in members[:3]], (policy.due or DUE) + 2 * DAY)
    draw = random.Random(POLICIES.index(policy))
    for member, name in itertools.product(members, NAMES):
        _answer_at_random(session, draw, assignment, member, name)
    found = {one.exercise: _numbers(one) for one in statistics_of(session, SECRET, assignment, members)}
    assert found.keys() == (expected := _reckoned(session, assignment, members)).keys()
    for key, numbers in expected.items():
        for one, other in zip(found[key], numbers, strict=True):
            assert (one is None) == (other is None), key
            assert one == pytest.approx(other or 0, abs=1e-9) or one is None, key
    assert found


def _numbers(one: ExerciseStatistics) -> Numbers:
    return one.students, one.first_try, one.answers, one.solved, one.share, one.discrimination


def _answer_at_random(session: Session, draw: random.Random, assignment: Assignment, member: Member, name: str) -> None:
    """Answers to two drawings, verdicts that were changed, and points by hand."""
    seed = own_seed(assignment, member.learner, name)
    for _ in range(draw.randrange(6)):
        one = drawn_answer(draw, assignment.policy.due or DUE)
        given = seed + draw.choice((0, 0, 0, 1))
        row = session.get(AttemptRow, answer(session, member.learner, name, given, one))
        assert row is not None
        if draw.random() < 0.2:
            right = draw.random() < 0.5
            regrade = RegradeRow(attempt=row.id or 0, digest="n", score=float(right), correct=right)
            session.add(regrade)
    if draw.random() < 0.15:
        points = draw.choice((0.0, 1.0, _POINTS))
        session.add(OverrideRow(assignment=assignment.id, person=member.person, exercise=name, points=points))
    session.flush()


def _reckoned(session: Session, assignment: Assignment, members: Sequence[Member]) -> Mapping[str, Numbers]:
    """The figures by exercise as they are described, from every row of the tables."""
    answers = {
        key: those for key in itertools.product(members, NAMES) if (those := _answers(session, assignment, *key))
    }
    points = dict(_points(session, assignment, members, answers))
    found = {}
    for name in NAMES:
        begun = {one: those for (one, exercise), those in answers.items() if exercise == name}
        if not begun:
            continue  # a pool may give it to nobody who answers
        hand = {one: points[one, name][0] == _POINTS for one in begun if points[one, name][2]}
        counted = [one for one in begun if points[one, name][1]]
        here = [points[one, name][0] for one in counted]
        rest = [sum(points[one, other][0] for other in NAMES if other != name) for one in counted]
        share = fmean(here) / _POINTS if here else None
        found[name] = (*_counts(begun, hand), share, _correlation(here, rest))
    return found


def _answers(session: Session, assignment: Assignment, member: Member, name: str) -> Answers:
    """The answers to the drawing that counts, each with whether it is right by the last verdict."""
    if assignment.draws and name not in assignment.drawn(member.learner):
        return []
    rows = session.exec(
        select(AttemptRow, RegradeRow)
        .outerjoin(RegradeRow, col(RegradeRow.attempt) == col(AttemptRow.id))
        .where(AttemptRow.learner == member.learner, AttemptRow.exercise == name)
        .order_by(col(AttemptRow.id))
    )
    own = own_seed(assignment, member.learner, name)
    return [(row, regrade) for row, regrade in rows if assignment.policy.variants == "many" or row.seed == own]


def _points(
    session: Session, assignment: Assignment, members: Sequence[Member], answers: Mapping[tuple[Member, str], Answers]
) -> Iterator[tuple[tuple[Member, str], tuple[float, int, bool]]]:
    """Points of each member in each exercise, the answers that count, and if they are by hand."""
    by_hand = {(one.person, one.exercise): one.points for one in session.exec(select(OverrideRow))}
    for member, name in itertools.product(members, NAMES):
        given = [
            CountableAnswer(row.at, new.score if new else row.score, row.hints, row.revealed)
            for row, new in answers.get((member, name), [])
        ]
        dates = dates_for(session, assignment, member.person)
        share = best_share(assignment.policy, dates, given)
        hand = by_hand.get((member.person, name))
        has = not assignment.draws or name in assignment.drawn(member.learner)
        earned = _POINTS * share.earned if hand is None else hand * has
        yield (member, name), (earned, share.tries, hand is not None)


def _counts(begun: Mapping[Any, Answers], hand: Mapping[Any, bool]) -> tuple[int, float, float, float]:
    rights = {one: [_is_right(*each) for each in those] for one, those in begun.items()}
    return (
        len(begun),
        fmean(those[0] for those in rights.values()),
        fmean(map(len, begun.values())),
        fmean(hand.get(one, any(those)) for one, those in rights.items()),
    )


def _is_right(row: AttemptRow, regrade: RegradeRow | None) -> bool:
    return (regrade.correct if regrade else row.correct) and not row.revealed


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    if len(xs) < 3 or len(set(xs)) == 1 or len({round(y, 6) for y in ys}) == 1:
        return None
    x, y = fmean(xs), fmean(ys)
    both = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return both / sqrt(sum((a - x) ** 2 for a in xs) * sum((b - y) ** 2 for b in ys))
