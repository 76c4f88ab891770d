"""Where searches over layouts run: one at a time, beside the event loop, the latest remembered."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from time import thread_time

from app.aside import Seats, aside
from app.searching import Found, Space, found_in
from app.translation import noted

MOST = 2_000_000  # layouts of a search
_SECONDS = 6.0  # of processor time, for one search
_KEPT = 128  # results that are remembered, about 40 kB each
_WAITING = 5  # searches of one address
_TOP = 10
_BUSY = noted("other searches are running; ask again in a moment")

Key = tuple[str, ...]


class Desk:
    """Runs searches, each key once, and bounded whatever is asked."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        """A search may take that many *seconds*."""
        self._seconds = seconds
        self._kept: OrderedDict[Key, Found | str] = OrderedDict()
        self._running: dict[Key, asyncio.Task[Found | str]] = {}
        self._chair = Seats(_BUSY, count=1, waiting=_WAITING)

    async def found(
        self, key: Key, space: Callable[[], Space], admit: Callable[[], None]
    ) -> Found | str:
        """What a search of *space* found, or why there is nothing to search.

        *admit* is called before a search, and raises an error if that is not allowed.

        Raises:
            HTTPException: 503, if too many searches of the same address are waiting.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        task = self._running.get(key)
        if task is None:
            admit()
            task = self._running[key] = asyncio.create_task(self._run(key, space))
        return await asyncio.shield(task)  # others may wait for it, too

    async def _run(self, key: Key, space: Callable[[], Space]) -> Found | str:
        try:
            async with self._chair.seat():
                found = await aside(partial(_searched, space, self._seconds))
        finally:
            del self._running[key]
        self._kept[key] = found
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


def _searched(space: Callable[[], Space], seconds: float) -> Found | str:
    end = thread_time() + seconds

    def hurry(seen: int, size: int) -> None:
        if thread_time() > end:
            raise ValueError(
                f"after {seconds:g} seconds, {seen:,} of {size:,} layouts had been searched; fix"
                " some of the degrees"
            )

    try:
        return found_in(space(), top=_TOP, largest=MOST, progress=hurry)
    except ValueError as error:
        return str(error)
