"""The days whose questions can be guessed, and their addresses."""

from datetime import date, timedelta

from app.core.errors import NotFoundError
from app.core.translation import translate

ARCHIVE = 30  # days before today whose questions can still be guessed


def daily_url(day: date) -> str:
    """The page of the question of *day*."""
    return f"/guess/{day.isoformat()}"


def day_called(text: str, today: date) -> date | None:
    """The day in an address; None if its question can no longer be guessed.

    Raises:
        NotFoundError: it is not a day, or its question has not been asked yet.
    """
    try:
        day = date.fromisoformat(text) if len(text) == len("2026-03-01") else None
    except ValueError:
        day = None
    if day is None:
        raise NotFoundError(translate("{text!r} is not a day such as {day}", text=text[:40], day=today.isoformat()))
    if day > today:
        raise NotFoundError(translate("the question of {day} has not been asked yet", day=day.isoformat()))
    return day if day >= today - timedelta(days=ARCHIVE) else None


def open_day(text: str, today: date) -> date:
    """The day in an address, whose question can still be guessed.

    Raises:
        NotFoundError: it cannot.
    """
    day = day_called(text, today)
    if day is None:
        raise NotFoundError(translate("that question is closed; /guess has the one of today"))
    return day
