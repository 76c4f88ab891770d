"""A short outage of PostgreSQL is waited out; in a long one, nobody waits.

A server that has crashed or is restarted refuses connections for a second or so. A thread that
needs one waits for it. The event loop must not: what arrives meanwhile waits for `over`, and a read
on the loop is repeated by `again`. Once the outage has lasted WAIT seconds, each request is refused
at once, and one at a time tries whether the database is back.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from sqlalchemy import Connection, Dialect, Engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from app.server.db.errors import AWAY, STARTS, AwayError

T = TypeVar("T")
WAIT = 2.0  # seconds from the first refusal
_AT_START = 5.0  # the same, until it has accepted a connection
_AGAIN = 0.1  # seconds between two tries
_LOOK = 0.5  # seconds between two tries of a long outage
_OPTION = "wallclock_outage"  # of an engine
_may_wait: ContextVar[bool] = ContextVar("may_wait", default=True)


class Outage:
    """Whether the database of an engine refuses connections, and since when."""

    def __init__(self, engine: Engine | None = None) -> None:
        """Watch the connections of *engine*; without one, there is never an outage."""
        self._engine = engine
        self._since: float | None = None
        self._last: tuple[Exception, float] | None = None  # the last refusal, and when
        self._tries = 0  # that are under way
        self._was_there = False
        self._looking: asyncio.Future[None] | None = None
        if engine is not None:
            engine.update_execution_options(**{_OPTION: self})
            event.listen(engine, "do_connect", self._connect)
            event.listen(engine, "rollback", _roll_back)

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
        self, dialect: Dialect, _: ConnectionPoolEntry, given: list[Any], named: dict[str, Any]
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


def outage_of(engine: Engine) -> Outage:
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


def _roll_back(connection: Connection) -> None:
    """Roll back, before SQLAlchemy does: a connection that was lost needs no rollback."""
    if connection.invalidated:
        return
    try:
        connection.connection.rollback()
    except connection.dialect.loaded_dbapi.OperationalError:
        connection.invalidate()
