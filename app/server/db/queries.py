"""Queries on what a learner has done."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time

from sqlalchemy import ColumnElement, and_, case, delete, func, not_, or_, true
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.server.db.history import Effort, PastAnswer, Standing
from app.server.db.tables import Attempt, AttemptRow, DailyGuessRow, PredictionRow

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
