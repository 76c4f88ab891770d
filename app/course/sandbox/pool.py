"""The pool of workers: one per slot, replaced when they die, scheduled by a fair queue."""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from app.core.errors import UnavailableError
from app.course.sandbox.component import component_file, ensure, package_paths
from app.course.sandbox.process import WorkerLostError, WorkerProcess, verify_isolation, verify_lockdown
from app.server.aside.fair_queue import Client, FairQueue
from app.server.config import Settings
from app.server.metrics import SANDBOX_KILLS

_PER_CORE = 4  # a worker in an endless loop is cheap: the kernel shares the processor
# Exponential backoff, in seconds, until a failed start is tried again.
FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LONGEST_RUN = 60.0  # seconds; no run uses more
_PREPARED = 5.0  # seconds that a run waits for a sandbox that starts; to build it takes longer
_AGAIN = 1.0  # seconds until a cancellation is repeated
_GONE = "the sandbox's files are missing from WALLCLOCK_CACHE; they are being built again"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SandboxHealth:
    """Whether code can run: a state, a sentence for every visitor, and the *cause* for the log."""

    state: Literal["starting", "ready", "off"]
    says: str
    cause: str = ""


STARTING = SandboxHealth("starting", "The sandbox is being prepared; this takes about half a minute.")
READY = SandboxHealth("ready", "The sandbox is ready.")
_NOT_STARTED = SandboxHealth("off", "The sandbox has not been started.")
_STOPPING = SandboxHealth("off", "The server is stopping.")


def slots_of(settings: Settings) -> int:
    """How many programs may run at the same time."""
    return settings.sandbox_workers or _PER_CORE * (os.cpu_count() or 1)


def sandbox_off(cause: str) -> SandboxHealth:
    """The health of a sandbox that cannot run code because of *cause*."""
    says = "This server cannot run programs right now; its log says why. Everything else works."
    return SandboxHealth("off", says, cause)


class Pool:
    """Workers that are replaced when they die; a failed start is tried again after *pause* seconds, then twice that."""

    def __init__(
        self, settings: Settings, worker: type[WorkerProcess] = WorkerProcess, pause: float = FIRST_PAUSE
    ) -> None:
        self.lock = sys.platform.startswith("linux")
        self.file = component_file(settings.cache)
        self.paths = package_paths()
        self.workers: set[WorkerProcess] = set()
        self._slots = slots_of(settings)
        self._queue: FairQueue[WorkerProcess] = FairQueue()
        self._worker = worker
        self._first_pause = pause
        self._health = _NOT_STARTED
        self._settled = asyncio.Event()
        self._missing = asyncio.Event()
        self._supervisor: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def health(self) -> SandboxHealth:
        """Whether code can run now."""
        return self._health

    @property
    def waiting(self) -> int:
        """Runs that wait for a worker."""
        return self._queue.waiting

    @property
    def busy(self) -> int:
        """Workers that run a program."""
        return self._queue.taken

    def start(self) -> None:
        """Start preparing in the background; `health` says when it is done."""

        def note_end(supervisor: asyncio.Task[None]) -> None:
            if not supervisor.cancelled() and (error := supervisor.exception()):
                _log.error("the sandbox's supervisor has crashed", exc_info=error)
                self._become(sandbox_off(f"a fault of the server: {error!r}"))

        self._health = STARTING
        self._supervisor = asyncio.create_task(self._supervise())
        self._supervisor.add_done_callback(note_end)

    async def settled(self) -> None:
        """Wait until it is known whether code can run."""
        if self._supervisor is not None:
            await self._settled.wait()

    async def prepared(self) -> None:
        """Wait a moment for a sandbox that starts, as one does after its server was killed."""
        if self._health.state == "starting":
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), _PREPARED)

    async def close(self) -> None:
        """Stop every worker; runs that wait are told that the server is stopping."""
        self._become(_STOPPING)
        while self._supervisor and not self._supervisor.done():
            self._supervisor.cancel()  # again, if need be: wait_for loses one now and then
            await asyncio.wait([self._supervisor], timeout=_AGAIN)
        for worker in list(self.workers):
            self._retire(worker)
        await asyncio.gather(*self._tasks)

    async def ask(self, client: Client, request: Mapping[str, object], wall: float, *, long: bool) -> dict[str, object]:
        """A worker's answer to *request*, once *client* is granted a slot.

        Raises:
            LostError: the worker was lost; a DiedError if the request may be tried again.
            UnavailableError: too many runs are waiting, or no worker can be started.
        """
        await self.prepared()
        if self._health.state != "ready":
            raise UnavailableError(self._health.says)
        async with self._queue.slot(client, long=long) as lease:
            try:
                answer = await lease.resource.ask(request, wall)
            except BaseException:
                # Cancellation, too: this worker's next reply would answer another run.
                self._retire(lease.resource)
                raise
            finally:
                lease.lost = lease.resource not in self.workers
            used = answer.get("used")
            lease.used = used if isinstance(used, float) and 0 <= used <= _LONGEST_RUN else None
            return answer

    async def _supervise(self) -> None:
        """Maintain one worker per slot for as long as the server runs."""
        pause = self._first_pause
        while True:
            self._missing.clear()
            try:
                await self._fill()
            except (UnavailableError, WorkerLostError, OSError) as error:
                # A sandbox that works gets a second attempt: one start may just have been unlucky.
                if self._health.state != "ready" or pause > self._first_pause:
                    self._failed(str(error) or "a worker was lost in its self-test")
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = self._first_pause
                await self._missing.wait()

    async def _fill(self) -> None:
        """Start the missing workers; those that start serve even if others fail."""
        if self._health.state == "ready" and not self.workers and not self.file.exists():
            self._become(sandbox_off(_GONE))
        await ensure(self.file)
        starts = (self._start() for _ in range(self._slots - len(self.workers)))
        results = await asyncio.gather(*starts, return_exceptions=True)
        if self.workers and self._health.state != "ready":
            await verify_isolation(self._try_out)
            self._become(READY)
        for failure in results:
            if failure is not None:
                raise failure

    async def _start(self) -> None:
        worker = await self._worker.start(self.file, self.paths, lock=self.lock)
        self.workers.add(worker)
        try:
            verify_lockdown(worker)
        except (UnavailableError, OSError):
            self._retire(worker)
            raise

        async def watch() -> None:
            await worker.process.wait()
            self._retire(worker)  # before a run needs it

        self._do(watch())
        self._queue.add(worker)

    def _retire(self, worker: WorkerProcess) -> None:
        """Take *worker* out of service and kill it."""
        if worker in self.workers:
            SANDBOX_KILLS.inc()
            self.workers.discard(worker)
            self._queue.remove(worker)
            self._do(worker.kill())
            self._missing.set()

    def _failed(self, cause: str) -> None:
        """Note that a worker cannot be started, or that the self-test failed."""
        if cause != self._health.cause:
            _log.warning("the sandbox cannot start: %s", cause)
        if self._health.state != "ready":  # workers that have not passed the self-test never serve
            for worker in list(self.workers):
                self._retire(worker)
        if not self.workers:
            self._become(sandbox_off(cause))

    def _become(self, health: SandboxHealth) -> None:
        self._health = health
        if health.state == "off":
            self._queue.refuse(UnavailableError(health.says))
        self._settled.set()

    async def _try_out(self, request: Mapping[str, object], wall: float) -> dict[str, object]:
        for worker in self.workers:  # no run has one before the self-test is passed
            return await worker.ask(request, wall)
        raise WorkerLostError

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
