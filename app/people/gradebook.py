"""The points of a class: a pure function of what is stored, never a stored sum."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.people import OverrideRow, RegradeRow
from app.db.tables import AttemptRow
from app.people.assignments import Assignment, dates_of_everyone
from app.people.classes import Member
from app.people.policy import CountableAnswer, best_share, dates_of
from app.people.variants import Drawings, former_learners

WHOLE = ""  # the exercise of an override that is of the whole assignment
_AT_ONCE = 100  # learners of a query: databases limit its parameters
_ANSWERS = (
    columns(
        col(AttemptRow.learner),
        col(AttemptRow.exercise),
        col(AttemptRow.seed),
        col(AttemptRow.id),
        col(AttemptRow.at),
        col(AttemptRow.score),
        col(AttemptRow.hints),
        col(AttemptRow.revealed),
    )
    .where(~col(AttemptRow.carried))
    .order_by(col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.id))
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The points of a person for an exercise; *tries*: the answers that count.

    *at* is when the answer that earned them was given.
    """

    points: float
    tries: int = 0
    late: bool = False
    overridden: bool = False
    at: datetime | None = None


_NO_ANSWER = Cell(0.0)
Key = tuple[int, str]  # a person, an exercise
Cells = Mapping[Key, Cell]


def gradebook_of(
    session: Session, secret: str, assignments: Iterable[Assignment], members: Sequence[Member]
) -> Mapping[int, Cells]:
    """The cells of *members* in each of *assignments*, by its number."""
    return {one.id: cells_of(session, secret, one, members) for one in assignments}


def cells_of(
    session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
) -> Cells:
    """The cells of *members* in an assignment; one without an answer that counts has none."""
    persons = {member.learner: member.person for member in members}
    points = {entry.exercise: entry.points for entry in assignment.entries}
    policy, dates = assignment.policy, dates_of_everyone(session, assignment)
    drawings = Drawings(secret, assignment.id, policy.variants, former_learners(session))
    general, regraded = dates_of(policy), judged_again(session, assignment)
    found: dict[Key, Cell] = {}
    for (learner, exercise), rows in _answers(session, assignment, persons):
        person, own = persons[learner], drawings.only(learner, exercise)
        answers = [
            CountableAnswer(
                at, regraded[number].score if number in regraded else score, hints, revealed
            )
            for _, _, seed, number, at, score, hints, revealed in rows
            if own is None or seed in own
        ]
        share = best_share(policy, dates.get(person, general), answers)
        if share.tries:
            earned = points[exercise] * share.earned
            found[person, exercise] = Cell(earned, share.tries, share.late, at=share.at)
    return {**found, **_overrides(session, assignment, set(persons.values()), found)}


def total(cells: Cells, person: int, assignment: Assignment) -> float:
    """The points of *person* in an assignment: those given by hand for all of it, or the sum."""
    if whole := cells.get((person, WHOLE)):
        return whole.points
    return sum(
        cells[person, entry.exercise].points
        for entry in assignment.entries
        if (person, entry.exercise) in cells
    )


def _answers(
    session: Session, assignment: Assignment, learners: Iterable[str]
) -> Iterator[tuple[tuple[str, str], Iterator[Any]]]:
    """What each of *learners* answered to each exercise, in order."""
    exercises = [entry.exercise for entry in assignment.entries]
    whose = sorted(learners)
    for start in range(0, len(whose), _AT_ONCE):
        rows = _ANSWERS.where(
            col(AttemptRow.learner).in_(whose[start : start + _AT_ONCE]),
            col(AttemptRow.exercise).in_(exercises),
        )
        yield from groupby(session.connection().execute(rows).all(), itemgetter(0, 1))


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """The verdict of an exercise that was mended on an attempt."""

    learner: str
    score: float
    correct: bool


def judged_again(session: Session, assignment: Assignment) -> Mapping[int, JudgedAgain]:
    """The latest regrades of answers to its exercises, by attempt."""
    statement = (
        columns(
            col(RegradeRow.attempt),
            col(AttemptRow.learner),
            col(RegradeRow.score),
            col(RegradeRow.correct),
        )
        .join_from(RegradeRow, AttemptRow, col(AttemptRow.id) == col(RegradeRow.attempt))
        .where(col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]))
        .order_by(col(RegradeRow.at))
    )
    rows = session.connection().execute(statement)
    return {
        attempt: JudgedAgain(learner, score, correct) for attempt, learner, score, correct in rows
    }


def points_by_hand(session: Session, assignment: Assignment) -> Mapping[Key, float]:
    """The points in an assignment that were given by hand, and hold."""
    last: dict[Key, float | None] = {}
    rows = select(OverrideRow).where(OverrideRow.assignment == assignment.id)
    for row in session.exec(rows.order_by(col(OverrideRow.id))):
        last[row.person, row.exercise] = row.points
    return {key: points for key, points in last.items() if points is not None}


def _overrides(session: Session, assignment: Assignment, persons: set[int], found: Cells) -> Cells:
    """The cells whose points were given by hand."""
    return {
        key: replace(found.get(key, _NO_ANSWER), points=points, overridden=True)
        for key, points in points_by_hand(session, assignment).items()
        if key[0] in persons
    }
