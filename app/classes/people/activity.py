"""What a class does: who has begun, tries, is stuck or has solved it, which ideas are wrong, how far all are."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, islice
from statistics import median
from typing import Any, Literal

from sqlalchemy import URL, ColumnElement, Select, case, func, null
from sqlalchemy import select as columns
from sqlalchemy.types import NullType
from sqlmodel import Session, col

from app.classes.people.assignments import Assignment
from app.classes.people.cells import Cell, JudgedAgain, Key, judged_again
from app.classes.people.classes import Member, Role
from app.classes.people.counted_answers import Drawings, Former, former_learners, since_joined
from app.classes.people.gradebook import cells_of, cells_of_person, points_by_hand, possible_in, total
from app.server.db.tables import AttemptRow

State = Literal["new", "trying", "stuck", "solved"]
STATES: tuple[State, ...] = ("new", "trying", "stuck", "solved")
_IN_A_ROW = 3  # wrong answers
_PAUSE = timedelta(minutes=10)  # since the last wrong answer
_DRAWING = (col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.seed))
_RIGHT = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
_FIRST = (func.count(), func.min(col(AttemptRow.id)))
# The answers to each drawing that were told the same mistake.
_MISTAKES = columns(
    *_DRAWING,
    col(AttemptRow.mistake),
    *_FIRST,
    func.min(case((_RIGHT, col(AttemptRow.id)))),
    func.max(col(AttemptRow.seconds)),
    func.max(col(AttemptRow.at)),
).group_by(*_DRAWING, col(AttemptRow.mistake))
# All answers to each drawing, in the order of the index, which has all but `correct`: what is right has a score, and
# asked first, that spares SQLite a look at the row of what is not.
_TRIES = columns(
    *_DRAWING,
    null(),
    *_FIRST,
    func.min(case(((col(AttemptRow.score) > 0) & _RIGHT, col(AttemptRow.id)))),
    null(),
    null(),
).group_by(col(AttemptRow.exercise), col(AttemptRow.learner), col(AttemptRow.seed))
_AT_ONCE = 1_000  # learners of a query: databases limit its parameters
_KEPT, _MOST_KEPT = 8, 16_384  # assignments, and exercises of learners in each, of which is kept what was found


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
    """What *members* did for each exercise of *assignment* that they have begun, for reading.

    What counts is the latest verdict: a regrade, or points that were given by hand. With all of the
    points given by hand, an exercise is solved also without an answer.

    The screen of a class asks every few seconds. The answers of those of whom all is as it was the
    last time are not read again: see `_facts_of`.
    """
    persons = {member.learner: member.person for member in members}
    former, again = former_learners(session), judged_again(session, assignment)
    drawings = Drawings(secret, assignment, former)
    known = _known(session.connection().engine.url, secret, assignment)
    facts = _facts_of(session, assignment, persons, former, again)  # before the answers: these are not older
    work = {learner: own for learner, all_of in facts.items() if (own := known.get(learner)) and own.facts == all_of}
    changed = facts.keys() - work.keys()
    read = _answered(session, assignment, drawings, {one: persons[one] for one in changed}, again, _MISTAKES)
    work |= {learner: _LearnerActivity(facts[learner], read.get(learner, ())) for learner in changed}
    room = max(1, _MOST_KEPT // len(assignment.entries))
    if len(known.keys() | work.keys()) > room:
        known.clear()
    known.update(islice(work.items(), room))
    found = {(one.person, one.exercise): one for own in work.values() for one in own.activities}
    _give(found, session, assignment, drawings, {person: learner for learner, person in persons.items()})
    return list(found.values())


def tries_in(
    session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
) -> Sequence[ExerciseActivity]:
    """The same without mistakes and times, which takes less where nothing of it was read before."""
    persons = {member.learner: member.person for member in members}
    former, again = former_learners(session), judged_again(session, assignment)
    drawings = Drawings(secret, assignment, former)
    read = _answered(session, assignment, drawings, persons, again, _TRIES)
    found = {(one.person, one.exercise): one for own in read.values() for one in own}
    _give(found, session, assignment, drawings, {person: learner for learner, person in persons.items()})
    return list(found.values())


def exercise_figures(work: Iterable[ExerciseActivity]) -> Mapping[str, ExerciseFigures]:
    """The figures of each exercise that anyone has begun."""
    return {exercise: _figures(those) for exercise, those in group_by_exercise(work).items()}


def group_by_exercise(work: Iterable[ExerciseActivity]) -> Mapping[str, Sequence[ExerciseActivity]]:
    """The *work* on each exercise that anyone has begun."""
    found: defaultdict[str, list[ExerciseActivity]] = defaultdict(list)
    for one in work:
        found[one.exercise].append(one)
    return found


def ideas_in(work: Iterable[ExerciseActivity]) -> Mapping[str, Mapping[str, int]]:
    """How many persons had each wrong idea, by exercise and key; the most frequent first."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in work:
        for mistake in one.mistakes:
            found[one.exercise][mistake] += 1
    return {
        exercise: dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        for exercise, counts in found.items()
    }


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


@dataclass(frozen=True, slots=True)
class _LearnerActivity:
    """What a learner did in an assignment, and the *facts* that it follows from."""

    facts: Sequence[object]
    activities: Sequence[ExerciseActivity]


@lru_cache(_KEPT)
def _known(database: URL, secret: str, assignment: Assignment) -> dict[str, _LearnerActivity]:
    """What was found last of each learner in *assignment* with all of its rules; `work_in` fills it."""
    return {}


def _facts_of(
    session: Session,
    assignment: Assignment,
    persons: Mapping[str, int],
    former: Former,
    again: Mapping[int, JudgedAgain],
) -> Mapping[str, Sequence[object]]:
    """Of each learner with answers that may count: what their activity follows from, in an assignment as it is.

    Answers are added, deleted, and given to another learner, by whichever server, but never changed. So the
    activity is the same if their number, the sum of their numbers, and the last one's number and time are: a
    number is used again only after it was deleted, at another time. The rest is compared as it is.
    """
    judged: dict[str, list[tuple[int, bool]]] = {}
    for number, one in again.items():
        judged.setdefault(one.learner, []).append((number, one.correct))
    found: dict[str, Sequence[object]] = {}
    for these in _countable(assignment, persons):
        each = (
            columns(  # in the order of an index that has all of this
                col(AttemptRow.learner),
                func.count().label("count"),
                func.sum(col(AttemptRow.id)).label("sum"),
                func.max(col(AttemptRow.id)).label("last"),
                func.max(col(AttemptRow.at), type_=NullType()).label("at"),
            )
            .where(*these)
            .group_by(col(AttemptRow.exercise), col(AttemptRow.learner))
            .subquery()
        )
        sums = [func.sum(each.c.count), func.sum(each.c.sum), func.max(each.c.last), func.max(each.c.at)]
        rows = session.connection().execute(columns(each.c.learner, *sums).group_by(each.c.learner))
        for learner, *numbers in rows:
            own = (frozenset(former.get(learner, ())), sorted(judged.get(learner, ())))
            found[learner] = (persons[learner], *numbers, *own)
    return found


def _answered(
    session: Session,
    assignment: Assignment,
    drawings: Drawings,
    persons: Mapping[str, int],
    again: Mapping[int, JudgedAgain],
    counted: Select[*tuple[Any, ...]],
) -> Mapping[str, Sequence[ExerciseActivity]]:
    """What *persons* did, by learner, according to their answers, as far as they are *counted*."""
    single = persons.keys() & {one.learner for one in again.values()}
    found: dict[tuple[str, str], ExerciseActivity] = {}
    rows = chain(
        (
            row
            for these in _countable(assignment, persons.keys() - single)
            for row in session.connection().execute(counted.where(*these)).all()
        ),
        _rows_again(session, assignment, single, again),
    )
    for learner, exercise, seed, *answers in rows:
        if drawings.counts(learner, exercise, seed):
            key = learner, exercise
            if key not in found:
                found[key] = ExerciseActivity(person=persons[learner], exercise=exercise)
            _add(found[key], *answers)
    by_learner: dict[str, list[ExerciseActivity]] = {}
    for (learner, _), one in found.items():
        by_learner.setdefault(learner, []).append(one)
    return by_learner


def _rows_again(
    session: Session, assignment: Assignment, learners: Collection[str], again: Mapping[int, JudgedAgain]
) -> Iterator[Sequence[Any]]:
    """The answers of those who had one judged *again*, each by its latest verdict."""
    names = ("mistake", "id", "correct", "revealed", "seconds", "at")
    each = columns(*_DRAWING, *(getattr(AttemptRow, name) for name in names))
    for these in _countable(assignment, learners):
        for row in session.connection().execute(each.where(*these)).all():
            *drawing, mistake, number, correct, revealed, seconds, at = row
            right = again[number].correct if number in again else correct
            own = number if right and not revealed else None
            yield *drawing, None if right else mistake, 1, number, own, seconds, at


def _countable(assignment: Assignment, learners: Collection[str]) -> Iterator[Sequence[ColumnElement[bool]]]:
    """Which answers may count, for some of *learners* at a time."""
    wanted, exercises = sorted(learners), [entry.exercise for entry in assignment.entries]
    for start in range(0, len(wanted), _AT_ONCE):
        yield (
            col(AttemptRow.exercise).in_(exercises),
            col(AttemptRow.learner).in_(wanted[start : start + _AT_ONCE]),
            ~col(AttemptRow.carried),
            *since_joined(assignment),
        )


def _give(
    found: dict[Key, ExerciseActivity],
    session: Session,
    assignment: Assignment,
    drawings: Drawings,
    learners: Mapping[int, str],
) -> None:
    """Add to the work *found* the points of persons that were given by hand, by the *learners* of these."""
    most = {entry.exercise: entry.points for entry in assignment.entries}
    for key, points in points_by_hand(session, assignment).items():
        person, exercise = key
        if person not in learners or exercise not in most or not drawings.has(learners[person], exercise):
            continue
        given = points >= most[exercise]
        if given or key in found:
            work = found.get(key) or ExerciseActivity(person=person, exercise=exercise)
            found[key] = replace(work, by_hand=given)  # what is kept stays as it is


def _add(
    work: ExerciseActivity,
    mistake: str | None,
    count: int,
    first: int,
    right: int | None,
    seconds: float | None,
    last: datetime | None,
) -> None:
    """Add the answers that were told *mistake*."""
    work.tries += count
    if not work.first or first < work.first:
        work.first = first
    if right is not None and (work.right is None or right < work.right):
        work.right = right
    if seconds is not None and (work.seconds is None or seconds > work.seconds):
        work.seconds = seconds
    if last is not None and (work.last is None or last > work.last):
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
