"""Anonymous work of a browser that becomes a person's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import CursorResult, Update, exists, func, update
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from app.db.assessments import AssessedRow, KnownChapterRow
from app.db.boards import BoardRow
from app.db.measurements import MeasurementRow
from app.db.tables import (
    AttemptRow,
    DailyGuessRow,
    LabRunRow,
    PredictionRow,
    RevealRow,
)

_FirstStays = type[
    RevealRow | PredictionRow | DailyGuessRow | AssessedRow | KnownChapterRow | BoardRow
]
# Tables in which a learner has one row at most with these fields.
_FIRST_STAYS: Sequence[tuple[_FirstStays, tuple[str, ...]]] = (
    (RevealRow, ("exercise", "seed", "number")),
    (PredictionRow, ("exercise", "seed")),
    (DailyGuessRow, ("day",)),
    (AssessedRow, ("assessment", "draw", "number")),
    (KnownChapterRow, ("chapter",)),
    (BoardRow, ("exercise",)),
)


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """The work of a learner without a person: answers and guesses, and when the last one was."""

    answers: int
    guesses: int
    last: datetime


def unclaimed(session: Session, learner: str) -> Unclaimed | None:
    """The work of *learner*; None if there is none."""
    if not learner:
        return None
    found = []
    for table in (AttemptRow, DailyGuessRow):
        own = columns(func.count(), func.max(col(table.at))).where(col(table.learner) == learner)
        found.append(session.connection().execute(own).one())
    (answers, last), (guesses, guessed) = found
    dates = [date for date in (last, guessed) if date is not None]
    return Unclaimed(answers, guesses, max(dates)) if dates else None


def claim_rows(session: Session, anonymous: str, learner: str) -> int:
    """Give the rows of *anonymous* to *learner*, and return how many. Commits all, or nothing.

    Where both have a row of which there may be one, as a prediction, both stay as they are.
    """
    moved = 0
    for table in (AttemptRow, LabRunRow, MeasurementRow):
        mine = col(table.learner) == anonymous
        moved += _changed(session, update(table).where(mine).values(learner=learner))
    for first, fields in _FIRST_STAYS:
        other = aliased(first)
        same = [getattr(other, name) == getattr(first, name) for name in fields]
        taken = exists().where(col(other.learner) == learner, *same)
        mine = col(first.learner) == anonymous
        moved += _changed(session, update(first).where(mine, ~taken).values(learner=learner))
    session.commit()
    return moved


def _changed(session: Session, statement: Update) -> int:
    result = session.connection().execute(statement)
    return result.rowcount if isinstance(result, CursorResult) else 0
