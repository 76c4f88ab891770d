"""Grade a file on all cores."""

import asyncio
import gc
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from app.core.errors import UnavailableError
from app.core.line_reader import Numbered
from app.course.content.catalog import Catalog
from app.course.content.course import read_course
from app.server.config import Settings
from app.site.grading.offline import FileGrader, VerdictTally

_LINES, _BYTES = 400, 1 << 20  # of a piece, whichever comes first
_FEW = 2_000  # lines that are graded sooner than processes start
_AHEAD = 4  # pieces for each process that may wait for an earlier one
_TRIES = 3  # processes that may die of the same piece
_LOOK = 0.5  # seconds
_FORK = multiprocessing.get_context("fork").Process
_SPAWN = multiprocessing.get_context("spawn").Process


@dataclass(slots=True)
class _Piece:
    """Some lines, and once they are graded their rows."""

    lines: list[Numbered]
    rows: list[bytes] | None = None
    tries: int = 0


@dataclass(slots=True)
class _Worker:
    """A process, and the piece that it has."""

    process: BaseProcess
    pipe: Connection
    piece: _Piece | None = None


@dataclass(slots=True)
class _Crew:
    """The processes; those that die are replaced."""

    settings: Settings
    catalog: Catalog
    tally: VerdictTally
    workers: list[_Worker] = field(default_factory=list)

    def hire(self) -> _Worker:
        """A new process."""
        # A fork has the catalog already; with other threads it would not be safe.
        is_safe = sys.platform == "linux" and threading.active_count() == 1
        start: Callable[..., BaseProcess] = _FORK if is_safe else _SPAWN
        ours, theirs = multiprocessing.Pipe()
        catalog = self.catalog if is_safe else None
        process = start(target=_work, args=(theirs, self.settings, catalog), daemon=False)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def give(self, worker: _Worker, piece: _Piece) -> None:
        """Have *worker* grade *piece*; if it is dead, `collect` notices."""
        worker.piece = piece
        try:
            worker.pipe.send(piece.lines)
        except OSError:
            return

    def collect(self) -> None:
        """Wait for a process to grade its piece, or to die."""
        busy = {worker.pipe: worker for worker in self.workers if worker.piece}
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]
            try:
                rows, tally = worker.pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if worker.piece:
                worker.piece.rows = rows
            self.tally.add(tally)
            worker.piece = None

    def close(self) -> None:
        """End every process."""
        for worker in self.workers:
            if worker.piece:
                worker.process.kill()
            with suppress(OSError):
                worker.pipe.send(None)  # a closed pipe would not end it: later forks have it, too
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()

    def _replace(self, dead: _Worker) -> None:
        self.workers.remove(dead)
        dead.pipe.close()
        dead.process.join()
        piece = dead.piece
        if piece is None:
            return
        piece.tries += 1
        if piece.tries == _TRIES:
            first, last = piece.lines[0][0], piece.lines[-1][0]
            raise UnavailableError(
                f"{_TRIES} processes died while they graded lines {first} to {last}; if the system "
                "killed them for their memory, use fewer with --processes"
            )
        self.give(self.hire(), piece)


def grade_on(
    processes: int, lines: Iterable[Numbered], catalog: Catalog, settings: Settings, tally: VerdictTally
) -> Iterator[list[bytes]]:
    """One line of JSON per numbered line that is not blank, graded by *processes*, in order.

    Few lines are graded in this process. A process that dies costs the time of its piece, which
    another one grades again.

    Raises:
        UnavailableError: processes die again and again of the same lines.
    """
    lines = iter(lines)
    first = list(islice(lines, _FEW))
    if processes == 1 or len(first) < _FEW:
        yield from _here(chain([first], _pieces(lines)), catalog, settings, tally)
        return
    slots = settings.sandbox_workers or 2 * (os.cpu_count() or 1)
    each = settings.model_copy(update={"sandbox_workers": math.ceil(slots / processes)})
    gc.freeze()  # or each process would copy the catalog's pages, by visiting them
    with closing(_Crew(each, catalog, tally)) as crew:
        for _ in range(processes):
            crew.hire()
        yield from _shared(crew, _pieces(chain(first, lines)))


def _here(
    pieces: Iterable[list[Numbered]], catalog: Catalog, settings: Settings, tally: VerdictTally
) -> Iterator[list[bytes]]:
    grader = FileGrader(catalog, settings)
    with asyncio.Runner() as runner:
        try:
            for lines in pieces:
                yield runner.run(_graded_rows(grader, lines, tally))
        finally:
            runner.run(grader.close())


def _shared(crew: _Crew, pieces: Iterator[list[Numbered]]) -> Iterator[list[bytes]]:
    """The rows of *pieces* in their order; few of them are in memory."""
    waiting: deque[_Piece] = deque()
    most, rest = _AHEAD * len(crew.workers), True
    while rest or waiting:
        for worker in crew.workers:
            if worker.piece is None and len(waiting) < most and (lines := next(pieces, None)):
                waiting.append(piece := _Piece(lines))
                crew.give(worker, piece)
            elif worker.piece is None and len(waiting) < most:
                rest = False
        if any(worker.piece for worker in crew.workers):
            crew.collect()
        while waiting and waiting[0].rows is not None:
            yield waiting.popleft().rows or []


def _pieces(lines: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    piece: list[Numbered] = []
    size = 0
    for numbered in lines:
        piece.append(numbered)
        size += len(numbered[1] or b"")
        if len(piece) == _LINES or size >= _BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


async def _graded_rows(grader: FileGrader, lines: Iterable[Numbered], tally: VerdictTally) -> list[bytes]:
    return [row async for row in grader.grade(lines, tally)]


def _work(pipe: Connection, settings: Settings, catalog: Catalog | None) -> None:
    """Grade pieces until there are no more, or the process that sends them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that process ends this one
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    grader = FileGrader(catalog or read_course(settings), settings)
    with asyncio.Runner() as runner:
        try:
            while lines := pipe.recv():
                tally = VerdictTally()
                pipe.send((runner.run(_graded_rows(grader, lines, tally)), tally))
        finally:
            runner.run(grader.close())


def _follow(parent: int) -> None:
    """End this process when *parent* has died: no one waits for its rows."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
