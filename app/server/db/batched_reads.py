"""Reads in groups: what is asked for at the same moment is looked up together.

A class answers at the same instant. A query costs about the same for one learner as for thirty, so
reading gets cheaper per request the more of them wait, as writing does (see `writer`).
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from app.server.db.session import Outage

_QUIET = 2  # turns of the event loop in which no key came: what was received is on its way
_MOST = 100  # keys of one look-up: databases limit the parameters of a query
K = TypeVar("K")
V = TypeVar("V")


class Gathered(Generic[K, V]):
    """Looks up keys together with those that others ask for in the same few turns of the loop."""

    def __init__(self, look_up: Callable[[Sequence[K]], Sequence[V]], outage: Outage, most: int = _MOST) -> None:
        """*look_up* returns the values of at most *most* keys, in their order.

        It is repeated after a short *outage* of the database that it reads.
        """
        self._look_up = look_up
        self._outage = outage
        self._most = most
        self._keys: list[K] = []
        self._values: asyncio.Task[Sequence[V]] | None = None

    async def of(self, key: K) -> V:
        """The value of *key*; an error of the look-up is raised for every key in it."""
        if self._values is None or len(self._keys) >= self._most:
            self._keys = []
            self._values = asyncio.create_task(self._together(self._keys))
        place = len(self._keys)
        self._keys.append(key)
        return (await asyncio.shield(self._values))[place]

    async def _together(self, keys: list[K]) -> Sequence[V]:
        quiet, count = 0, len(keys)
        while quiet < _QUIET and count < self._most:
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(keys) == count else 0
            count = len(keys)
        if self._keys is keys:
            self._values = None
        return await self._outage.again(partial(self._look_up, keys))
