"""Queries on the guesses of a day."""

from collections.abc import Mapping, Sequence
from datetime import date

from sqlalchemy import func
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.db.tables import DailyGuess, DailyGuessRow


def latest_guesses(session: Session, learner: str, limit: int) -> Sequence[DailyGuess]:
    """The guesses of *learner* on the last days, newest day first."""
    statement = (
        select(DailyGuessRow)
        .where(DailyGuessRow.learner == learner)
        .order_by(col(DailyGuessRow.day).desc())
        .limit(limit)
    )
    return session.exec(statement).all()


def count_of_guesses(session: Session, learner: str) -> int:
    """The number of guesses of *learner*."""
    own = columns(func.count()).where(col(DailyGuessRow.learner) == learner)
    return int(session.connection().scalar(own) or 0)


def spread_of(session: Session, day: date, question: str) -> Mapping[int, int]:
    """The number of guesses on *question* at each place; imported guesses have none.

    The database counts them, in an index, and reads no row.
    """
    place = col(DailyGuessRow.place)
    statement = (
        columns(place, func.count())
        .where(
            col(DailyGuessRow.day) == day,
            col(DailyGuessRow.question) == question,
            place.is_not(None),
        )
        .group_by(place)
    )
    rows = session.connection().execute(statement).all()
    return {at: count for at, count in rows if at is not None}
