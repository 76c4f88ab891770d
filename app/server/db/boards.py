"""Boards of schedules: how long they take and how much memory, one entry a learner."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import UniqueConstraint, func
from sqlalchemy import select as columns
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Field, Index, Session, SQLModel, col, select

from app.server.db.columns import RowNumber, UtcDateTime
from app.server.db.tables import EXERCISE_LIMIT, LEARNER_LIMIT, now

MOST_POINTS = 200  # that a board shows


class BoardRow(SQLModel, table=True):
    """The table of schedules that were judged right: their figures, never their programs."""

    __tablename__ = "board"
    __table_args__ = (
        UniqueConstraint("learner", "exercise", name="uq_board_entry"),
        Index("ix_board_points", "exercise", "time", "memory"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    learner: str = Field(max_length=LEARNER_LIMIT)
    exercise: str = Field(max_length=EXERCISE_LIMIT)
    time: int = Field(description="units until the last rank is done")
    memory: int = Field(description="units that the fullest rank holds")
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


@dataclass(frozen=True, slots=True)
class BoardPoint:
    """A time and a memory, and the number of learners whose schedule has both."""

    time: int
    memory: int
    learners: int


def entry_of(session: Session, learner: str, exercise: str) -> BoardRow | None:
    """The entry of *learner* on the board of *exercise*."""
    own = select(BoardRow).where(BoardRow.learner == learner, BoardRow.exercise == exercise)
    return session.exec(own).first()


def enter_schedule(session: Session, learner: str, exercise: str, time: int, memory: int) -> None:
    """Enter a schedule of *learner*, unless the one entered is as good in both. Commits."""
    found = entry_of(session, learner, exercise)
    if found and found.time <= time and found.memory <= memory:
        return
    if found:
        found.time, found.memory, found.at = time, memory, now()
        session.add(found)
    else:
        is_sqlite = session.connection().dialect.name == "sqlite"
        new = (sqlite if is_sqlite else postgresql).insert(BoardRow).on_conflict_do_nothing()
        row = {"learner": learner, "exercise": exercise, "time": time, "memory": memory}
        session.connection().execute(new, [{**row, "at": now()}])
    session.commit()


def board_points(session: Session, exercise: str) -> Sequence[BoardPoint]:
    """The points of the board of *exercise*, the fastest first, up to MOST_POINTS of them."""
    place = (col(BoardRow.time), col(BoardRow.memory))
    statement = (
        columns(*place, func.count())
        .where(col(BoardRow.exercise) == exercise)
        .group_by(*place)
        .order_by(*place)
        .limit(MOST_POINTS)
    )
    return [BoardPoint(*row) for row in session.connection().execute(statement)]
