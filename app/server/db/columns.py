"""Types of columns, and the states of a lab run."""

from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, String
from sqlalchemy.types import TypeDecorator


class RunState(StrEnum):
    """The state of a run; all but the first two are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "cancelled"
    TIMEOUT = "timeout"
    LOST = "lost"

    @property
    def word(self) -> str:
        """The state in a sentence: what is stored is spelled as it was at first."""
        return "canceled" if self is RunState.CANCELED else self.value


UNFINISHED = (RunState.QUEUED, RunState.RUNNING)


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
