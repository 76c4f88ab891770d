"""What no transaction of the app may do, looked at in every test that stores something in SQLite.

- To read first and write then: SQLite refuses the first write if another has written meanwhile, and
  nobody waits. `open_writing_session` waits for its turn at the start.
- To write on the event loop of a server: one that waits for its turn keeps every visitor waiting.

Tests may do both, in the sessions that they open themselves.
"""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import sqlmodel
import starlette.routing
from sqlalchemy import Connection, Engine, event

from app.core.folders import ROOT
from app.server.db import session as sessions

_TESTS = str(ROOT / "tests")
_STATE = "tests.transactions"
_READS = ("SELECT", "WITH")
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class _OpenedBy(sqlmodel.Session):
    """A session that knows whether a test opened it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        callers = (frame.f_code.co_filename for frame in _frames())
        opener = next(file for file in callers if file not in _BETWEEN)
        self.info[_STATE] = opener.startswith(_TESTS)


_BETWEEN = {str(sessions.__file__), __file__, sys.modules["contextlib"].__file__}


@dataclass(slots=True)
class _Transaction:
    """One that waits for its turn at the start is *held* from then on."""

    held: bool
    has_read: bool = False
    of_a_test: bool = False


def watch() -> None:
    """Look at all transactions of this process from now on."""
    vars(sessions)["Session"] = _OpenedBy
    event.listen(_OpenedBy, "after_begin", _of_session)
    event.listen(Engine, "begin", _begun)
    event.listen(Engine, "before_cursor_execute", _executes)


def _begun(connection: Connection) -> None:
    held = connection.get_execution_options().get(sessions.BEGIN, "BEGIN") != "BEGIN"
    connection.info[_STATE] = _Transaction(held)


def _of_session(session: sqlmodel.Session, _: object, connection: Connection) -> None:
    if transaction := connection.info.get(_STATE):
        transaction.of_a_test = session.info[_STATE]


def _executes(connection: Connection, _: object, statement: str, __: object, ___: object, ____: object) -> None:
    transaction: _Transaction | None = connection.info.get(_STATE)
    if connection.dialect.name != "sqlite" or transaction is None or transaction.of_a_test:
        return
    verb = statement.lstrip()[:7].upper()
    if verb.startswith(_READS):
        transaction.has_read = True
    elif verb.startswith(_WRITES):
        assert transaction.held or not transaction.has_read, f"reads, then {statement}"
        assert not _on_the_loop(), f"on the event loop: {statement}"
        transaction.held = True


def _on_the_loop() -> bool:
    """Whether a request is answered further up the stack, which in another thread begins anew."""
    return any(frame.f_code.co_filename == starlette.routing.__file__ for frame in _frames())


def _frames() -> Iterator[FrameType]:
    """This call, what called it, and so on up the stack."""
    frame = inspect.currentframe()
    while frame:
        yield frame
        frame = frame.f_back
