"""Keeps rows: when `put` returns, the row is on the disk.

Group commit: one thread writes. While it commits, the rows that arrive gather, and the next commit
takes them all. A commit costs the same for one row as for a hundred, so the more callers wait, the
more rows a second are kept.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sqlalchemy import Connection, Engine, Insert, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DataError, IntegrityError

from app.db.errors import connected
from app.db.replays import KeyTakenError, Once, insert_once
from app.db.tables import Attempt, AttemptRow, Prediction, PredictionRow, Reveal, RevealRow
from app.errors import UnavailableError

Row = Attempt | Reveal | Prediction | Once
_Waiting = tuple[Row, asyncio.Future[None]]

_CAPACITY = 5_000  # rows; some seconds of work for a slow disk
_OF_THE_ROW = (IntegrityError, DataError)


class Writer:
    """Keeps rows that are only ever added; each process makes its own, used from one event loop."""

    def __init__(self, engine: Engine, capacity: int = _CAPACITY) -> None:
        """Write to *engine*; refuse rows while *capacity* of them wait."""
        self._engine = engine
        self._capacity = capacity
        self._gathering: list[_Waiting] = []
        self._committing: asyncio.Future[list[ValueError | None]] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Accept rows."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")

    async def put(self, row: Row) -> None:
        """Return once *row* is durably kept; a caller that is cancelled leaves it to be kept.

        Raises:
            UnavailableError: it is not kept: the database cannot be written, too many rows wait,
                or the writer is closed.
            KeyTakenError: another row with its key was kept first.
            ValueError: the database refuses this very row.
        """
        if self._thread is None:
            raise UnavailableError("answers are not kept now: the server is starting or stopping")
        if len(self._gathering) >= self._capacity:
            raise UnavailableError("too many answers wait to be kept; try again in a moment")
        kept = asyncio.get_running_loop().create_future()
        self._gathering.append((row, kept))
        if self._committing is None:
            self._commit(self._thread)
        await kept

    async def close(self) -> None:
        """Keep the rows that wait, and accept no more."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        while self._committing is not None:
            await asyncio.wait([self._committing])
        thread.shutdown()

    def _commit(self, thread: ThreadPoolExecutor) -> None:
        batch, self._gathering = self._gathering, []
        rows = [row for row, _ in batch]
        loop = asyncio.get_running_loop()
        self._committing = loop.run_in_executor(thread, keep, self._engine, rows)
        self._committing.add_done_callback(partial(self._committed, thread, batch))

    def _committed(
        self,
        thread: ThreadPoolExecutor,
        batch: Sequence[_Waiting],
        commit: asyncio.Future[list[ValueError | None]],
    ) -> None:
        self._committing = None
        if self._gathering:
            self._commit(thread)
        error = commit.exception()
        refusals = [error] * len(batch) if error else commit.result()
        for (_, kept), refusal in zip(batch, refusals, strict=True):
            if kept.done():
                continue  # its caller went away
            if refusal is None:
                kept.set_result(None)
            else:
                kept.set_exception(refusal)


def keep(engine: Engine, rows: Sequence[Row]) -> list[ValueError | None]:
    """Commit *rows* at once; for each, why the database refuses this very row, or None.

    Raises:
        UnavailableError: none of them is kept.
    """
    with connected(engine) as connection:
        try:
            with connection.begin():
                _insert(connection, rows)
        except _OF_THE_ROW:
            with connection.begin():
                return [_refusal(connection, row) for row in rows]
    return [None] * len(rows)


def _refusal(connection: Connection, row: Row) -> ValueError | None:
    try:
        with connection.begin_nested():
            _insert(connection, [row])
    except _OF_THE_ROW as error:
        if isinstance(row, Once) and isinstance(error, IntegrityError):
            return KeyTakenError("this key was used a moment ago")
        return ValueError(f"this row cannot be kept: {error.orig}")
    return None


def _insert(connection: Connection, rows: Sequence[Row]) -> None:
    attempts = [vars(row) for row in rows if isinstance(row, Attempt)]
    once = [row for row in rows if isinstance(row, Once)]
    reveals = [vars(row) for row in rows if isinstance(row, Reveal)]
    predictions = [vars(row) for row in rows if isinstance(row, Prediction)]
    if attempts:
        connection.execute(insert(AttemptRow), attempts)
    if reveals:
        connection.execute(_unless_there(connection, RevealRow), reveals)
    if predictions:
        connection.execute(_unless_there(connection, PredictionRow), predictions)
    if once:
        insert_once(connection, once)


def _unless_there(connection: Connection, table: type[RevealRow | PredictionRow]) -> Insert:
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()
