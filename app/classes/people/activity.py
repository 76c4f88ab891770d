"""What a class does: who has begun, tries, is stuck or has solved it, which ideas are wrong, how far all are."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from statistics import median
from typing import Any, Literal

from sqlalchemy import Select, case, func
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.classes.people.assignments import Assignment
from app.classes.people.cells import Cell, JudgedAgain, Key, judged_again
from app.classes.people.classes import Member, Role
from app.classes.people.counted_answers import Drawings, former_learners, since_joined
from app.classes.people.gradebook import cells_of, cells_of_person, points_by_hand, possible_in, total
from app.server.db.tables import AttemptRow

State = Literal["new", "trying", "stuck", "solved"]
STATES: tuple[State, ...] = ("new", "trying", "stuck", "solved")
_IN_A_ROW = 3  # wrong answers
_PAUSE = timedelta(minutes=10)  # since the last wrong answer
_DRAWING = (col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.seed))
_AT_ONCE = 1_000  # learners of a query: databases limit its parameters


@dataclass(slots=True, kw_only=True)
class ExerciseActivity:
    """What a person did for an exercise of an assignment.

    *first* is the number of the first answer, *right* that of the first right one; *mistakes* are
    the keys of the wrong ideas, and *seconds* is the longest time that the page was open.
    *by_hand*: whether points that were given by hand are all that there are; None: none were given.
    """

    person: int
    exercise: str
    tries: int = 0
    first: int = 0
    right: int | None = None
    seconds: float | None = None
    last: datetime | None = None
    mistakes: Counter[str] = field(default_factory=Counter)
    by_hand: bool | None = None

    @property
    def is_solved(self) -> bool:
        """Whether there is a right answer; points that were given by hand say so instead."""
        return self.right is not None if self.by_hand is None else self.by_hand

    def state(self, now: datetime) -> State:
        """How far this person is at *now*."""
        if self.is_solved:
            return "solved"
        if not self.tries:
            return "new"
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
) -> Sequence[ExerciseActivity]:
    """What *members* did for each exercise of *assignment* that they have begun.

    What counts is the latest verdict: a regrade, or points that were given by hand. With all of the
    points given by hand, an exercise is solved also without an answer.
    """
    persons = {member.learner: member.person for member in members}
    drawings = Drawings(secret, assignment, former_learners(session))
    found: dict[Key, ExerciseActivity] = {}
    again = judged_again(session, assignment)
    single = persons.keys() & {one.learner for one in again.values()}
    rows = chain(
        _counted_mistakes(session, assignment, persons.keys() - single), _rows_again(session, assignment, single, again)
    )
    for learner, exercise, seed, *answers in rows:
        if drawings.counts(learner, exercise, seed):
            key = persons[learner], exercise
            if key not in found:
                found[key] = ExerciseActivity(person=key[0], exercise=exercise)
            _add(found[key], *answers)
    _give(found, session, assignment, set(persons.values()))
    whose = {person: learner for learner, person in persons.items()}
    return [one for one in found.values() if drawings.has(whose[one.person], one.exercise)]


def exercise_figures(work: Iterable[ExerciseActivity]) -> Mapping[str, ExerciseFigures]:
    """The figures of each exercise that anyone has begun."""
    by_exercise: dict[str, list[ExerciseActivity]] = {}
    for one in work:
        by_exercise.setdefault(one.exercise, []).append(one)
    return {exercise: _figures(those) for exercise, those in by_exercise.items()}


def ideas_in(work: Iterable[ExerciseActivity]) -> Mapping[str, Mapping[str, int]]:
    """How many persons had each wrong idea, by exercise and key; the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for one in work:
        if one.mistakes:
            found.setdefault(one.exercise, Counter()).update(one.mistakes.keys())
    return {exercise: dict(counts.most_common()) for exercise, counts in found.items()}


def _figures(those: Sequence[ExerciseActivity]) -> ExerciseFigures:
    times = [one.seconds for one in those if one.seconds is not None and one.is_solved]
    begun = sum(one.tries > 0 for one in those)
    first_try = sum(one.tries > 0 and one.right == one.first for one in those)
    return ExerciseFigures(
        begun=begun,
        solved=sum(one.is_solved for one in those),
        first_try=first_try / begun if begun else 0.0,
        answers=sum(one.tries for one in those) / begun if begun else 0.0,
        seconds=median(times) if times else None,
    )


def _counted_mistakes(session: Session, assignment: Assignment, learners: Collection[str]) -> Iterator[Sequence[Any]]:
    """The answers to each drawing that were told the same mistake, counted."""
    own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
    counted = columns(
        *_DRAWING,
        col(AttemptRow.mistake),
        func.count(),
        func.min(col(AttemptRow.id)),
        func.min(case((own, col(AttemptRow.id)))),
        func.max(col(AttemptRow.seconds)),
        func.max(col(AttemptRow.at)),
    ).group_by(*_DRAWING, col(AttemptRow.mistake))
    yield from _mistake_rows(session, assignment, learners, counted)


def _rows_again(
    session: Session, assignment: Assignment, learners: Collection[str], again: Mapping[int, JudgedAgain]
) -> Iterator[Sequence[Any]]:
    """The answers of those who had one judged *again*, each by its latest verdict."""
    names = ("mistake", "id", "correct", "revealed", "seconds", "at")
    each = columns(*_DRAWING, *(getattr(AttemptRow, name) for name in names))
    for row in _mistake_rows(session, assignment, learners, each):
        *drawing, mistake, number, correct, revealed, seconds, at = row
        right = again[number].correct if number in again else correct
        own = number if right and not revealed else None
        yield *drawing, None if right else mistake, 1, number, own, seconds, at


def _mistake_rows(
    session: Session, assignment: Assignment, learners: Collection[str], statement: Select[*tuple[Any, ...]]
) -> Iterator[Sequence[Any]]:
    wanted, exercises = sorted(learners), [entry.exercise for entry in assignment.entries]
    for start in range(0, len(wanted), _AT_ONCE):
        these = statement.where(
            col(AttemptRow.exercise).in_(exercises),
            col(AttemptRow.learner).in_(wanted[start : start + _AT_ONCE]),
            ~col(AttemptRow.carried),
            *since_joined(assignment),
        )
        yield from session.connection().execute(these).all()


def _give(
    found: dict[Key, ExerciseActivity], session: Session, assignment: Assignment, persons: Collection[int]
) -> None:
    """Add to the work *found* the points of *persons* that were given by hand."""
    most = {entry.exercise: entry.points for entry in assignment.entries}
    for key, points in points_by_hand(session, assignment).items():
        person, exercise = key
        if person not in persons or exercise not in most:
            continue
        given = points >= most[exercise]
        if given or key in found:
            work = found.setdefault(key, ExerciseActivity(person=person, exercise=exercise))
            work.by_hand = given


def _add(
    work: ExerciseActivity,
    mistake: str | None,
    count: int,
    first: int,
    right: int | None,
    seconds: float | None,
    last: datetime,
) -> None:
    """Add the answers that were told *mistake*."""
    work.tries += count
    if not work.first or first < work.first:
        work.first = first
    if right is not None and (work.right is None or right < work.right):
        work.right = right
    if seconds is not None and (work.seconds is None or seconds > work.seconds):
        work.seconds = seconds
    if work.last is None or last > work.last:
        work.last = last
    if mistake:
        work.mistakes[mistake] += count


@dataclass(frozen=True, slots=True)
class Turnout:
    """The students who have *begun* an assignment, and who have answered *all* of it.

    *mean*: the share of its points that those who began have, 0 to 1.
    """

    students: int
    begun: int
    all: int
    mean: float


def turnouts(
    session: Session, secret: str, assignments: Sequence[Assignment], members: Sequence[Member]
) -> Mapping[int, Turnout]:
    """The turnout of each of *assignments*, by its number."""
    students = [member for member in members if member.role is Role.STUDENT]
    return {one.id: _turnout(one, students, cells_of(session, secret, one, students)) for one in assignments}


def _turnout(assignment: Assignment, students: Sequence[Member], cells: Mapping[Key, Cell]) -> Turnout:
    counts = [len(cells_of_person(cells, one.person, assignment)) for one in students]
    begun = [one.person for one, count in zip(students, counts, strict=True) if count]
    possible = sum(possible_in(cells, person, assignment) for person in begun)
    return Turnout(
        students=len(students),
        begun=len(begun),
        all=counts.count(assignment.length),
        mean=sum(total(cells, person, assignment) for person in begun) / possible if possible else 0.0,
    )
