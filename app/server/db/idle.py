"""What was stored without a person leaves after a time: nobody can ask for it to be deleted."""

import asyncio
import logging
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, Select, delete, func, union_all
from sqlalchemy import select as columns
from sqlmodel import col

from app.core.errors import UnavailableError
from app.server.db.assessments import AssessedRow, KnownChapterRow
from app.server.db.measurements import MeasurementRow
from app.server.db.people import PersonRow, SessionRow
from app.server.db.personal import delete_learners
from app.server.db.session import open_connection, open_writing_session
from app.server.db.tables import AttemptRow, BoardRow, DailyGuessRow, LabRunRow, PredictionRow, RevealRow, now

_log = logging.getLogger(__name__)
_FIRST, _EACH = 600.0, 86_400.0  # seconds until the first look after a start, and between two
_AT_ONCE = 200  # learners whose rows are deleted in one transaction
_LENGTH = 32  # of a learner in a cookie; that of a program has its name, token:NAME
_DATED = (
    (AttemptRow, AttemptRow.at),
    (RevealRow, RevealRow.at),
    (PredictionRow, PredictionRow.at),
    (DailyGuessRow, DailyGuessRow.at),
    (LabRunRow, LabRunRow.asked),
    (MeasurementRow, MeasurementRow.at),
    (AssessedRow, AssessedRow.at),
    (KnownChapterRow, KnownChapterRow.at),
    (BoardRow, BoardRow.at),
)


def tidy_idle_learners(engine: Engine, days: int, at: datetime | None = None) -> int:
    """Delete what is idle, and return the number of learners who left; 0 days: none leaves.

    Raises:
        UnavailableError: the database cannot be used.
    """
    moment = at or now()
    with open_writing_session(engine) as session:
        session.connection().execute(delete(SessionRow).where(col(SessionRow.until) < moment))
        session.commit()
    return delete_idle(engine, moment - timedelta(days=days)) if days else 0


def delete_idle(engine: Engine, before: datetime) -> int:
    """Delete everything of learners without a person who stored nothing since *before*.

    Returns how many there were. One who comes back meanwhile stays.
    """
    with open_connection(engine) as connection:
        found = connection.execute(_idle(before)).scalars().all()
    count = 0
    for at in range(0, len(found), _AT_ONCE):
        some = found[at : at + _AT_ONCE]
        with open_writing_session(engine) as session:
            still = session.connection().execute(_idle(before, some)).scalars().all()
            delete_learners(session, still)
            session.commit()
        count += len(still)
    return count


def _idle(before: datetime, among: Sequence[str] | None = None) -> Select[Any]:
    """The learners without a person, whose latest row is from before a moment."""
    parts = [_latest(table, at, among) for table, at in _DATED]
    rows = union_all(*parts).subquery()
    persons = columns(col(PersonRow.learner))
    return (
        columns(rows.c.learner)
        .where(rows.c.learner.not_in(persons))
        .group_by(rows.c.learner)
        .having(func.max(rows.c.latest) < before)
    )


def _latest(table: Any, at: Any, among: Sequence[str] | None) -> Select[Any]:
    """When each learner of a cookie stored a row of *table* last."""
    ours = [func.length(table.learner) == _LENGTH]
    if among is not None:
        ours.append(table.learner.in_(among))
    moment = func.max(at).label("latest")
    return columns(table.learner.label("learner"), moment).where(*ours).group_by(table.learner)


async def tidy_daily(engine: Engine, days: int) -> None:
    """Once a day, delete what is older than *days* without a person, and sessions that are over."""
    wait = _FIRST * random.uniform(1, 2)  # several servers of a database: one after the other
    while True:
        await asyncio.sleep(wait)
        wait = _EACH
        try:
            if count := await asyncio.to_thread(tidy_idle_learners, engine, days):
                _log.info("%s learners without a person were idle for %s days", count, days)
        except UnavailableError as error:
            _log.warning("what is idle was not deleted: %s (%s)", error, error.cause)
