"""What a learner has done, each function named by its question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, delete, func
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.tables import Attempt, AttemptRow, PredictionRow, RevealRow

SOLUTION = 0  # the number of a reveal that is the worked solution


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a learner stands with one exercise; *unaided* is solved with no hint seen."""

    tried: int = 0
    solved: bool = False
    unaided: bool = False
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a learner has been shown of one drawing of an exercise."""

    hints: int
    solution: bool


def standings(session: Session, learner: str) -> Mapping[str, Standing]:
    """How *learner* stands with every exercise tried, by id.

    What is right after the worked solution was shown does not count as solved.
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
        .where(col(AttemptRow.learner) == learner)
        .group_by(col(AttemptRow.exercise))
    )
    rows = session.connection().execute(statement).all()
    return {name: Standing(n, bool(right), bool(free), at) for name, n, right, free, at in rows}


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer, as far as it tells what is remembered; *own*: without the worked solution."""

    exercise: str
    at: datetime
    own: bool
    unaided: bool


def answers(session: Session, learner: str) -> Sequence[Answered]:
    """Every answer of *learner*, in order of time."""
    own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
    statement = (
        columns(
            col(AttemptRow.exercise), col(AttemptRow.at), own, own & (col(AttemptRow.hints) == 0)
        )
        .where(col(AttemptRow.learner) == learner)
        .order_by(col(AttemptRow.id))
    )
    rows = session.connection().execute(statement).all()
    return [Answered(name, at, bool(right), bool(free)) for name, at, right, free in rows]


def shown(session: Session, learner: str, exercise: str, seed: int) -> Shown:
    """Which hints, and whether the solution, *learner* has seen of that drawing."""
    statement = select(RevealRow.number).where(
        RevealRow.learner == learner, RevealRow.exercise == exercise, RevealRow.seed == seed
    )
    numbers = set(session.exec(statement))
    return Shown(len(numbers - {SOLUTION}), SOLUTION in numbers)


def predicted(session: Session, learner: str, exercise: str, seed: int) -> str | None:
    """What *learner* predicted of that drawing, as JSON."""
    statement = select(PredictionRow.answer).where(
        PredictionRow.learner == learner,
        PredictionRow.exercise == exercise,
        PredictionRow.seed == seed,
    )
    return session.exec(statement).first()


def forget_prediction(
    session: Session, learner: str, exercise: str, seed: int, answer: str
) -> None:
    """Delete *answer*, which *learner* predicted: the exercise asks for something else now.

    Another prediction, which may have been stored a moment ago, stays.
    """
    own = (
        col(PredictionRow.learner) == learner,
        col(PredictionRow.exercise) == exercise,
        col(PredictionRow.seed) == seed,
        col(PredictionRow.answer) == answer,
    )
    session.connection().execute(delete(PredictionRow).where(*own))
    session.commit()


def solved_drawing(session: Session, learner: str, exercise: str, seed: int) -> bool:
    """Whether *learner* has answered that very drawing rightly."""
    statement = select(AttemptRow.id).where(
        AttemptRow.learner == learner,
        AttemptRow.exercise == exercise,
        AttemptRow.seed == seed,
        col(AttemptRow.correct),
    )
    return session.exec(statement.limit(1)).first() is not None


def attempts_at(session: Session, learner: str, exercise: str, limit: int = 5) -> Sequence[Attempt]:
    """The last attempts of *learner* at *exercise*, the newest first."""
    statement = (
        select(AttemptRow)
        .where(AttemptRow.learner == learner, AttemptRow.exercise == exercise)
        .order_by(col(AttemptRow.id).desc())
        .limit(limit)
    )
    return session.exec(statement).all()


def latest_attempts(
    session: Session, learner: str, limit: int = 20, skip: int = 0
) -> Sequence[Attempt]:
    """The last attempts of *learner*, the newest first."""
    statement = (
        select(AttemptRow)
        .where(AttemptRow.learner == learner)
        .order_by(col(AttemptRow.id).desc())
        .limit(limit)
        .offset(skip)
    )
    return session.exec(statement).all()


@dataclass(frozen=True, slots=True)
class Effort:
    """What an exercise took: answers handed in, right ones, and the time with its page open."""

    answers: int
    right: int
    seconds: float | None


def efforts(session: Session, learner: str) -> Mapping[str, Effort]:
    """The effort that each exercise took *learner*, by id.

    The time is that of the last answer on each drawing's page, where a page said when it was
    opened.
    """
    statement = (
        columns(
            col(AttemptRow.exercise),
            func.count(),
            func.sum(case((col(AttemptRow.correct), 1), else_=0)),
            func.max(col(AttemptRow.seconds)),
        )
        .where(col(AttemptRow.learner) == learner)
        .group_by(col(AttemptRow.exercise), col(AttemptRow.seed))
    )
    found: dict[str, Effort] = {}
    for name, count, right, seconds in session.connection().execute(statement).all():
        other = found.get(name, Effort(0, 0, None))
        times = [time for time in (other.seconds, seconds) if time is not None]
        whole = sum(times) if times else None
        found[name] = Effort(other.answers + count, other.right + int(right), whole)
    return found
