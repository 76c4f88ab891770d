"""Anonymous work of a browser that becomes a person's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, func, update
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from app.server.db.assessments import AssessedRow, KnownChapterRow
from app.server.db.measurements import MeasurementRow
from app.server.db.tables import AttemptRow, BoardRow, DailyGuessRow, LabRunRow, PredictionRow, RevealRow

_FirstStays = type[RevealRow | PredictionRow | DailyGuessRow | AssessedRow | KnownChapterRow | BoardRow]
# Tables in which a learner has one row at most with these fields.
_FIRST_STAYS: Sequence[tuple[_FirstStays, tuple[str, ...]]] = (
    (RevealRow, ("exercise", "seed", "number")),
    (PredictionRow, ("exercise", "seed")),
    (DailyGuessRow, ("day",)),
    (AssessedRow, ("assessment", "draw", "number")),
    (KnownChapterRow, ("chapter",)),
    (BoardRow, ("exercise",)),
)

_FIRST = [table for table, _ in _FIRST_STAYS]
_ALL_MOVE = (AttemptRow, LabRunRow, MeasurementRow)
_AT_ONCE = 500  # numbers in one statement


@dataclass(frozen=True, slots=True)
class UnclaimedWork:
    """The work of a learner without a person: answers and guesses, and when the last one was."""

    answers: int
    guesses: int
    last: datetime


def find_unclaimed(session: Session, learner: str) -> UnclaimedWork | None:
    """The work of *learner*; None if there is none."""
    if not learner:
        return None
    found = []
    for table in (AttemptRow, DailyGuessRow):
        own = columns(func.count(), func.max(col(table.at))).where(col(table.learner) == learner)
        found.append(session.connection().execute(own).one())
    (answers, last), (guesses, guessed) = found
    dates = [date for date in (last, guessed) if date is not None]
    return UnclaimedWork(answers, guesses, max(dates)) if dates else None


def claim_rows(session: Session, anonymous: str, learner: str) -> int:
    """Give the rows of *anonymous* to *learner*, and return how many. Commits all, or nothing.

    Where both have a row of which there may be one, as a prediction, both stay as they are.
    """
    rows = movable_rows(session, anonymous, learner)
    give_rows(session, rows, learner)
    session.commit()
    return sum(map(len, rows.values()))


def movable_rows(session: Session, one: str, other: str) -> Mapping[str, Sequence[int]]:
    """The numbers of the rows of *one* learner that can be those of the *other*, by table.

    Where both have a row of which there may be one, it is not among them.
    """
    run = session.connection().execute
    found = {}
    for table in _ALL_MOVE:
        found[str(table.__tablename__)] = columns(col(table.id)).where(col(table.learner) == one)
    for first, fields in _FIRST_STAYS:
        theirs = aliased(first)
        same = [getattr(theirs, name) == getattr(first, name) for name in fields]
        taken = exists().where(col(theirs.learner) == other, *same)
        found[str(first.__tablename__)] = columns(col(first.id)).where(col(first.learner) == one, ~taken)
    return {name: [number or 0 for (number,) in run(statement)] for name, statement in found.items()}


def give_rows(session: Session, rows: Mapping[str, Sequence[int]], learner: str) -> None:
    """Let *rows*, numbers by table, be those of *learner*. Not committed."""
    tables = {str(table.__tablename__): table for table in (*_ALL_MOVE, *_FIRST)}
    for name, numbers in rows.items():
        table = tables[name]
        for start in range(0, len(numbers), _AT_ONCE):
            some = col(table.id).in_(numbers[start : start + _AT_ONCE])
            session.connection().execute(update(table).where(some).values(learner=learner))
