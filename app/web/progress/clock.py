"""The date, as everybody on the server means it."""

from datetime import UTC, date, datetime


def today() -> date:
    """The day, in UTC."""
    return datetime.now(UTC).date()
