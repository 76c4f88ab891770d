"""Who runs next: learners take turns at a few seats, and each has at most one run in flight.

Every program runs for a short time first, and again, for as long as it may, only if it did not end:
short runs go before long ones, and a quarter of the seats is for them alone. So fifty visitors who
send endless loops take turns at the rest, while a program that ends soon finds a seat at once,
whoever sends it. Of those whose turn it may be, who has used least lately is next, and among equals
who has waited longest.

Some turns are shared by many: the strangers of an address, and the requests of a grader's token.
A shared turn comes round as a learner's does, so fifty strangers slow nobody more than one learner
would. What would stand idle, it may use, too: while no one else waits, it holds further seats of
those that are for everybody. So a batch keeps every core at work on an idle server, and takes one
seat in turn on a busy one.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from app.errors import UnavailableError
from app.sandbox.usage import Usage

PATIENCE = 8  # runs of one learner that may wait
STRANGERS = 100  # runs of all strangers of one address that may wait
ROOM = 2_000  # runs that may wait in all, those of graders apart
_STEP, _STEPS = 0.5, 4  # seconds of the processor: what was used counts in so many steps of so much
_SPARE = 4  # one seat in so many is for short runs
_FULL = "too many runs wait already: try again in a few seconds"

Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose turn a run takes; *patience* runs of it may wait, or any number if that is None."""

    name: str
    shared: bool = False
    patience: int | None = PATIENCE


def strangers(address: str) -> Turn:
    """The turn of all at *address* who come without a cookie."""
    return Turn(f"strangers at {address}", shared=True, patience=STRANGERS)


def grader(name: str) -> Turn:
    """The turn of a token's requests: they wait for as long as it takes."""
    return Turn(f"grader {name}", shared=True, patience=None)


@dataclass(frozen=True, slots=True)
class Lane:
    """Where the short or the long runs of a turn wait."""

    turn: Turn
    long: bool


@dataclass(slots=True)
class Seat(Generic[Place]):
    """A run's seat, at its *place*; one that is *lost* is not handed on.

    What the run *used*, in seconds, is as long as it had the seat where it is not known better.
    """

    place: Place
    lost: bool = False
    used: float | None = None


class FairQueue(Generic[Place]):
    """Seats at places, which come with `add` and go with `remove`; see `seat`."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._used = Usage(clock)
        self._free: list[Place] = []
        self._taken = 0
        self._running: Counter[Lane] = Counter()
        self._waiting: OrderedDict[Lane, deque[asyncio.Future[Place]]] = OrderedDict()

    @asynccontextmanager
    async def seat(self, turn: Turn, *, long: bool = False) -> AsyncIterator[Seat[Place]]:
        """A seat for one run of *turn*; on the way out, seat and turn pass on together.

        Raises:
            UnavailableError: too many runs wait already, of this turn or of all, or `refuse`.
        """
        lane = Lane(turn, long)
        seat = Seat(await self._place(lane))
        since = self._clock()
        try:
            yield seat
        finally:
            used = seat.used if seat.used is not None else self._clock() - since
            self._used.charge(turn.name, used)
            self._leave(lane, seat)

    def add(self, place: Place) -> None:
        """One more seat, at *place*."""
        self._free.append(place)
        self._serve()

    def remove(self, place: Place) -> None:
        """Take the seat at *place* away; one that is taken goes when its run marks it lost."""
        if place in self._free:
            self._free.remove(place)

    def refuse(self, error: UnavailableError) -> None:
        """Raise *error* in all that wait."""
        for queue in self._waiting.values():
            for waiting in queue:
                if not waiting.done():
                    waiting.set_exception(error)
        self._waiting.clear()

    async def _place(self, lane: Lane) -> Place:
        place: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(lane, deque()).append(place)
        self._serve()
        if not place.done() and self._is_full_for(lane):
            self._forget(lane, place)
            raise UnavailableError(_FULL)
        try:
            return await place
        except asyncio.CancelledError:
            if place.cancelled() or not place.done():
                self._forget(lane, place)
            elif place.exception() is None:
                self._leave(lane, Seat(place.result()))  # it came in the same moment
            raise

    def _is_full_for(self, lane: Lane) -> bool:
        patience = lane.turn.patience
        if patience is None:
            return False
        impatient = (q for other, q in self._waiting.items() if other.turn.patience is not None)
        return len(self._waiting[lane]) > patience or sum(map(len, impatient)) > ROOM

    def _serve(self) -> None:
        """Seat whoever may be seated."""
        while self._free and (lane := self._next()) is not None:
            place = self._waiting[lane][0]
            self._forget(lane, place)
            if place.done():
                continue  # its caller went away just now
            if lane in self._waiting:
                self._waiting.move_to_end(lane)
            self._running[lane] += 1
            self._taken += 1
            place.set_result(self._free.pop())

    def _next(self) -> Lane | None:
        spare = (len(self._free) + self._taken) // _SPARE
        resting = [lane for lane in self._waiting if not self._is_busy(lane)]
        for_all = len(self._free) > spare
        able = [lane for lane in resting if for_all or not lane.long]
        if resting or len(self._free) <= max(1, spare):
            return min(able, key=self._rank, default=None)
        further = (lane for lane in self._waiting if lane.turn.shared)
        return min(further, key=lambda lane: (lane.long, self._running[lane]), default=None)

    def _is_busy(self, lane: Lane) -> bool:
        """Whether a run is in flight: a learner's of either kind, or of a shared turn this kind."""
        if lane.turn.shared:
            return bool(self._running[lane])
        return any(self._running[Lane(lane.turn, long)] for long in (False, True))

    def _rank(self, lane: Lane) -> tuple[bool, int]:
        used = self._used.of(lane.turn.name)
        return lane.long, min(int(used / _STEP), _STEPS)

    def _leave(self, lane: Lane, seat: Seat[Place]) -> None:
        self._taken -= 1
        self._running[lane] -= 1
        if not self._running[lane]:
            del self._running[lane]
        if lane in self._waiting:
            self._waiting.move_to_end(lane)
        if not seat.lost:
            self._free.append(seat.place)
        self._serve()

    def _forget(self, lane: Lane, place: asyncio.Future[Place]) -> None:
        queue = self._waiting.get(lane)
        if queue is None or place not in queue:
            return  # all were refused
        queue.remove(place)
        if not queue:
            del self._waiting[lane]
