"""A consistent copy of the database while it serves."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from app.db.session import database_file
from app.errors import InputError, UnavailableError


def backup(database: str, target: Path) -> None:
    """Copy the SQLite *database* to the new file *target*; it appears whole or not at all.

    Raises:
        InputError: *target* exists, its folder does not, or the database is not a SQLite file.
        UnavailableError: the database cannot be copied, or the copy is damaged.
    """
    source = database_file(database)
    if source is None:
        raise InputError("backup copies SQLite files; for PostgreSQL use pg_dump")
    if not source.exists():
        raise InputError(f"there is no database {source} yet")
    if target.exists():
        raise InputError(f"{target} already exists; choose another name")
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL, 0o600))
        _copy(source, partial)
        os.link(partial, target)  # unlike a rename, this never replaces a file
    except FileExistsError as error:
        raise InputError(f"{target} already exists; choose another name") from error
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    except sqlite3.Error as error:
        raise UnavailableError(f"the database {source} cannot be copied: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    address = f"file:{source.resolve().as_posix()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True)) as live,
        closing(sqlite3.connect(target)) as copy,
    ):
        live.backup(copy)
        (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
        if verdict != "ok":
            raise UnavailableError(f"the copy is damaged: {verdict}")
