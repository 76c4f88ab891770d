"""Copies of the database from before a change: they have what was deleted since, and expire."""

import asyncio
import logging
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.server.db.session import database_file
from app.server.db.sqlite_copy import BEFORE
from app.server.db.tables import now

LIFE = timedelta(days=30)
_PAUSE = 24 * 3600.0  # seconds from one look to the next
_log = logging.getLogger(__name__)


def last_copy_expires(database: str) -> datetime | None:
    """When the last copy beside *database* is removed; None if there is none."""
    return max((made + LIFE for _, made in _copies(database)), default=None)


def remove_expired_copies(database: str, at: datetime) -> None:
    """Remove the copies beside the SQLite *database* that are older than their life *at* a time."""
    for path, made in _copies(database):
        if made + LIFE <= at:
            path.unlink(missing_ok=True)
            _log.warning("a copy from before a change was removed after %d days: %s", LIFE.days, path)


@asynccontextmanager
async def expiring(database: str) -> AsyncIterator[None]:
    """Remove expired copies now and every day, for as long as the block runs."""
    looking = asyncio.create_task(_look(database))
    try:
        yield
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _look(database: str) -> None:
    while True:
        try:
            await asyncio.to_thread(remove_expired_copies, database, now())
        except OSError as error:
            _log.warning("a copy from before a change cannot be removed: %s", error)
        await asyncio.sleep(_PAUSE)


def _copies(database: str) -> Iterator[tuple[Path, datetime]]:
    """The copies beside *database*, and when each was made."""
    source = database_file(database)
    if source is None or not source.name:
        return
    start = f"{source.name}{BEFORE}"
    for path in source.parent.iterdir() if source.parent.is_dir() else ():
        if not path.name.startswith(start) or path.name.endswith(".partial"):
            continue
        with suppress(FileNotFoundError):  # another process removes them, too
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                yield path, datetime.fromtimestamp(found.st_mtime, UTC)
