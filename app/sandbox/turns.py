"""Who runs next: learners take turns, and each has at most one run in flight."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable

from app.errors import UnavailableError

PATIENCE = 8  # runs of one learner that may wait
ROOM = 2_000  # runs of all learners that may wait


class FairQueue:
    """Hands out *free* seats, one a run; the learner who has waited longest is next."""

    def __init__(self, seats: int) -> None:
        self._free = seats
        self._busy: set[Hashable] = set()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._count = 0

    async def enter(self, learner: Hashable) -> None:
        """Return when a run of *learner* may start; `leave` and `free` must follow.

        Raises:
            UnavailableError: too many runs wait already, of this learner or of all.
        """
        queue = self._waiting.get(learner)
        if queue is None and learner not in self._busy and self._free:
            self._seat(learner)
            return
        if self._count >= ROOM or (queue is not None and len(queue) >= PATIENCE):
            raise UnavailableError("too many runs wait already: try again in a few seconds")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(learner, deque()).append(turn)
        self._count += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(learner)  # the turn came in the same moment
                self.free()
            else:
                self._forget(learner, turn)
            raise

    def leave(self, learner: Hashable) -> None:
        """A run of *learner* is over; its seat is free once `free` says so."""
        self._busy.discard(learner)
        if learner in self._waiting:
            self._waiting.move_to_end(learner)

    def free(self) -> None:
        """A seat is free: the next one who may takes it."""
        self._free += 1
        while self._free and (following := self._next()) is not None:
            queue = self._waiting[following]
            turn = queue.popleft()
            self._count -= 1
            if not queue:
                del self._waiting[following]
            self._seat(following)
            turn.set_result(None)

    def _seat(self, learner: Hashable) -> None:
        self._free -= 1
        self._busy.add(learner)

    def _next(self) -> Hashable | None:
        return next((learner for learner in self._waiting if learner not in self._busy), None)

    def _forget(self, learner: Hashable, turn: asyncio.Future[None]) -> None:
        queue = self._waiting[learner]
        queue.remove(turn)
        self._count -= 1
        if not queue:
            del self._waiting[learner]
