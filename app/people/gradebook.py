"""The points of a class: a pure function of what is stored, never a stored sum."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.people import OverrideRow, RegradeRow
from app.db.tables import AttemptRow
from app.people.assignments import Assignment, dates_of_everyone
from app.people.classes import Member
from app.people.policy import Answered, Dates, Policy, dates_of, share_of
from app.people.variants import variant_seed


@dataclass(frozen=True, slots=True)
class Cell:
    """The points of a person for an exercise; *tries*: answers to the drawings that count."""

    points: float
    tries: int = 0
    late: bool = False
    overridden: bool = False


Key = tuple[int, str]  # a person, an exercise
_Row = tuple[str, str, int, int, Answered]  # learner, exercise, seed, number, answer


def cells_of(
    session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
) -> Mapping[Key, Cell]:
    """The cells of *members* in an assignment; one without an answer has none."""
    persons = {member.learner: member.person for member in members}
    points = {entry.exercise: entry.points for entry in assignment.entries}
    seeds = _Seeds(secret, assignment)
    general = dates_of(assignment.policy)
    dates = dates_of_everyone(session, assignment)
    found: dict[Key, Cell] = {}
    rows = _rows(session, assignment, persons)
    for (learner, exercise), those in groupby(rows, key=lambda row: row[:2]):
        person = persons[learner]
        seed = seeds.of(learner, exercise)
        answers = [row[4] for row in those if seed is None or row[2] == seed]
        if answers:
            found[person, exercise] = _cell(
                assignment.policy, dates.get(person, general), answers, points[exercise]
            )
    return {**found, **_overrides(session, assignment, set(persons.values()), found)}


def total(cells: Mapping[Key, Cell], person: int, assignment: Assignment) -> float:
    """The points of *person* in an assignment."""
    return sum(
        cells[person, entry.exercise].points
        for entry in assignment.entries
        if (person, entry.exercise) in cells
    )


class _Seeds:
    """The seed whose answers count for a learner and an exercise; None: any."""

    def __init__(self, secret: str, assignment: Assignment) -> None:
        self._secret = secret
        self._assignment = assignment.id
        self._variants = assignment.policy.variants

    def of(self, learner: str, exercise: str) -> int | None:
        if self._variants == "many":
            return None
        whose = learner if self._variants == "own" else ""
        return variant_seed(self._secret, self._assignment, exercise, whose)


def _cell(policy: Policy, dates: Dates, answers: Sequence[Answered], points: float) -> Cell:
    share = share_of(policy, dates, answers)
    return Cell(points * share.earned, len(answers), share.late)


def _rows(session: Session, assignment: Assignment, persons: Mapping[str, int]) -> Sequence[_Row]:
    """The answers of *persons* to the exercises of an assignment, each pair's together."""
    regraded = _regraded(session, assignment)
    names = ("learner", "exercise", "seed", "id", "at", "score", "hints", "revealed")
    statement = (
        columns(*(getattr(AttemptRow, name) for name in names))
        .where(
            col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]),
            col(AttemptRow.learner).in_(list(persons)),
            ~col(AttemptRow.carried),
        )
        .order_by(col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.id))
    )
    rows = session.connection().execute(statement)
    return [
        (learner, exercise, seed, number, Answered(at, regraded.get(number, score), hints, shown))
        for learner, exercise, seed, number, at, score, hints, shown in rows
    ]


def _regraded(session: Session, assignment: Assignment) -> Mapping[int, float]:
    """The scores of the latest regrades of answers to its exercises, by attempt."""
    statement = (
        columns(col(RegradeRow.attempt), col(RegradeRow.score))
        .join_from(RegradeRow, AttemptRow, col(AttemptRow.id) == col(RegradeRow.attempt))
        .where(col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]))
        .order_by(col(RegradeRow.at))
    )
    return {row.attempt: row.score for row in session.connection().execute(statement)}


def _overrides(
    session: Session, assignment: Assignment, persons: set[int], found: Mapping[Key, Cell]
) -> Mapping[Key, Cell]:
    """The cells whose points were given by hand."""
    last: dict[Key, float | None] = {}
    rows = select(OverrideRow).where(OverrideRow.assignment == assignment.id)
    for row in session.exec(rows.order_by(col(OverrideRow.id))):
        if row.person in persons:
            last[row.person, row.exercise] = row.points
    given = {key: points for key, points in last.items() if points is not None}
    return {
        key: Cell(points, found[key].tries if key in found else 0, overridden=True)
        for key, points in given.items()
    }
