"""What pages say about copies of the database, which still have what was deleted."""

from app.core.translation.dates import short_day
from app.server.db.migrations import last_copy_expires


def copies_until(database: str) -> str:
    """The day on which the last copy beside *database* is removed; empty if there is none."""
    until = last_copy_expires(database)
    return short_day(until.date()) if until else ""
