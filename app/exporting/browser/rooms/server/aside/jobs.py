"""In place of jobs beside the event loop, in a browser, which works for one learner."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class BoundedJobs(Generic[Key, Result]):
    """Runs jobs one after the other, and remembers the latest results."""

    def __init__(self, busy: str, *, room: int = 0, **_: object) -> None:
        self._room = room
        self._results: OrderedDict[Key, Result] = OrderedDict()

    async def result(self, key: Key, job: Callable[[], Awaitable[Result]], admit: Callable[[], None]) -> Result:
        """The result of *key*: remembered, or of *job*."""
        if key not in self._results:
            self._results[key] = await job()
            while len(self._results) > self._room:
                self._results.popitem(last=False)
        return self._results[key]
