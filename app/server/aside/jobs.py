"""Jobs that take long: a few at a time, each run once however often it is asked for."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from app.server.aside import Seats

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class BoundedJobs(Generic[Key, Result]):
    """Runs jobs, bounded whatever is asked, and remembers the latest results."""

    def __init__(self, busy: str, *, at_once: int, waiting: int, room: int = 0) -> None:
        """At most *waiting* jobs of a payer may wait; others are told *busy*. *room* results are remembered."""
        self._seats = Seats(busy, count=at_once, waiting=waiting)
        self._room = room
        self._results: OrderedDict[Key, Result] = OrderedDict()
        self._running: dict[Key, asyncio.Task[Result]] = {}

    async def run(self, job: Callable[[], Awaitable[Result]]) -> Result:
        """The result of *job*, which has no key: it is neither shared nor remembered.

        Raises:
            HTTPException: 503, if too many jobs of the same payer are waiting.
        """
        async with self._seats.seat():
            return await job()

    async def result(self, key: Key, job: Callable[[], Awaitable[Result]], admit: Callable[[], None]) -> Result:
        """The result of *key*: remembered, of a job that is running, or of *job*.

        *admit* is called before a job, and raises an error if that is not allowed.

        Raises:
            HTTPException: 503, if too many jobs of the same payer are waiting.
        """
        if key in self._results:
            self._results.move_to_end(key)
            return self._results[key]
        if key not in self._running:
            admit()
            self._running[key] = asyncio.create_task(self._finish(key, job))
        return await asyncio.shield(self._running[key])  # others may wait for it, too

    async def _finish(self, key: Key, job: Callable[[], Awaitable[Result]]) -> Result:
        try:
            result = await self.run(job)
        finally:
            del self._running[key]
        self._results[key] = result
        while len(self._results) > self._room:
            self._results.popitem(last=False)
        return result
