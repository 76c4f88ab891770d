"""Keeps workers alive, one a seat, and hands them to runs in turn."""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine, Mapping

from app.config import Settings
from app.errors import UnavailableError
from app.sandbox.component import component_file, ensure, package_paths
from app.sandbox.fair_queue import FairQueue, Turn
from app.sandbox.health import NOT_STARTED, READY, STARTING, STOPPING, Health, off
from app.sandbox.process import LostError, WorkerProcess
from app.sandbox.self_test import prove, prove_locked

_PER_CORE = 4  # a worker in an endless loop is cheap: the kernel shares the processor
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds until a start that failed is tried again
_LONGEST = 60.0  # seconds; no run uses more
_AGAIN = 1.0  # seconds until a cancellation is repeated
_GONE = "the sandbox's files are gone from WALLCLOCK_CACHE; they are being built again"
_log = logging.getLogger(__name__)


class Pool:
    """Workers of the class *worker*; those that die, run or idle, are replaced."""

    def __init__(self, settings: Settings, worker: type[WorkerProcess] = WorkerProcess) -> None:
        self.lock = sys.platform.startswith("linux")
        self.file = component_file(settings.cache)
        self.paths = package_paths()
        self.workers: set[WorkerProcess] = set()
        self._seats = settings.sandbox_workers or _PER_CORE * (os.cpu_count() or 1)
        self._turns: FairQueue[WorkerProcess] = FairQueue()
        self._worker = worker
        self._health = NOT_STARTED
        self._settled = asyncio.Event()
        self._missing = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def health(self) -> Health:
        """Whether code can run now."""
        return self._health

    def start(self) -> None:
        """Begin to prepare; `health` tells when it is done."""
        self._health = STARTING
        self._keeping = asyncio.create_task(self._keep())
        self._keeping.add_done_callback(self._kept)

    async def settled(self) -> None:
        """Wait until it is known whether code can run."""
        if self._keeping is not None:
            await self._settled.wait()

    async def close(self) -> None:
        """End every worker; runs that wait hear that the server is stopping."""
        self._become(STOPPING)
        while self._keeping and not self._keeping.done():
            self._keeping.cancel()  # again, if need be: wait_for loses one now and then
            await asyncio.wait([self._keeping], timeout=_AGAIN)
        for worker in list(self.workers):
            self._end(worker)
        await asyncio.gather(*self._tasks)

    async def ask(
        self, turn: Turn, request: Mapping[str, object], wall: float, *, long: bool
    ) -> dict[str, object]:
        """What a worker answers to *request*, once *turn* has come; for *long* runs it comes later.

        Raises:
            LostError: the worker was lost; a DiedError, if it may be tried again.
            UnavailableError: too many runs wait, or no worker can be started.
        """
        if self._health.state != "ready":
            raise UnavailableError(self._health.says)
        async with self._turns.seat(turn, long=long) as seat:
            try:
                answer = await seat.place.ask(request, wall)
            except BaseException:
                # Cancellation, too: what this worker says next would answer another run.
                self._end(seat.place)
                raise
            finally:
                seat.lost = seat.place not in self.workers
            seat.used = _seconds(answer.get("used"))
            return answer

    async def _keep(self) -> None:
        """See to it that there is a worker for each seat, as long as the server runs."""
        pause = _FIRST_PAUSE
        while True:
            self._missing.clear()
            try:
                await self._fill()
            except (UnavailableError, LostError, OSError) as error:
                # What runs waits for the first new start; it may be that one was unlucky.
                if self._health.state != "ready" or pause > _FIRST_PAUSE:
                    self._failed(str(error) or "a worker was lost in its self-test")
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE
                await self._missing.wait()

    def _kept(self, keeping: asyncio.Task[None]) -> None:
        if not keeping.cancelled() and (error := keeping.exception()):
            _log.error("the sandbox is not looked after any more", exc_info=error)
            self._become(off(f"a fault of the server: {error!r}"))

    async def _fill(self) -> None:
        """Start what is missing; those that start serve even where others fail."""
        if self._health.state == "ready" and not self.workers and not self.file.exists():
            self._become(off(_GONE))
        await ensure(self.file)
        starts = (self._start() for _ in range(self._seats - len(self.workers)))
        results = await asyncio.gather(*starts, return_exceptions=True)
        if self.workers and self._health.state != "ready":
            await prove(self._try_out)
            self._become(READY)
        for failure in results:
            if failure is not None:
                raise failure

    async def _start(self) -> None:
        worker = await self._worker.start(self.file, self.paths, lock=self.lock)
        self.workers.add(worker)
        try:
            prove_locked(worker)
        except (UnavailableError, OSError):
            self._end(worker)
            raise
        self._do(self._watch(worker))
        self._turns.add(worker)

    async def _watch(self, worker: WorkerProcess) -> None:
        """Replace *worker* when it dies, before anybody misses it."""
        await worker.process.wait()
        self._end(worker)

    def _end(self, worker: WorkerProcess) -> None:
        """Take *worker* out of service."""
        if worker in self.workers:
            self.workers.discard(worker)
            self._turns.remove(worker)
            self._do(worker.kill())
            self._missing.set()

    def _failed(self, cause: str) -> None:
        """No further worker can be started, or the walls do not stand."""
        if cause != self._health.cause:
            _log.warning("the sandbox cannot start what it needs: %s", cause)
        if self._health.state != "ready":  # what does not prove itself does not serve
            for worker in list(self.workers):
                self._end(worker)
        if not self.workers:
            self._become(off(cause))

    def _become(self, health: Health) -> None:
        self._health = health
        if health.state == "off":
            self._turns.refuse(UnavailableError(health.says))
        self._settled.set()

    async def _try_out(self, request: Mapping[str, object], wall: float) -> dict[str, object]:
        for worker in self.workers:  # nobody else has one before the self-test is passed
            return await worker.ask(request, wall)
        raise LostError

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _seconds(used: object) -> float | None:
    """The processor time that a worker says it used, where that can be."""
    return used if isinstance(used, float) and 0 <= used <= _LONGEST else None
