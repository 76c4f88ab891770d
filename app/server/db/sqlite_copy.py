"""Copies of a SQLite database while it is in use; each appears whole or not at all."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from app.core.errors import InputError, UnavailableError
from app.server.db.session import database_file

BEFORE = ".before-"  # between the name of the database and why it was copied
_MODE = 0o600  # a copy contains the answers of learners
_Publish = Callable[[Path, Path], None]


def copy_beside(database: str, why: str) -> Path | None:
    """The copy of the SQLite *database*, in a file beside it that is named after *why*.

    None on PostgreSQL.

    Raises:
        UnavailableError: there is no room for it, or the database cannot be copied.
    """
    source = database_file(database)
    if source is None:
        return None
    target = source.with_name(f"{source.name}{BEFORE}{why}")
    try:
        with appearing(target, os.replace) as partial:
            copy_sqlite(source, partial)
    except InputError as error:
        raise UnavailableError(f"nothing was changed: {error}") from error
    return target


def unused(file: Path) -> str:
    """The URI to read the SQLite *file*, which no one writes to and which may be read-only."""
    is_whole = not file.with_name(f"{file.name}-wal").exists()
    return f"{file.resolve().as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}"


def copy_sqlite(source: Path, target: Path, address: str = "") -> None:
    """Copy the SQLite database *source* to the file *target*; *address* is its URI.

    Raises:
        UnavailableError: it cannot be copied, or the copy is damaged.
    """
    address = address or f"{source.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as live, closing(sqlite3.connect(target)) as copy:
            live.backup(copy)
            (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
    except sqlite3.Error as error:
        raise UnavailableError(f"the database {source} cannot be copied: {error}") from error
    if verdict != "ok":
        raise UnavailableError(f"the copy is damaged: {verdict}")


@contextmanager
def appearing(target: Path, publish: _Publish) -> Iterator[Path]:
    """A file that becomes *target* when the block ends without an error; *publish* renames it.

    Raises:
        InputError: *target* cannot be written, or exists although *publish* replaces nothing.
    """
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL, _MODE))
        yield partial
        publish(partial, target)
    except FileExistsError as error:
        raise InputError(f"{target} already exists; choose another name") from error
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        for end in ("", "-wal", "-shm"):
            partial.with_name(partial.name + end).unlink(missing_ok=True)
