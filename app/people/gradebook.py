"""The points of a class: a pure function of what is stored, never a stored sum."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, case, func, literal, null
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.people import OverrideRow, RegradeRow
from app.db.tables import AttemptRow
from app.people.assignments import Assignment, dates_of_everyone
from app.people.classes import Member
from app.people.policy import Answered, Dates, Policy, dates_of, share_of, tries_of, worth
from app.people.variants import Drawings

WHOLE = ""  # the exercise of an override that is of the whole assignment
_AT_ONCE = 1_000  # learners of a query: databases limit its parameters


@dataclass(frozen=True, slots=True)
class Cell:
    """The points of a person for an exercise; *tries*: the answers that count."""

    points: float
    tries: int = 0
    late: bool = False
    overridden: bool = False


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
    """The cells of *members* in an assignment; one without an answer that counts has none.

    The database finds the best answer in time, and only late ones are looked at one by one; but
    for those who have dates of their own, or an answer that was judged again.
    """
    persons = {member.learner: member.person for member in members}
    dates = dates_of_everyone(session, assignment)
    regraded = judged_again(session, assignment)
    whose = {score.learner for score in regraded.values()}
    single = [learner for learner, person in persons.items() if person in dates or learner in whose]
    book = _Book(session, secret, assignment, persons)
    found = dict(book.best(persons.keys() - set(single)))
    found |= book.judged(single, dates, {number: one.score for number, one in regraded.items()})
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


@dataclass(frozen=True, slots=True)
class _Book:
    """What was answered in an assignment."""

    session: Session
    secret: str
    assignment: Assignment
    persons: Mapping[str, int]

    @property
    def _points(self) -> Mapping[str, float]:
        return {entry.exercise: entry.points for entry in self.assignment.entries}

    def best(self, learners: Iterable[str]) -> Iterator[tuple[Key, Cell]]:
        """The cells of those for whom the dates of everyone hold."""
        policy, dates = self.assignment.policy, dates_of(self.assignment.policy)
        if dates.waits:  # an exam that they have not begun
            return
        seeds = Drawings(self.secret, self.assignment.id, self.assignment.policy.variants)
        found: dict[tuple[str, str], tuple[float, int, bool]] = {}
        for learner, exercise, seed, late, score, count in self._rows(learners, _best, policy):
            if not seeds.counts(learner, exercise, seed):
                continue
            best, tries, is_late = found.get((learner, exercise), (0.0, 0, False))
            if score > best:  # it is worth looking at
                part = 1.0 if late is None else worth(policy, dates, late)
                if score * part > best:
                    best, is_late = score * part, part < 1.0
            found[learner, exercise] = best, tries + count, is_late
        points = self._points
        for (learner, exercise), (best, tries, is_late) in found.items():
            yield (self.persons[learner], exercise), Cell(points[exercise] * best, tries, is_late)

    def judged(
        self, learners: Iterable[str], dates: Mapping[int, Dates], regraded: Mapping[int, float]
    ) -> Iterator[tuple[Key, Cell]]:
        """The cells of those whose answers are looked at one by one."""
        policy, general = self.assignment.policy, dates_of(self.assignment.policy)
        seeds = Drawings(self.secret, self.assignment.id, self.assignment.policy.variants)
        found: dict[tuple[str, str], list[tuple[int, Answered]]] = {}
        for learner, exercise, seed, number, *answered in self._rows(learners, _each, policy):
            if seeds.counts(learner, exercise, seed):
                at, score, hints, revealed = answered
                one = Answered(at, regraded.get(number, score), hints, revealed)
                found.setdefault((learner, exercise), []).append((number, one))
        points = self._points
        for (learner, exercise), those in found.items():
            person = self.persons[learner]
            those.sort(key=itemgetter(0))
            answers = [one for _, one in those]
            whole, own = points[exercise], dates.get(person, general)
            if tries := tries_of(policy, own, answers):
                share = share_of(policy, own, answers)
                yield (person, exercise), Cell(whole * share.earned, tries, share.late)

    def _rows(
        self,
        learners: Iterable[str],
        statement: Callable[[Policy, ColumnElement[bool]], Select[Any]],
        policy: Policy,
    ) -> Iterator[Any]:
        wanted, connection = sorted(learners), self.session.connection()
        exercises = [entry.exercise for entry in self.assignment.entries]
        for start in range(0, len(wanted), _AT_ONCE):
            some = col(AttemptRow.learner).in_(wanted[start : start + _AT_ONCE])
            here = col(AttemptRow.exercise).in_(exercises) & ~col(AttemptRow.carried)
            these = statement(policy, some & here)
            yield from connection.execute(these).all()


_DRAWING = (col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.seed))


def _each(_: Policy, which: ColumnElement[bool]) -> Select[Any]:
    """The answers, one by one."""
    names = ("id", "at", "score", "hints", "revealed")
    return columns(*_DRAWING, *(getattr(AttemptRow, name) for name in names)).where(which)


def _best(policy: Policy, which: ColumnElement[bool]) -> Select[Any]:
    """The best score in time of each drawing, and each that was late, of the answers that count."""
    at, grace = col(AttemptRow.at), timedelta(seconds=policy.grace)
    score = case((col(AttemptRow.revealed), literal(0.0)), else_=_unaided(policy))
    late = case(((at > policy.due + grace) & (score > 0), at)) if policy.due else null()
    window = [at >= policy.opens] if policy.opens else []
    window += [at <= policy.closes + grace] if policy.closes else []
    place = func.row_number().over(partition_by=_DRAWING, order_by=col(AttemptRow.id))
    found = (
        columns(*_DRAWING, late.label("late"), score.label("score"))
        .add_columns(*([place.label("place")] if policy.attempts else []))
        .where(which, *window)
        .subquery()
    )
    group = (found.c.learner, found.c.exercise, found.c.seed, found.c.late)
    counted = [found.c.place <= policy.attempts] if policy.attempts else []
    best = columns(*group, func.max(found.c.score), func.count())
    return best.where(*counted).group_by(*group)


def _unaided(policy: Policy) -> SQLColumnExpression[float]:
    """The score, less what the hints cost."""
    score = col(AttemptRow.score)
    if policy.hints != "cost":
        return score
    left = 1.0 - policy.hint_cost * col(AttemptRow.hints)
    return score * case((left > 0, left), else_=literal(0.0))


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
        key: Cell(points, found[key].tries if key in found else 0, overridden=True)
        for key, points in points_by_hand(session, assignment).items()
        if key[0] in persons
    }
