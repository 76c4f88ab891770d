"""On which days a learner worked; a day begins at midnight UTC."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta

from sqlmodel import Session, col, select

from app.db.tables import AttemptRow

_ONE = timedelta(days=1)
_WEEK = timedelta(days=7)


def attempts_by_day(session: Session, learner: str, since: date) -> Mapping[date, int]:
    """How many answers *learner* handed in on each day from *since* on."""
    moment = datetime.combine(since, time(), UTC)
    statement = select(AttemptRow.at).where(
        AttemptRow.learner == learner, col(AttemptRow.at) >= moment
    )
    return Counter(at.astimezone(UTC).date() for at in session.exec(statement))


def streak(days: Collection[date], today: date) -> int:
    """On how many days up to today a learner worked without a break.

    One missed day in seven is forgiven, two in a row are a break; today is not missed yet.

    >>> streak({date(2026, 3, 1), date(2026, 2, 28)}, today=date(2026, 3, 2))
    2
    >>> streak({date(2026, 3, 2), date(2026, 2, 28)}, today=date(2026, 3, 2))
    2
    """
    day = today if today in days else today - _ONE
    length, forgiven = 0, today + _WEEK
    while day in days or (day - _ONE in days and forgiven - day >= _WEEK):
        if day in days:
            length += 1
        else:
            forgiven = day
        day -= _ONE
    return length
