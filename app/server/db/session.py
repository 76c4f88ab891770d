"""Connect to the database: every connection, its errors in one sentence each, and short reads."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from os import O_CREAT, O_EXCL, close
from os import open as open_file
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

import sqlalchemy
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError, TimeoutError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import TypeDecorator
from sqlmodel import Session, SQLModel

from app.core.errors import InputError, UnavailableError
from app.server.db.run_state import RunState

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
def open_connection(engine: sqlalchemy.Engine) -> Iterator[sqlalchemy.Connection]:
    """A connection; one that failed is discarded, so that the next use opens a new one.

    A connection that SQLite opened while the file was read-only stays read-only.
    """
    with translated_errors(), engine.connect() as connection:
        try:
            yield connection
        except DBAPIError:
            connection.invalidate()
            raise


@contextmanager
def connect_once(database: str, patience: float | None = None) -> Iterator[sqlalchemy.Connection]:
    """A connection to the SQLAlchemy URL *database* alone; see `connect`."""
    engine = connect(database, patience)
    try:
        with open_connection(engine) as connection:
            yield connection
    finally:
        engine.dispose()


def insert_missing(connection: sqlalchemy.Connection, table: type[SQLModel]) -> sqlalchemy.Insert:
    """An insertion into *table* that leaves out what is stored already."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()


T = TypeVar("T")
WAIT = 2.0  # seconds from the first refusal
_AT_START = 5.0  # the same, until it has accepted a connection
_AGAIN = 0.1  # seconds between two tries
_LOOK = 0.5  # seconds between two tries of a long outage
_OPTION = "wallclock_outage"  # of an engine
_may_wait: ContextVar[bool] = ContextVar("may_wait", default=True)


class Outage:
    """Whether the database of an engine refuses connections, and since when."""

    def __init__(self, engine: sqlalchemy.Engine | None = None) -> None:
        """Watch the connections of *engine*; without one, there is never an outage."""
        self._engine = engine
        self._since: float | None = None
        self._last: tuple[Exception, float] | None = None  # the last refusal, and when
        self._tries = 0  # that are under way
        self._was_there = False
        self._looking: asyncio.Future[None] | None = None
        if engine is not None:
            engine.update_execution_options(**{_OPTION: self})
            sqlalchemy.event.listen(engine, "do_connect", self._connect)
            sqlalchemy.event.listen(engine, "rollback", _roll_back)

    @property
    def is_on(self) -> bool:
        """Whether the last try to connect was refused."""
        return self._since is not None

    @property
    def _wait(self) -> float:
        """The seconds that are left to wait for the end; 0 in a long outage."""
        if self._since is None:
            return WAIT
        longest = WAIT if self._was_there else _AT_START
        return max(0.0, self._since + longest - time.monotonic())

    async def ready(self) -> None:
        """Return when requests may be handled: at once, or when a short outage is over."""
        if self.is_on:
            await self.over()

    async def over(self) -> None:
        """Return when the database is back, or has been away for too long to wait for it."""
        if self._looking is None or self._looking.done():
            if not self._wait and self._tried_lately():
                return
            self._looking = asyncio.ensure_future(asyncio.to_thread(self._look))
        await asyncio.wait({self._looking}, timeout=max(self._wait, _LOOK))

    async def again(self, read: Callable[[], T]) -> T:
        """What *read* returns; if the database goes away meanwhile, it is called again.

        It is called on the event loop, and must not write.

        Raises:
            UnavailableError: the outage is a long one.
        """
        end = time.monotonic() + WAIT
        while True:
            try:
                with impatient():
                    return read()
            except AwayError:
                if not self._wait or time.monotonic() > end:
                    raise
            await asyncio.sleep(_AGAIN)
            await self.over()

    def _look(self) -> None:
        """Try to connect: in a short outage until it is over, otherwise once."""
        if self._engine is not None:
            with suppress(SQLAlchemyError):
                self._engine.connect().close()

    def _tried_lately(self) -> bool:
        is_fresh = self._last is not None and time.monotonic() < self._last[1] + _LOOK
        return is_fresh or self._tries > 0

    def _connect(
        self, dialect: sqlalchemy.Dialect, _: ConnectionPoolEntry, given: list[Any], named: dict[str, Any]
    ) -> DBAPIConnection:
        while True:
            if self._last and not self._wait and self._tried_lately():
                error = self._last[0]
                raise type(error)(*error.args)
            self._tries += 1
            begin = time.monotonic()
            try:
                connection = dialect.connect(*given, **named)
            except dialect.loaded_dbapi.OperationalError as error:
                if not self._noted(error, begin) or not self._wait or not _may_wait.get():
                    raise
            else:
                self._since, self._was_there = None, True
                return connection
            finally:
                self._tries -= 1
            time.sleep(_AGAIN)

    def _noted(self, error: Exception, begin: float) -> bool:
        """Whether *error*, of a try since *begin*, may pass; that of a wrong address may not."""
        if not (AWAY if self._was_there else STARTS).search(str(error)):
            return False
        self._last = error, time.monotonic()
        self._since = self._since or begin
        return True


def outage_of(engine: sqlalchemy.Engine) -> Outage:
    """The outage of the database of *engine*; that of a SQLite database never begins."""
    found = engine.get_execution_options().get(_OPTION)
    return found if isinstance(found, Outage) else Outage()


@contextmanager
def impatient() -> Iterator[None]:
    """In this block, a connection that is refused is not waited for."""
    token = _may_wait.set(False)
    try:
        yield
    finally:
        _may_wait.reset(token)


def _roll_back(connection: sqlalchemy.Connection) -> None:
    """Roll back, before SQLAlchemy does: a connection that was lost needs no rollback."""
    if connection.invalidated:
        return
    try:
        connection.connection.rollback()
    except connection.dialect.loaded_dbapi.OperationalError:
        connection.invalidate()


PATIENCE = 20.0  # seconds that a connection waits for another's lock, on a busy disk, too
_REACHED = 5.0  # seconds at most until a server has accepted a connection
BEGIN = "wallclock_begin"  # execution option: the statement that opens a transaction on SQLite
_POOL = {"pool_size": 5, "max_overflow": 60}  # more than a server has threads: no starvation


def connect(database: str, patience: float | None = None) -> sqlalchemy.Engine:
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
def open_session(engine: sqlalchemy.Engine) -> Iterator[Session]:
    """A session; a database error in it is raised as an `UnavailableError`."""
    with translated_errors(), Session(engine, expire_on_commit=False) as session:
        yield session


@contextmanager
def open_writing_session(engine: sqlalchemy.Engine) -> Iterator[Session]:
    """A session in which what is read still holds when it writes.

    A transaction on SQLite that begins with a read fails at its first write, if another has
    written meanwhile; this one waits for its turn at the start.
    """
    with open_session(engine.execution_options(**{BEGIN: "BEGIN IMMEDIATE"})) as session:
        yield session


def _parsed(database: str) -> sqlalchemy.URL:
    try:
        url = sqlalchemy.make_url(database)
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


def _sqlite(url: sqlalchemy.URL, patience: float) -> sqlalchemy.Engine:
    file = database_file(url.render_as_string(hide_password=False))
    if file is not None and "mode" not in url.query:
        _make(file)
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": patience}, **_POOL)
    sqlalchemy.event.listen(engine, "connect", _prepare_sqlite)
    sqlalchemy.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgresql(url: sqlalchemy.URL, patience: float) -> sqlalchemy.Engine:
    milliseconds = round(patience * 1000)
    arguments = {
        "application_name": "wallclock",
        # libpq takes whole seconds, at least 2.
        "connect_timeout": max(2, round(min(patience, _REACHED))),
        "options": f"-c lock_timeout={milliseconds} -c synchronous_commit=on",
    }
    try:
        engine = sqlalchemy.create_engine(url, connect_args=arguments, pool_pre_ping=True, **_POOL)
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


def _begin_sqlite(connection: sqlalchemy.Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(BEGIN, "BEGIN"))


_QUIET = 2  # turns of the event loop in which no key came: what was received is on its way
_MOST = 100  # keys of one look-up: databases limit the parameters of a query
K = TypeVar("K")
V = TypeVar("V")


class BatchedLookup(Generic[K, V]):
    """Looks up keys together with those that others ask for in the same few turns of the loop."""

    def __init__(self, look_up: Callable[[Sequence[K]], Sequence[V]], outage: Outage, most: int = _MOST) -> None:
        """*look_up* returns the values of at most *most* keys, in their order.

        It is repeated after a short *outage* of the database that it reads.
        """
        self._look_up = look_up
        self._outage = outage
        self._most = most
        self._keys: list[K] = []
        self._values: asyncio.Task[Sequence[V]] | None = None

    async def of(self, key: K) -> V:
        """The value of *key*; an error of the look-up is raised for every key in it."""
        if self._values is None or len(self._keys) >= self._most:
            self._keys = []
            self._values = asyncio.create_task(self._together(self._keys))
        place = len(self._keys)
        self._keys.append(key)
        return (await asyncio.shield(self._values))[place]

    async def _together(self, keys: list[K]) -> Sequence[V]:
        quiet, count = 0, len(keys)
        while quiet < _QUIET and count < self._most:
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(keys) == count else 0
            count = len(keys)
        if self._keys is keys:
            self._values = None
        return await self._outage.again(partial(self._look_up, keys))


STATE_LIMIT = 100  # characters
# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
RowNumber = sqlalchemy.BigInteger().with_variant(sqlalchemy.Integer(), "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time; SQLite stores no offset, so it goes in and comes out as UTC."""

    impl = sqlalchemy.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sqlalchemy.Dialect) -> datetime | None:
        """Store the UTC clock reading."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"a time must have an offset from UTC; {value} has none")
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: sqlalchemy.Dialect) -> datetime | None:
        """Restore the time zone."""
        return value and value.replace(tzinfo=UTC)


class StateText(TypeDecorator[RunState]):
    """The state of a lab run, stored as text."""

    impl = sqlalchemy.String(STATE_LIMIT)
    cache_ok = True

    def process_bind_param(self, value: RunState | None, dialect: sqlalchemy.Dialect) -> str | None:
        """Store its text."""
        return value and str(value)

    def process_result_value(self, value: str | None, dialect: sqlalchemy.Dialect) -> RunState | None:
        """Read it back."""
        return RunState(value) if value else None
