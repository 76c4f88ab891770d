"""Durable writes by group commit: when `put` returns, the row is on the disk.

One thread writes. While it commits, arriving rows gather in a batch, and the next commit stores the whole batch. A
commit costs about the same for one row as for a hundred, so throughput grows with the number of callers that wait.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Connection, Engine, exists, insert, select
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import col

from app.core.errors import UnavailableError
from app.server.db.assessments import AssessedAnswer, AssessedRow
from app.server.db.replays import KeyTakenError, ReplayedAttempt, insert_once, is_replayed
from app.server.db.session import ConnectionLostError, insert_missing, open_connection
from app.server.db.tables import Attempt, AttemptRow, Prediction, PredictionRow, Reveal, RevealRow
from app.server.metrics import WRITER_ROWS, WRITER_SECONDS

NewRow = Attempt | Reveal | Prediction | AssessedAnswer | ReplayedAttempt
_First = type[RevealRow | PredictionRow | AssessedRow]
_Waiting = tuple[NewRow, asyncio.Future[None]]

_TURNS = 3  # turns of the event loop that a commit waits for rows whose requests have arrived
_CAPACITY = 5_000  # rows; some seconds of work for a slow disk
_PAUSES = (0.1, 0.2, 0.4)  # seconds until rows are sent again whose connection was lost
_OF_ONE_ATTEMPT = ("learner", "exercise", "seed", "answer", "at")  # at: in microseconds
_ADD_ATTEMPTS = insert(AttemptRow)
_OF_THE_ROW = (IntegrityError, DataError)
# Rows of which the first one stays, and their tables.
_FIRST_STAYS: tuple[tuple[type[Reveal | Prediction | AssessedAnswer], _First], ...] = (
    (Reveal, RevealRow),
    (Prediction, PredictionRow),
    (AssessedAnswer, AssessedRow),
)


class Writer:
    """Stores rows, append-only; one per process, used from one event loop."""

    def __init__(self, engine: Engine, capacity: int = _CAPACITY) -> None:
        """Write to *engine*; refuse rows while *capacity* of them wait (backpressure)."""
        self._engine = engine
        self._capacity = capacity
        self._gathering: list[_Waiting] = []
        self._committing: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Accept rows."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")

    async def put(self, row: NewRow) -> None:
        """Return once *row* is durably stored; if the caller is canceled, it is stored anyway.

        Raises:
            UnavailableError: it is not stored: the database cannot be written, too many rows are
                waiting, or the writer is closed.
            KeyTakenError: another row with the same key was stored first.
            ValueError: the database refuses this row.
        """
        await self.enqueue(row)

    def enqueue(self, row: NewRow) -> asyncio.Future[None]:
        """What is done once *row* is durably stored, after all rows that came before it, or fails as `put` does.

        Raises:
            UnavailableError: too many rows are waiting, or the writer is closed.
        """
        if self._thread is None:
            raise UnavailableError("answers cannot be stored while the server starts or stops")
        if len(self._gathering) >= self._capacity:
            raise UnavailableError("too many answers are waiting to be stored; try again shortly")
        stored = asyncio.get_running_loop().create_future()
        self._gathering.append((row, stored))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit(self._thread))
        return stored

    @property
    def waiting(self) -> int:
        """Rows that wait for the next commit."""
        return len(self._gathering)

    async def close(self) -> None:
        """Store the rows that wait, and accept no more."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._committing is not None:
            await self._committing
        thread.shutdown()

    async def _commit(self, thread: ThreadPoolExecutor) -> None:
        """Commit what gathers, together with what has arrived by then and is a few turns of the loop away."""
        loop = asyncio.get_running_loop()
        while self._gathering:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            batch, self._gathering = self._gathering, []
            begin = time.perf_counter()
            commit = loop.run_in_executor(thread, store, self._engine, [row for row, _ in batch])
            await asyncio.wait([commit])
            WRITER_ROWS.observe(len(batch))
            WRITER_SECONDS.observe(time.perf_counter() - begin)
            error = commit.exception()
            refusals = [error] * len(batch) if error else commit.result()
            for (_, stored), refusal in zip(batch, refusals, strict=True):
                if stored.done():
                    continue  # its caller was canceled
                if refusal is None:
                    stored.set_result(None)
                else:
                    stored.set_exception(refusal)
        self._committing = None


def store(engine: Engine, rows: Sequence[NewRow]) -> list[ValueError | None]:
    """Commit *rows* together; for each, why the database refuses it, or None.

    If the connection is lost, rows that are not stored by then are sent again over another one.

    Raises:
        UnavailableError: none of them is stored, unless the connection was lost again and again.
    """
    send = _store
    for pause in _PAUSES:
        try:
            return send(engine, rows)
        except ConnectionLostError:
            send = _store_missing
            time.sleep(pause)
    return send(engine, rows)


def _store_missing(engine: Engine, rows: Sequence[NewRow]) -> list[ValueError | None]:
    """The same after a commit that may have arrived."""
    with open_connection(engine) as connection:
        stored = [_is_stored(connection, row) for row in rows]
    missing = [row for row, is_there in zip(rows, stored, strict=True) if not is_there]
    refusals = iter(_store(engine, missing))
    return [None if is_there else next(refusals) for is_there in stored]


def _is_stored(connection: Connection, row: NewRow) -> bool:
    """Whether *row* was stored by an earlier try; False if storing it twice is storing it once."""
    if isinstance(row, ReplayedAttempt):
        return is_replayed(connection, row)
    if not isinstance(row, Attempt):
        return False
    same = [col(getattr(AttemptRow, name)) == getattr(row, name) for name in _OF_ONE_ATTEMPT]
    return connection.execute(select(exists().where(*same))).scalar_one()


def _store(engine: Engine, rows: Sequence[NewRow]) -> list[ValueError | None]:
    with open_connection(engine) as connection:
        try:
            with connection.begin():
                _insert(connection, rows)
        except _OF_THE_ROW:
            with connection.begin():
                return [_refusal(connection, row) for row in rows]
    return [None] * len(rows)


def _refusal(connection: Connection, row: NewRow) -> ValueError | None:
    try:
        with connection.begin_nested():
            _insert(connection, [row])
    except _OF_THE_ROW as error:
        if isinstance(row, ReplayedAttempt) and isinstance(error, IntegrityError):
            return KeyTakenError("this key was used a moment ago")
        return ValueError(f"this row cannot be stored: {error.orig}")
    return None


def _insert(connection: Connection, rows: Sequence[NewRow]) -> None:
    attempts = [vars(row) for row in rows if isinstance(row, Attempt)]
    once = [row for row in rows if isinstance(row, ReplayedAttempt)]
    if attempts:
        connection.execute(_ADD_ATTEMPTS, attempts)
    for kind, table in _FIRST_STAYS:
        if found := [vars(row) for row in rows if isinstance(row, kind)]:
            connection.execute(insert_missing(connection, table), found)
    if once:
        insert_once(connection, once)
