"""Database errors as one sentence each, with the cure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, TimeoutError

from app.core.errors import UnavailableError

_UNREACHABLE = "the database cannot be reached; check WALLCLOCK_DATABASE and that it is running"
_UNOPENED = (
    "the database file cannot be opened; check WALLCLOCK_DATABASE and that this user may read "
    "and write the file and its folder"
)
_LOCKED = "the database is locked by another program; stop that program, or wait for it to finish"
_READ_ONLY = "the database is read-only; let this user write the file and its folder"
_FULL = "the disk of the database is full; free some space, and the server recovers by itself"
_FAULTY_DISK = "the disk of the database fails or is full; check the system's log"
_DAMAGED = "the database file is damaged or not a database; restore a backup"
_UNMIGRATED = "the database lacks tables of this version; restart the server, which adds them"
_BUSY = "all connections to the database are in use; try again in a moment"

# Prefixes of SQLite's error names.
_OF_SQLITE = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": _FAULTY_DISK,
    "SQLITE_CANTOPEN": _UNOPENED,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_ERROR": _UNMIGRATED,  # a missing table or column
}

# Prefixes of PostgreSQL's SQLSTATE codes.
_OF_POSTGRESQL = {
    "53100": _FULL,
    "53300": _BUSY,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "55P03": _LOCKED,
    "40P01": _LOCKED,
    "42P01": _UNMIGRATED,
    "42703": _UNMIGRATED,
    "58030": _FAULTY_DISK,
    "XX001": _DAMAGED,
}

# What is said of a server that starts, stops or recovers; one that is just then terminated only
# closes the connection.
STARTS = re.compile(
    r"is (starting up|shutting down|in recovery mode|not yet accepting connections)"
    r"|server closed the connection"
)
AWAY = re.compile(rf"{STARTS.pattern}|Connection refused|No such file or directory|timeout expired")
_LOST = {"57P01", "57P02"}  # the server stops, or another process of it has crashed


class AwayError(UnavailableError):
    """The database server refuses connections: it may be back soon."""


class ConnectionLostError(AwayError):
    """The connection was lost; a commit that was under way may have been done."""


def unavailable_error(error: DBAPIError) -> UnavailableError:
    """The driver's *error* as one for the caller, with the cure.

    >>> from sqlite3 import OperationalError
    >>> cause = OperationalError("database is locked")
    >>> cause.sqlite_errorname = "SQLITE_BUSY"
    >>> str(unavailable_error(DBAPIError("BEGIN", None, cause))).split(";")[0]
    'the database is locked by another program'
    """
    name = getattr(error.orig, "sqlite_errorname", None)
    code = name or getattr(error.orig, "sqlstate", None) or ""
    known = _OF_SQLITE if name else _OF_POSTGRESQL
    says = next((says for start, says in known.items() if code.startswith(start)), _UNREACHABLE)
    cause = " ".join(str(error.orig).split())
    if not name and (error.connection_invalidated or code in _LOST):
        return ConnectionLostError(says, cause)
    return (AwayError if AWAY.search(cause) else UnavailableError)(says, cause)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise any database error in this block as an `UnavailableError`."""
    try:
        yield
    except TimeoutError as error:
        raise UnavailableError(_BUSY) from error
    except DBAPIError as error:
        raise unavailable_error(error) from error


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """A connection; one that failed is discarded, so that the next use opens a new one.

    A connection that SQLite opened while the file was read-only stays read-only.
    """
    with translated_errors(), engine.connect() as connection:
        try:
            yield connection
        except DBAPIError:
            connection.invalidate()
            raise
