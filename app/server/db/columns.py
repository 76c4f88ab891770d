"""Types of columns: what is stored in one form and read back in another."""

from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, String
from sqlalchemy.types import TypeDecorator

from app.server.db.run_state import RunState

STATE_LIMIT = 100  # characters
# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time; SQLite stores no offset, so it goes in and comes out as UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Store the UTC clock reading."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"a time must have an offset from UTC; {value} has none")
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Restore the time zone."""
        return value and value.replace(tzinfo=UTC)


class StateText(TypeDecorator[RunState]):
    """The state of a lab run, stored as text."""

    impl = String(STATE_LIMIT)
    cache_ok = True

    def process_bind_param(self, value: RunState | None, dialect: Dialect) -> str | None:
        """Store its text."""
        return value and str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> RunState | None:
        """Read it back."""
        return RunState(value) if value else None
