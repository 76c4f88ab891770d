"""The points of a class: a pure function of what is stored, never a stored sum."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Select, func, literal, text
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.people import OverrideRow, RegradeRow
from app.db.tables import AttemptRow
from app.people.assignments import Assignment, dates_of_everyone
from app.people.classes import Member
from app.people.policy import CountableAnswer, Dates, best_share, dates_of
from app.people.variants import Drawings, former_learners

WHOLE = ""  # the exercise of an override that is of the whole assignment
_AT_ONCE = 1_000  # learners of a query: databases limit its parameters
_DRAWING = (col(AttemptRow.exercise), col(AttemptRow.learner), col(AttemptRow.seed))
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
    single = {one.learner for one in regraded.values()}
    single |= {learner for learner, person in persons.items() if person in dates}
    single = set(persons) if policy.attempts else persons.keys() & single
    rows = chain(
        _alike(session, assignment, general, persons.keys() - single),
        _one_by_one(session, assignment, single, regraded),
    )
    found: dict[Key, Cell] = {}
    for (learner, exercise), those in groupby(rows, itemgetter(0, 1)):
        person, own = persons[learner], drawings.only(learner, exercise)
        answers = [
            CountableAnswer(*answer) for _, _, seed, *answer in those if own is None or seed in own
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


def _one_by_one(
    session: Session,
    assignment: Assignment,
    learners: Collection[str],
    regraded: Mapping[int, "JudgedAgain"],
) -> Iterator[Sequence[Any]]:
    """What each of *learners* answered to each exercise, in order, by its latest verdict."""
    for row in _rows_of(session, assignment, learners, _ANSWERS):
        *drawing, number, at, score, hints, revealed = row
        score = regraded[number].score if number in regraded else score
        yield *drawing, at, score, hints, revealed


def _alike(
    session: Session, assignment: Assignment, dates: Dates, learners: Collection[str]
) -> Iterator[Sequence[Any]]:
    """What *learners*, who have the same *dates*, answered: one row for answers that are alike.

    There are as many rows as drawings, times two: for a class of 2,000, the database adds them up
    sooner than it could send them.
    """
    policy, at = assignment.policy, col(AttemptRow.at)
    hints = col(AttemptRow.hints) if policy.hints == "cost" else literal(0)
    first, last = dates.window(policy.grace)
    alike = (*_DRAWING, col(AttemptRow.revealed), col(AttemptRow.score))
    statement = (
        columns(
            col(AttemptRow.learner),
            col(AttemptRow.exercise),
            col(AttemptRow.seed),
            func.min(at).label("first"),
            col(AttemptRow.score),
            hints.label("aids"),
            col(AttemptRow.revealed),
            func.count(),
            func.max(at),
        )
        .where(~col(AttemptRow.carried), at >= first, at <= last)
        .group_by(*alike, *((hints,) if policy.hints == "cost" else ()))
        .order_by(col(AttemptRow.exercise), col(AttemptRow.learner), text("first"))
    )
    return _rows_of(session, assignment, learners, statement)


def _rows_of(
    session: Session,
    assignment: Assignment,
    learners: Collection[str],
    statement: Select[*tuple[Any, ...]],
) -> Iterator[Sequence[Any]]:
    """The rows of a *statement* on answers of *learners* in *assignment*."""
    exercises = [entry.exercise for entry in assignment.entries]
    whose = sorted(learners)
    for start in range(0, len(whose), _AT_ONCE):
        rows = statement.where(
            col(AttemptRow.learner).in_(whose[start : start + _AT_ONCE]),
            col(AttemptRow.exercise).in_(exercises),
        )
        yield from session.connection().execute(rows).all()


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
