"""A fair queue for the worker slots of the sandbox: which run goes next.

Scheduling is a multilevel feedback queue in two levels. Every program first gets a short time slice; only one that does
not finish in it is run again, for as long as it may take, at the lower level. Short runs go before long ones, and a
quarter of the slots is reserved for them, so that fifty visitors who send endless loops share the rest and starve
nobody: a program that finishes soon finds a slot at once, no matter who sends it. Within a level, the client that used
the least processor time lately goes first, and among equals the one that has waited longest. A client has at most one
run in flight.

Some clients are shared by many people or requests: the visitors of one address who come without a
cookie, and the requests of one grader's token. A shared client is scheduled like one learner, so
fifty such visitors slow nobody down more than one learner would. The queue is work-conserving,
too: while no one else waits, a shared client may hold several of the unreserved slots. A batch
therefore keeps every core busy on an idle server, and gets one slot at a time on a busy one.

Waiting is bounded per client and in total (backpressure): what does not fit is refused at once.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from app.core.errors import UnavailableError

LEARNER_LIMIT = 8  # runs of one learner that may wait
ADDRESS_LIMIT = 100  # runs that may wait of all visitors of one address without a cookie
TOTAL_LIMIT = 2_000  # runs that may wait in total, not counting graders'
# Processor time used is compared in steps of half a second, up to four.
_STEP, _STEPS = 0.5, 4
_FIRST, _LAST = (False, 0), (True, _STEPS + 1)  # before and after every rank
_RESERVED = 4  # one slot in four is reserved for short runs
_FULL = "too many runs are waiting; try again in a few seconds"
_HALF_LIFE = 60.0  # seconds until processor time used counts half
_REMEMBERED = 10_000  # clients; beyond it, those that have used almost nothing are forgotten
_ALMOST_NOTHING = 0.05  # seconds

Resource = TypeVar("Resource")


@dataclass(frozen=True, slots=True)
class Client:
    """Who a run is scheduled for; at most *limit* of its runs may wait, None for no limit."""

    name: str
    shared: bool = False
    limit: int | None = LEARNER_LIMIT


def anonymous(address: str) -> Client:
    """All visitors at *address* who come without a cookie, as one client."""
    return Client(f"anonymous at {address}", shared=True, limit=ADDRESS_LIMIT)


def grader(name: str) -> Client:
    """All requests of one token, as one client; they wait for as long as it takes."""
    return Client(f"grader {name}", shared=True, limit=None)


@dataclass(frozen=True, slots=True)
class ClientQueue:
    """A client's queue of short or of long runs."""

    client: Client
    long: bool


@dataclass(slots=True)
class Lease(Generic[Resource]):
    """The slot of one run, with its *resource*; a *lost* one is not handed on.

    The client is charged for the seconds *used*, or for the time held where that is unknown.
    """

    resource: Resource
    lost: bool = False
    used: float | None = None


class Usage:
    """Exponentially decaying processor time of each client, by name."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}  # seconds, and when that was so

    def of(self, name: str) -> float:
        """Seconds that *name* has used, older ones counting less."""
        seconds, at = self._used.get(name, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._clock() - at) / _HALF_LIFE)) if seconds else 0.0

    def charge(self, name: str, seconds: float) -> None:
        """Add *seconds* to the usage of *name*."""
        self._used[name] = (self.of(name) + seconds, self._clock())
        if len(self._used) > _REMEMBERED:
            self._used = {name: self._used[name] for name in self._used if self.of(name) > _ALMOST_NOTHING}


class FairQueue(Generic[Resource]):
    """Hands out slots; each holds a resource that comes with `add` and goes with `remove`."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._usage = Usage(clock)
        self._free: list[Resource] = []
        self._taken = 0
        self._running: Counter[ClientQueue | Client] = Counter()
        self._limited = 0  # runs that wait, of clients with a limit
        self._waiting: OrderedDict[ClientQueue, deque[asyncio.Future[Resource]]] = OrderedDict()

    @asynccontextmanager
    async def slot(self, client: Client, *, long: bool = False) -> AsyncIterator[Lease[Resource]]:
        """A slot for one run of *client*, released on exit.

        Raises:
            UnavailableError: too many runs are waiting, of this client or in total, or `refuse`
                was called.
        """
        lane = ClientQueue(client, long)
        lease = Lease(await self._acquire(lane))
        since = self._clock()
        try:
            yield lease
        finally:
            used = lease.used if lease.used is not None else self._clock() - since
            self._usage.charge(client.name, used)
            self._release(lane, lease)

    @property
    def waiting(self) -> int:
        """Runs that wait for a slot."""
        return sum(map(len, self._waiting.values()))

    @property
    def taken(self) -> int:
        """Slots in use."""
        return self._taken

    def add(self, resource: Resource) -> None:
        """Add a slot that holds *resource*."""
        self._free.append(resource)
        self._dispatch()

    def remove(self, resource: Resource) -> None:
        """Remove the slot of *resource*; one in use goes when its lease is marked lost."""
        if resource in self._free:
            self._free.remove(resource)

    def refuse(self, error: UnavailableError) -> None:
        """Raise *error* in every caller that waits."""
        for queue in self._waiting.values():
            for waiting in queue:
                if not waiting.done():
                    waiting.set_exception(error)
        self._waiting.clear()
        self._limited = 0

    async def _acquire(self, lane: ClientQueue) -> Resource:
        waiting: asyncio.Future[Resource] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(lane, deque()).append(waiting)
        self._limited += lane.client.limit is not None
        self._dispatch()
        limit = lane.client.limit
        is_full = limit is not None and (self._limited > TOTAL_LIMIT or len(self._waiting.get(lane, ())) > limit)
        if is_full and not waiting.done():
            self._forget(lane, waiting)
            raise UnavailableError(_FULL)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.cancelled() or not waiting.done():
                self._forget(lane, waiting)
            elif waiting.exception() is None:
                self._release(lane, Lease(waiting.result()))  # granted in the same moment
            raise

    def _dispatch(self) -> None:
        """Grant free slots to the runs that may go now."""
        while self._free and (lane := self._next()) is not None:
            waiting = self._waiting[lane][0]
            self._forget(lane, waiting)
            if waiting.done():
                continue  # its caller was canceled just now
            if lane in self._waiting:
                self._waiting.move_to_end(lane)
            self._running[_in_flight(lane)] += 1
            self._taken += 1
            waiting.set_result(self._free.pop())

    def _next(self) -> ClientQueue | None:
        """The lane whose first run goes next; nearly always one of the first few that wait."""
        reserved = (len(self._free) + self._taken) // _RESERVED
        unreserved = len(self._free) > reserved
        best, lowest, anyone_rests = None, _LAST, False
        for lane in self._waiting:  # the one that has waited longest comes first
            if self._running[_in_flight(lane)]:
                continue
            anyone_rests = True
            if (unreserved or not lane.long) and (rank := self._rank(lane)) < lowest:
                best, lowest = lane, rank
            if lowest == _FIRST:
                break
        if anyone_rests or len(self._free) <= max(1, reserved):
            return best
        further = (lane for lane in self._waiting if lane.client.shared)
        return min(further, key=lambda lane: (lane.long, self._running[lane]), default=None)

    def _rank(self, lane: ClientQueue) -> tuple[bool, int]:
        return lane.long, min(int(self._usage.of(lane.client.name) / _STEP), _STEPS)

    def _release(self, lane: ClientQueue, lease: Lease[Resource]) -> None:
        self._taken -= 1
        self._running[_in_flight(lane)] -= 1
        if not self._running[_in_flight(lane)]:
            del self._running[_in_flight(lane)]
        if lane in self._waiting:
            self._waiting.move_to_end(lane)
        if not lease.lost:
            self._free.append(lease.resource)
        self._dispatch()

    def _forget(self, lane: ClientQueue, waiting: asyncio.Future[Resource]) -> None:
        queue = self._waiting.get(lane)
        if queue is None or waiting not in queue:
            return  # all were refused
        queue.remove(waiting)
        self._limited -= lane.client.limit is not None
        if not queue:
            del self._waiting[lane]


def _in_flight(lane: ClientQueue) -> ClientQueue | Client:
    """What may have one run in flight: a learner, or either lane of a shared client."""
    return lane if lane.client.shared else lane.client
