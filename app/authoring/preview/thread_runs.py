"""Work in another thread that awaits programs of the sandbox, of which only the last counts."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from app.course.sandbox.execution import Execution, Plain
from app.course.sandbox.runner import Runner

T = TypeVar("T")
Work = Callable[[Runner], Coroutine[Any, Any, T]]


class SupersededError(Exception):
    """Later work of the same page has replaced this."""


class ThreadRunner(Runner):
    """Runs code for the event loop of another thread, in the workers of *runner*."""

    def __init__(self, runner: Runner, loop: asyncio.AbstractEventLoop) -> None:
        self._runner = runner
        self._loop = loop

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        """As `Runner.run`."""
        work = self._runner.run(source, entry, calls, learner)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class LatestWork:
    """Runs one piece of work at a time; of those of one page, the latest replaces the others."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._thread = asyncio.Lock()
        self._running: dict[str, asyncio.Task[Any]] = {}

    async def result(self, page: str, work: Work[T]) -> T:
        """The result of *work*, which replaces earlier work of *page*.

        Raises:
            SupersededError: later work has replaced it.
        """
        task = asyncio.create_task(self._in_turn(work))
        if earlier := self._running.get(page):
            earlier.cancel()
        self._running[page] = task
        try:
            return await task
        except asyncio.CancelledError:
            if self._running.get(page) is task:
                raise
            raise SupersededError from None
        finally:
            if self._running.get(page) is task:
                del self._running[page]

    async def _in_turn(self, work: Work[T]) -> T:
        async with self._thread:
            return await _in_thread(work, self._runner)


async def _in_thread(work: Work[T], runner: Runner) -> T:
    """The result of *work* in an event loop of another thread; canceled when this is."""
    outer = asyncio.get_running_loop()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def main() -> T:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work(ThreadRunner(runner, outer))

    running = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(main())))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        loop, task = await asyncio.wrap_future(started)
        if task:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
        with suppress(asyncio.CancelledError):
            await running
        raise
