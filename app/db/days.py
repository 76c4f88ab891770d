"""On which days a learner worked; a day begins at midnight UTC."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta

from sqlmodel import Session, col, select

from app.db.tables import AttemptRow


def attempts_by_day(session: Session, learner: str, since: date) -> Mapping[date, int]:
    """How many answers *learner* handed in on each day from *since* on."""
    moment = datetime.combine(since, time(), UTC)
    statement = select(AttemptRow.at).where(
        AttemptRow.learner == learner, col(AttemptRow.at) >= moment
    )
    return Counter(at.astimezone(UTC).date() for at in session.exec(statement))


def streak(days: Collection[date], today: date) -> int:
    """How many days in a row, up to today or yesterday, are among *days*.

    >>> streak({date(2026, 3, 1), date(2026, 2, 28)}, today=date(2026, 3, 2))
    2
    """
    day = today if today in days else today - timedelta(days=1)
    length = 0
    while day in days:
        length += 1
        day -= timedelta(days=1)
    return length
