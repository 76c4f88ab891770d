"""Queries on the guesses of a day."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from sqlalchemy import CompoundSelect, Select, func, literal, union_all
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.server.db.tables import DailyGuess, DailyGuessRow

MOST = 1_000  # guesses that are counted at one place: a spread needs no more to have its shape


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


def spread_of(session: Session, day: date, question: str, places: Iterable[int]) -> Mapping[int, int]:
    """The number of guesses on *question* at each of *places* that has any, up to MOST.

    An imported guess has no place: it was counted where it was made.
    """
    rows = session.connection().execute(counting(day, question, places)).all()
    return {place: count for place, count in rows if count}


def counting(day: date, question: str, places: Iterable[int]) -> CompoundSelect[int, int]:
    """The query that counts in an index and reads no row, so its work is bounded."""
    return union_all(*(_counted(day, question, place) for place in places))


def _counted(day: date, question: str, place: int) -> Select[int, int]:
    found = (
        columns(literal(1))
        .where(
            col(DailyGuessRow.day) == day, col(DailyGuessRow.question) == question, col(DailyGuessRow.place) == place
        )
        .limit(MOST)
        .subquery()
    )
    return columns(literal(place), func.count()).select_from(found)
