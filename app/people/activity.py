"""What a class does: who has begun, tries, is stuck or has solved it, and which ideas are wrong."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Literal

from sqlalchemy import case, func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.db.tables import AttemptRow
from app.people.assignments import Assignment
from app.people.classes import Member
from app.people.variants import Drawings

State = Literal["new", "trying", "stuck", "solved"]
STATES: tuple[State, ...] = ("new", "trying", "stuck", "solved")
_IN_A_ROW = 3  # wrong answers
_PAUSE = timedelta(minutes=10)  # since the last wrong answer
_AT_ONCE = 1_000  # learners of a query: databases limit its parameters


@dataclass(slots=True, kw_only=True)
class Work:
    """What a person did for an exercise of an assignment.

    *first* is the number of the first answer, *right* that of the first right one; *mistakes* are
    the keys of the wrong ideas, and *seconds* is the longest time that the page was open.
    """

    person: int
    exercise: str
    tries: int = 0
    first: int = 0
    right: int | None = None
    seconds: float | None = None
    last: datetime | None = None
    mistakes: Counter[str] = field(default_factory=Counter)

    def state(self, now: datetime) -> State:
        """How far this person is at *now*."""
        if self.right is not None:
            return "solved"
        waits = self.last is not None and now - self.last >= _PAUSE
        return "stuck" if self.tries >= _IN_A_ROW or waits else "trying"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseFigures:
    """How a class does with an exercise; the shares are of those who *begun*, 0 to 1."""

    begun: int
    solved: int
    first_try: float
    answers: float
    seconds: float | None


def work_in(
    session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
) -> Sequence[Work]:
    """What *members* did for each exercise of *assignment* that they have begun."""
    persons = {member.learner: member.person for member in members}
    drawings = Drawings(secret, assignment.id, assignment.policy.variants)
    found: dict[tuple[str, str], Work] = {}
    learners = sorted(persons)
    for start in range(0, len(learners), _AT_ONCE):
        for row in _rows(session, assignment, learners[start : start + _AT_ONCE]):
            learner, exercise, seed = row[:3]
            if drawings.counts(learner, exercise, seed):
                work = found.get((learner, exercise))
                if work is None:
                    work = Work(person=persons[learner], exercise=exercise)
                    found[learner, exercise] = work
                _add(work, *row[3:])
    return list(found.values())


def figures_of(work: Iterable[Work]) -> Mapping[str, ExerciseFigures]:
    """The figures of each exercise that anyone has begun."""
    by_exercise: dict[str, list[Work]] = {}
    for one in work:
        by_exercise.setdefault(one.exercise, []).append(one)
    return {exercise: _figures(those) for exercise, those in by_exercise.items()}


def ideas_in(work: Iterable[Work]) -> Mapping[str, Mapping[str, int]]:
    """How many persons had each wrong idea, by exercise and key; the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for one in work:
        if one.mistakes:
            found.setdefault(one.exercise, Counter()).update(one.mistakes.keys())
    return {exercise: dict(counts.most_common()) for exercise, counts in found.items()}


def _figures(those: Sequence[Work]) -> ExerciseFigures:
    times = [one.seconds for one in those if one.seconds is not None and one.right is not None]
    return ExerciseFigures(
        begun=len(those),
        solved=sum(one.right is not None for one in those),
        first_try=sum(one.right == one.first for one in those) / len(those),
        answers=sum(one.tries for one in those) / len(those),
        seconds=median(times) if times else None,
    )


def _rows(session: Session, assignment: Assignment, learners: Sequence[str]) -> Sequence[Any]:
    own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
    cell = (col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.seed))
    statement = (
        columns(
            *cell,
            col(AttemptRow.mistake),
            func.count(),
            func.min(col(AttemptRow.id)),
            func.min(case((own, col(AttemptRow.id)))),
            func.max(col(AttemptRow.seconds)),
            func.max(col(AttemptRow.at)),
        )
        .where(
            col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]),
            col(AttemptRow.learner).in_(learners),
            ~col(AttemptRow.carried),
        )
        .group_by(*cell, col(AttemptRow.mistake))
    )
    return session.connection().execute(statement).all()


def _add(
    work: Work,
    mistake: str | None,
    count: int,
    first: int,
    right: int | None,
    seconds: float | None,
    last: datetime,
) -> None:
    """Add the answers that were told *mistake*."""
    work.tries += count
    work.first = min(work.first or first, first)
    work.right = min((one for one in (work.right, right) if one is not None), default=None)
    work.seconds = max((one for one in (work.seconds, seconds) if one is not None), default=None)
    work.last = max(work.last or last, last)
    if mistake:
        work.mistakes[mistake] += count
