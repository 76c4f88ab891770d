"""What learners have done: queries, what they return, and what it is after one more."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Protocol, Self

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Engine,
    and_,
    bindparam,
    case,
    delete,
    func,
    not_,
    or_,
    true,
)
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.server.db.session import open_session
from app.server.db.tables import Attempt, AttemptRow, DailyGuessRow, PredictionRow, RevealRow

Drawing = tuple[str, int | None]  # an exercise, and its seed; None: any
SOLUTION = 0  # the number of a reveal that is the worked solution
SHOWN = 5  # answers at an exercise that its page lists
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Standing:
    """A learner's standing with one exercise; *unaided* is solved with no hint seen."""

    tried: int = 0
    solved: bool = False
    unaided: bool = False
    last: datetime | None = None


def join_histories(one: Standing | None, other: Standing) -> Standing:
    """The standing after what led to *one*, and to the *other*."""
    if one is None:
        return other
    return Standing(one.tried + other.tried, one.solved or other.solved, one.unaided or other.unaided)


@dataclass(frozen=True, slots=True)
class Revealed:
    """The hints, and whether the solution, that a learner has seen of one drawing."""

    hints: int
    solution: bool


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """One answer, for the model of memory; *own*: correct without the worked solution."""

    exercise: str
    at: datetime
    own: bool
    unaided: bool


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort spent on an exercise: answers, correct ones, and the time with its page open."""

    answers: int
    right: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """An answer at an exercise, as its page lists it.

    *revealed*: its solution had been shown before; *mistake*: the known mistake that it was.
    """

    seed: int
    at: datetime
    answer: str
    correct: bool
    revealed: bool = False
    mistake: str = ""

    @classmethod
    def of(cls, attempt: "StoredAnswer") -> Self:
        """A stored answer, as its page lists it."""
        return cls(attempt.seed, attempt.at, attempt.answer, attempt.correct, attempt.revealed, attempt.mistake or "")


@dataclass(frozen=True, slots=True)
class LastAnswers:
    """The last answers of a learner at an exercise, newest first; *right*: drawings solved."""

    shown: tuple[LastAnswer, ...] = ()
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LearnerDrawing:
    """A learner at a drawing of an exercise."""

    learner: str
    exercise: str
    seed: int


class StoredAnswer(Protocol):
    """What a history takes from an answer that was stored."""

    @property
    def exercise(self) -> str:
        """The id of the exercise."""

    @property
    def seed(self) -> int:
        """The seed of its drawing."""

    @property
    def at(self) -> datetime:
        """When it was given."""

    @property
    def answer(self) -> str:
        """What was answered."""

    @property
    def correct(self) -> bool:
        """Whether it is right."""

    @property
    def hints(self) -> int:
        """The hints that were shown before."""

    @property
    def revealed(self) -> bool:
        """Whether the solution was shown before."""

    @property
    def mistake(self) -> str | None:
        """The known mistake that it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseHistory:
    """What a learner has done before, as seen from a drawing of an exercise.

    *seen*: the hints and the solution of that drawing; *last*: answers to the exercise, newest
    first; *veil*: the drawings whose verdicts are hidden, which *known* leaves out.
    """

    seen: Revealed = Revealed(0, solution=False)
    last: LastAnswers = LastAnswers()
    known: Mapping[str, Standing] = field(default_factory=dict)
    veil: frozenset[Drawing] = frozenset()

    def hides(self, exercise: str, seed: int) -> bool:
        """Whether verdicts on that drawing are hidden."""
        return (exercise, seed) in self.veil or (exercise, None) in self.veil

    def has_solved(self, exercise: str, seed: int) -> bool:
        """Whether that drawing was answered right, and the verdict is not hidden."""
        return seed in self.last.right and not self.hides(exercise, seed)

    def after_reveal(self, number: int) -> Self:
        """The history after the hint with that *number*, or the solution, was shown."""
        if number:
            return replace(self, seen=Revealed(max(number, self.seen.hints), self.seen.solution))
        return replace(self, seen=Revealed(self.seen.hints, solution=True))

    def after_answer(self, attempt: StoredAnswer) -> Self:
        """The history after one more answer."""
        one = LastAnswer.of(attempt)
        right = self.last.right | {attempt.seed} if attempt.correct else self.last.right
        last = LastAnswers((one, *self.last.shown)[:SHOWN], right)
        if self.hides(attempt.exercise, attempt.seed):
            return replace(self, last=last)
        own = attempt.correct and not attempt.revealed
        standing = Standing(1, own, own and not attempt.hints)
        standing = join_histories(self.known.get(attempt.exercise), standing)
        return replace(self, last=last, known={**self.known, attempt.exercise: standing})


def streak(days: Collection[date], today: date) -> int:
    """The number of days up to *today* on which a learner worked without a break.

    One missed day in seven is forgiven, two in a row are a break; today is not missed yet.

    >>> streak({date(2026, 3, 1), date(2026, 2, 28)}, today=date(2026, 3, 2))
    2
    >>> streak({date(2026, 3, 2), date(2026, 2, 28)}, today=date(2026, 3, 2))
    2
    """
    day = today if today in days else today - _DAY
    length, forgiven = 0, today + _WEEK
    while day in days or (day - _DAY in days and forgiven - day >= _WEEK):
        if day in days:
            length += 1
        else:
            forgiven = day
        day -= _DAY
    return length


_LEARNERS: BindParameter[str] = bindparam("learners", expanding=True)
_EXERCISES: BindParameter[str] = bindparam("exercises", expanding=True)
_SEEDS: BindParameter[int] = bindparam("seeds", expanding=True)

_REVEALED = columns(col(RevealRow.learner), col(RevealRow.exercise), col(RevealRow.seed), col(RevealRow.number)).where(
    col(RevealRow.learner).in_(_LEARNERS), col(RevealRow.exercise).in_(_EXERCISES), col(RevealRow.seed).in_(_SEEDS)
)
_CELL = (col(AttemptRow.learner), col(AttemptRow.exercise))
_RANKED = (
    columns(
        *_CELL,
        col(AttemptRow.seed),
        col(AttemptRow.at),
        col(AttemptRow.answer),
        col(AttemptRow.correct),
        col(AttemptRow.revealed),
        func.coalesce(col(AttemptRow.mistake), "").label("mistake"),
        func.row_number()
        .over(partition_by=_CELL, order_by=(col(AttemptRow.at).desc(), col(AttemptRow.id).desc()))
        .label("place"),
    )
    .where(col(AttemptRow.learner).in_(_LEARNERS), col(AttemptRow.exercise).in_(_EXERCISES))
    .subquery()
)
_ANSWERS = (
    columns(
        _RANKED.c.learner,
        _RANKED.c.exercise,
        _RANKED.c.place,
        _RANKED.c.seed,
        _RANKED.c.at,
        case((_RANKED.c.place <= SHOWN, _RANKED.c.answer), else_=""),
        _RANKED.c.correct,
        _RANKED.c.revealed,
        _RANKED.c.mistake,
    )
    .where(or_(_RANKED.c.place <= SHOWN, _RANKED.c.correct))
    .order_by(_RANKED.c.place)
)
_OWN = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
_UNAIDED = _OWN & (col(AttemptRow.hints) == 0)
_FIGURES = (func.count(), func.max(case((_OWN, 1), else_=0)), func.max(case((_UNAIDED, 1), else_=0)))
_STANDINGS = columns(*_CELL, *_FIGURES).where(col(AttemptRow.learner).in_(_LEARNERS))
_BY_EXERCISE = _STANDINGS.group_by(*_CELL)
_BY_DRAWING = _STANDINGS.add_columns(col(AttemptRow.seed)).group_by(*_CELL, col(AttemptRow.seed))

Cell = tuple[str, str]  # a learner, an exercise


def reveals_of(
    connection: Connection, learners: Collection[str], exercises: Collection[str], seeds: Collection[int]
) -> Mapping[tuple[str, str, int], Revealed]:
    """What *learners* were shown of drawings, by learner, exercise and seed; nothing: no entry."""
    wanted = {"learners": [*learners], "exercises": [*exercises], "seeds": [*seeds]}
    found: dict[tuple[str, str, int], set[int]] = {}
    for learner, exercise, seed, number in connection.execute(_REVEALED, wanted):
        found.setdefault((learner, exercise, seed), set()).add(number)
    return {drawing: Revealed(len(numbers - {SOLUTION}), SOLUTION in numbers) for drawing, numbers in found.items()}


def last_answers(
    connection: Connection, learners: Collection[str], exercises: Collection[str]
) -> Mapping[Cell, LastAnswers]:
    """The last answers of *learners* at *exercises*; none were given: no entry."""
    shown: dict[Cell, list[LastAnswer]] = {}
    right: dict[Cell, set[int]] = {}
    wanted = {"learners": [*learners], "exercises": [*exercises]}
    for learner, exercise, place, *row in connection.execute(_ANSWERS, wanted):
        cell, last = (learner, exercise), LastAnswer(*row)
        rows = shown.setdefault(cell, [])
        if place <= SHOWN:
            rows.append(last)
        if last.correct:
            right.setdefault(cell, set()).add(last.seed)
    return {cell: LastAnswers(tuple(rows), frozenset(right.get(cell, ()))) for cell, rows in shown.items()}


def standings_by(
    connection: Connection, veils: Mapping[str, Collection[Drawing]]
) -> Mapping[str, Mapping[str, Standing]]:
    """The standings of each learner by exercise, without the drawings under the learner's veil."""
    found: dict[str, dict[str, Standing]] = {learner: {} for learner in veils}
    everything = [learner for learner, veil in veils.items() if not veil]
    if everything:
        rows = connection.execute(_BY_EXERCISE, {"learners": everything})
        for learner, exercise, count, right, free in rows:
            found[learner][exercise] = Standing(count, bool(right), bool(free))
    some = [learner for learner, veil in veils.items() if veil]
    if some:
        rows = connection.execute(_BY_DRAWING, {"learners": some})
        for learner, exercise, count, right, free, seed in rows:
            veil, known = veils[learner], found[learner]
            if (exercise, seed) not in veil and (exercise, None) not in veil:
                standing = Standing(count, bool(right), bool(free))
                known[exercise] = join_histories(known.get(exercise), standing)
    return found


def read_histories(
    connection: Connection,
    drawings: Sequence[LearnerDrawing],
    veils: Mapping[str, frozenset[Drawing]] = MappingProxyType({}),
) -> Sequence[ExerciseHistory]:
    """The history at each of *drawings*, in their order, under the *veils* of learners."""
    learners = {one.learner for one in drawings}
    exercises = {one.exercise for one in drawings}
    seen = reveals_of(connection, learners, exercises, {one.seed for one in drawings})
    last = last_answers(connection, learners, exercises)
    veil = {learner: veils.get(learner, frozenset[Drawing]()) for learner in learners}
    known = standings_by(connection, veil)
    nothing = ExerciseHistory()
    return [
        ExerciseHistory(
            seen=seen.get((one.learner, one.exercise, one.seed), nothing.seen),
            last=last.get((one.learner, one.exercise), nothing.last),
            known=known[one.learner],
            veil=veil[one.learner],
        )
        for one in drawings
    ]


def histories(engine: Engine, drawings: Sequence[LearnerDrawing]) -> Sequence[ExerciseHistory]:
    """The history at each of *drawings*, in their order, of learners without a class.

    Raises:
        UnavailableError: the database cannot be read.
    """
    with open_session(engine) as session:
        return read_histories(session.connection(), drawings)


VEIL = "veil"  # of a session: the drawings whose answers are left out; a seed of None is any


def _given_by(session: Session, learner: str) -> ColumnElement[bool]:
    """Whether a row is an answer of *learner* that the session does not leave out."""
    hidden = [
        and_(col(AttemptRow.exercise) == exercise, col(AttemptRow.seed) == seed if seed is not None else true())
        for exercise, seed in session.info.get(VEIL, ())
    ]
    own = col(AttemptRow.learner) == learner
    return and_(own, not_(or_(*hidden))) if hidden else own


def standings(session: Session, learner: str) -> Mapping[str, Standing]:
    """The standing of *learner* with every exercise tried, by id.

    A correct answer after the worked solution was shown does not count as solved.
    """
    own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
    unaided = own & (col(AttemptRow.hints) == 0)
    statement = (
        columns(
            col(AttemptRow.exercise),
            func.count(),
            func.max(case((own, 1), else_=0)),
            func.max(case((unaided, 1), else_=0)),
            func.max(col(AttemptRow.at)),
        )
        .where(_given_by(session, learner))
        .group_by(col(AttemptRow.exercise))
    )
    rows = session.connection().execute(statement).all()
    return {name: Standing(n, bool(right), bool(free), at) for name, n, right, free, at in rows}


def answers(session: Session, learner: str) -> Sequence[PastAnswer]:
    """Every answer of *learner*, oldest first."""
    own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
    statement = (
        columns(col(AttemptRow.exercise), col(AttemptRow.at), own, own & (col(AttemptRow.hints) == 0))
        .where(_given_by(session, learner))
        .order_by(col(AttemptRow.at), col(AttemptRow.id))
    )
    rows = session.connection().execute(statement).all()
    return [PastAnswer(name, at, bool(right), bool(free)) for name, at, right, free in rows]


def prediction_of(session: Session, learner: str, exercise: str, seed: int) -> str | None:
    """The prediction of *learner* for that drawing, as JSON."""
    statement = select(PredictionRow.answer).where(
        PredictionRow.learner == learner, PredictionRow.exercise == exercise, PredictionRow.seed == seed
    )
    return session.exec(statement).first()


def forget_prediction(session: Session, learner: str, exercise: str, seed: int, answer: str) -> None:
    """Delete the prediction *answer* of *learner*, because the exercise has changed since.

    A different prediction, which may have been stored a moment ago, stays.
    """
    own = (
        col(PredictionRow.learner) == learner,
        col(PredictionRow.exercise) == exercise,
        col(PredictionRow.seed) == seed,
        col(PredictionRow.answer) == answer,
    )
    session.connection().execute(delete(PredictionRow).where(*own))
    session.commit()


def last_right_answers(session: Session, learner: str, exercises: Collection[str]) -> Mapping[str, Attempt]:
    """The last right answer of *learner* to each of *exercises*, by id, before any solution."""
    own = (
        _given_by(session, learner),
        col(AttemptRow.exercise).in_(exercises),
        col(AttemptRow.correct),
        ~col(AttemptRow.revealed),
    )
    last = columns(func.max(col(AttemptRow.id))).where(*own).group_by(col(AttemptRow.exercise))
    rows = session.exec(select(AttemptRow).where(col(AttemptRow.id).in_(last)))
    return {row.exercise: row for row in rows}


def latest_attempts(session: Session, learner: str, limit: int = 20, skip: int = 0) -> Sequence[Attempt]:
    """The last attempts of *learner*, newest first."""
    statement = (
        select(AttemptRow)
        .where(_given_by(session, learner))
        .order_by(col(AttemptRow.at).desc(), col(AttemptRow.id).desc())
        .limit(limit)
        .offset(skip)
    )
    return session.exec(statement).all()


def wrong_attempts(session: Session, learner: str, limit: int) -> Sequence[Attempt]:
    """The last wrong answers of *learner*, newest first."""
    statement = (
        select(AttemptRow)
        .where(_given_by(session, learner), ~col(AttemptRow.correct))
        .order_by(col(AttemptRow.at).desc(), col(AttemptRow.id).desc())
        .limit(limit)
    )
    return session.exec(statement).all()


def efforts(session: Session, learner: str) -> Mapping[str, Effort]:
    """The effort of *learner* on each exercise, by id.

    The time is that of the last answer on each drawing's page, if the page recorded when it was
    opened.
    """
    statement = (
        columns(
            col(AttemptRow.exercise),
            func.count(),
            func.sum(case((col(AttemptRow.correct), 1), else_=0)),
            func.max(col(AttemptRow.seconds)),
        )
        .where(_given_by(session, learner))
        .group_by(col(AttemptRow.exercise), col(AttemptRow.seed))
    )
    found: dict[str, Effort] = {}
    for name, count, right, seconds in session.connection().execute(statement).all():
        other = found.get(name, Effort(0, 0, None))
        times = [time for time in (other.seconds, seconds) if time is not None]
        whole = sum(times) if times else None
        found[name] = Effort(other.answers + count, other.right + int(right), whole)
    return found


def attempts_by_day(session: Session, learner: str, since: date) -> Mapping[date, int]:
    """The number of answers of *learner* on each day from *since* on; a day begins at 00:00 UTC."""
    moment = datetime.combine(since, time(), UTC)
    statement = select(AttemptRow.at).where(AttemptRow.learner == learner, col(AttemptRow.at) >= moment)
    return Counter(at.astimezone(UTC).date() for at in session.exec(statement))


def count_of_guesses(session: Session, learner: str) -> int:
    """The number of guesses of *learner* on questions of a day, which earlier versions asked."""
    own = columns(func.count()).where(col(DailyGuessRow.learner) == learner)
    return int(session.connection().scalar(own) or 0)
