"""The way into the sandbox."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.config import Settings
from app.errors import AnswerError, UnavailableError
from app.sandbox.component import component, package_paths
from app.sandbox.guest.codec import encode
from app.sandbox.process import LostError, WorkerProcess
from app.sandbox.replies import report_of
from app.sandbox.report import Plain, Report, Stopped
from app.sandbox.turns import FairQueue
from app.sandbox.walls import prove, prove_locked

SOURCE_LIMIT = 64_000  # bytes
_PER_CORE = 4  # a worker in an endless loop is cheap: the kernel shares the processor
_TEST_WALL = 0.3


@dataclass(frozen=True, slots=True)
class Health:
    """Whether code can run, and one sentence on why not, with the cure."""

    state: Literal["building", "ready", "off"]
    says: str


_BUILDING = Health("building", "The sandbox is being prepared; this takes about half a minute.")
_READY = Health("ready", "The sandbox is ready.")
_READY_ELSEWHERE = Health("ready", "The sandbox is ready, without the locks that Linux adds.")


class Runner:
    """Runs learner code in worker processes; see `run`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seats = settings.sandbox_workers or _PER_CORE * (os.cpu_count() or 1)
        self._turns = FairQueue(self._seats)
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._health = Health("off", "The sandbox has not been started.")
        self._preparing: asyncio.Task[None] | None = None
        self._replacing: set[asyncio.Task[None]] = set()
        self._paths = package_paths()
        self._component = Path()
        self._closed = False
        self._lock = sys.platform.startswith("linux")

    @property
    def health(self) -> Health:
        """Whether code can run now."""
        return self._health

    async def start(self) -> None:
        """Begin to prepare; `health` tells when it is done."""
        self._health = _BUILDING
        self._preparing = asyncio.create_task(self._prepare())

    async def ready(self) -> Health:
        """Wait until the sandbox is ready, or off."""
        if self._preparing is not None:
            await asyncio.shield(self._preparing)
        return self._health

    async def run(
        self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = ""
    ) -> Report:
        """What *source* does, and what its function *entry* returns for each of *calls*.

        Raises:
            AnswerError: *source* is too long, or no text.
            UnavailableError: the sandbox is not ready, or too many runs wait.
        """
        request = _request(source, entry, calls)
        if self._health.state != "ready":
            raise UnavailableError(self._health.says)
        who: object = learner or object()
        await self._turns.enter(who)
        try:
            return await self._run(request, len(calls), self._settings.sandbox_wall)
        finally:
            self._turns.leave(who)

    async def close(self) -> None:
        """End every worker."""
        self._closed = True
        self._health = Health("off", "The server is stopping.")
        tasks = [task for task in (self._preparing, *self._replacing) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(worker.kill() for worker in self._workers))
        self._workers.clear()
        self._idle.clear()

    async def _prepare(self) -> None:
        try:
            self._component = await component(self._settings.cache)
            self._idle += await asyncio.gather(*(self._start() for _ in range(self._seats)))
            await prove(self._try_out)
        except UnavailableError as error:
            self._health = Health("off", f"Code cannot run on this server: {error}.")
            return
        self._health = _READY if self._lock else _READY_ELSEWHERE

    async def _start(self) -> WorkerProcess:
        worker = await WorkerProcess.start(self._component, self._paths, lock=self._lock)
        self._workers.add(worker)
        prove_locked(worker)
        return worker

    async def _try_out(self, source: str) -> Report:
        await self._turns.enter(self)
        try:
            return await self._run(_request(source, "f", [()]), 1, _TEST_WALL)
        finally:
            self._turns.leave(self)

    async def _run(self, request: dict[str, object], calls: int, wall: float) -> Report:
        worker = await self._worker()
        try:
            answer = await worker.ask(request, wall)
        except LostError:
            self._replace(worker)
            return Report(None, "", (Stopped("lost"),), wall)
        except asyncio.CancelledError:
            self._replace(worker)
            raise
        self._idle.append(worker)
        self._turns.free()
        return report_of(answer, calls)

    async def _worker(self) -> WorkerProcess:
        if self._idle:
            return self._idle.pop()
        try:  # a replacement could not be started before; the cause may be gone
            return await self._start()
        except (UnavailableError, asyncio.CancelledError):
            self._turns.free()
            raise

    def _replace(self, worker: WorkerProcess) -> None:
        """Start another one in its place, while others run."""
        if self._closed:
            return
        self._workers.discard(worker)
        task = asyncio.create_task(self._replaced(worker))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replaced(self, worker: WorkerProcess) -> None:
        await worker.kill()
        with suppress(UnavailableError):  # the next run that lacks a worker says why
            self._idle.append(await self._start())
        self._turns.free()


def _request(source: str, entry: str, calls: Sequence[Sequence[Plain]]) -> dict[str, object]:
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise AnswerError("the program has characters that are no Unicode text") from None
    if size > SOURCE_LIMIT:
        raise AnswerError(f"the program is too long: {size:,} bytes of at most {SOURCE_LIMIT:,}")
    arguments = [[encode(value) for value in call] for call in calls]
    return {"source": source, "entry": entry, "calls": arguments}
