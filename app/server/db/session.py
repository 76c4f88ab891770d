"""Connect to the database, and configure every connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import O_CREAT, O_EXCL, close
from os import open as open_file
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import Session

from app.core.errors import InputError, UnavailableError
from app.server.db.errors import translated_errors
from app.server.db.outage import Outage

PATIENCE = 20.0  # seconds that a connection waits for another's lock, on a busy disk, too
_REACHED = 5.0  # seconds at most until a server has accepted a connection
BEGIN = "wallclock_begin"  # execution option: the statement that opens a transaction on SQLite
_POOL = {"pool_size": 5, "max_overflow": 60}  # more than a server has threads: no starvation


def connect(database: str, patience: float | None = None) -> Engine:
    """The engine for the SQLAlchemy URL *database*; a SQLite file and its folder are created.

    Its connections wait *patience* seconds for a lock, by default PATIENCE.

    Raises:
        InputError: the URL is not valid, or names an unsupported database.
        UnavailableError: the file or its folder cannot be created.
    """
    url = _parsed(database)
    waits = PATIENCE if patience is None else patience
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, waits)
    return _postgresql(url, waits)


def database_file(database: str) -> Path | None:
    """The file of a SQLite database; None for a database server."""
    url = _parsed(database)
    if url.get_backend_name() != "sqlite":
        return None
    name = url.database or ""
    return Path(unquote(name.removeprefix("file:")) if name.startswith("file:") else name)


@contextmanager
def open_session(engine: Engine) -> Iterator[Session]:
    """A session; a database error in it is raised as an `UnavailableError`."""
    with translated_errors(), Session(engine, expire_on_commit=False) as session:
        yield session


@contextmanager
def open_writing_session(engine: Engine) -> Iterator[Session]:
    """A session in which what is read still holds when it writes.

    A transaction on SQLite that begins with a read fails at its first write, if another has
    written meanwhile; this one waits for its turn at the start.
    """
    with open_session(engine.execution_options(**{BEGIN: "BEGIN IMMEDIATE"})) as session:
        yield session


def _parsed(database: str) -> URL:
    try:
        url = make_url(database)
    except ArgumentError as error:
        raise InputError(
            "WALLCLOCK_DATABASE is not a valid URL; write sqlite:///FILE or "
            "postgresql+psycopg://USER:PASSWORD@HOST/NAME"
        ) from error
    kind = url.get_backend_name()
    if kind not in {"sqlite", "postgresql"}:
        raise InputError(f"WALLCLOCK_DATABASE must be sqlite or postgresql, not {kind!r}")
    if kind == "sqlite" and url.database in {None, "", ":memory:"}:
        raise InputError("WALLCLOCK_DATABASE must name a file; rows in memory would be lost")
    return url


def _sqlite(url: URL, patience: float) -> Engine:
    file = database_file(url.render_as_string(hide_password=False))
    if file is not None and "mode" not in url.query:
        _make(file)
    engine = create_engine(url, connect_args={"timeout": patience}, **_POOL)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgresql(url: URL, patience: float) -> Engine:
    milliseconds = round(patience * 1000)
    arguments = {
        "application_name": "wallclock",
        # libpq takes whole seconds, at least 2.
        "connect_timeout": max(2, round(min(patience, _REACHED))),
        "options": f"-c lock_timeout={milliseconds} -c synchronous_commit=on",
    }
    try:
        engine = create_engine(url, connect_args=arguments, pool_pre_ping=True, **_POOL)
    except ModuleNotFoundError as error:
        raise InputError(f"PostgreSQL needs the package {error.name}; install wallclock[postgres]") from error
    Outage(engine)
    return engine


def _make(file: Path) -> None:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            close(open_file(file, O_CREAT | O_EXCL, 0o600))
    except FileExistsError:
        return  # another server created it at the same moment
    except OSError as error:
        raise UnavailableError(
            f"the database {file} cannot be created: {error.strerror}; choose another path with WALLCLOCK_DATABASE"
        ) from error


def _prepare_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    # Otherwise the driver opens transactions itself, and none around a change of the schema.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(BEGIN, "BEGIN"))
