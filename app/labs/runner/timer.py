"""The time of a call: by the clock of the host, or by events in the queue of a GPU.

A GPU works through a queue that the host fills. Between two looks at the host's clock lie the
launch, the call, and the news that it is over. Events in the queue see the call alone, provided
that the GPU never waits for the host. So it is held until a whole batch of calls is in the queue.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

_AHEAD = 0.002  # seconds for all ranks to learn the moment to start
_SHORTEST = 1e-6  # seconds of a call, where the clock shows none
_BATCH, _AIM = 0.002, 0.0022  # seconds between two events at least, and as planned
_MOST_CALLS = 1000  # of a batch: the queue of a GPU has room for about as many launches
_SLACK, _SPARE = 1.5, 3e-4  # the hold is this many times the launches, plus seconds
_LONGEST_HOLD = 0.25  # seconds
_ALONE = 1e-4  # seconds of a sample of a rank that has a processor to itself, at least
_WARM = 3  # calls before the samples


class Clock(Protocol):
    """The clock of the host."""

    def now(self) -> float:
        """Seconds since some moment in the past."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class HostClock:
    """The clock of this machine, which all its processes share."""

    now = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)


class Mark(Protocol):
    """An event in the queue of a GPU."""

    def has_passed(self) -> bool:
        """Whether the GPU has reached it."""

    def seconds_to(self, later: "Mark") -> float:
        """Seconds on the GPU from this event to a *later* one, after both have passed."""


class Stream(Protocol):
    """The queue of a GPU."""

    def mark(self) -> Mark:
        """Add an event."""

    def spin(self, seconds: float) -> None:
        """Have the GPU do nothing for that long before what is added next."""

    def synchronize(self) -> None:
        """Wait until the GPU has done everything."""


class TimedGroup(Protocol):
    """All ranks."""

    def max_over_ranks(self, values: Sequence[float]) -> list[float]:
        """The largest of each of *values* among the ranks."""

    def barrier(self) -> None:
        """Wait for all ranks; on a GPU, the GPUs wait for each other, and the host goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Samples for *seconds*, but at *least* and at *most* as many, after *warm* calls."""

    seconds: float
    least: int = 5
    most: int = 200
    warm: int = _WARM

    def count(self, each: float) -> int:
        """The number of samples that take *each* seconds."""
        return int(max(self.least, min(self.most, self.seconds / max(each, _SHORTEST))))


@dataclass(frozen=True, slots=True)
class _Batch:
    """Seconds of a call on the GPU and of its launch, and whether the GPU waited for launches."""

    each: float
    launch: float
    starved: float  # 1 or 0


class Timer:
    """Takes the times of calls that all ranks make together; each is the slowest rank's."""

    def __init__(
        self,
        group: TimedGroup,
        clock: Clock,
        stream: Stream | None = None,
        begun: Callable[[int, float], None] = lambda samples, each: None,
        counted: Callable[[], AbstractContextManager[None]] = nullcontext,
        *,
        is_alone: bool = False,
    ) -> None:
        """*begun* is told how many samples are about to be taken, and how long each takes.

        They are taken inside *counted*. A rank that *is_alone* waits for no other.
        """
        self._group, self._clock, self._stream, self._begun = group, clock, stream, begun
        self._counted, self._is_alone = counted, is_alone
        self.has_launches = False  # in the times by events that were taken last
        self.own_times: list[float] = []  # of the last samples, this rank's

    def by_host(
        self,
        call: Callable[[], object],
        sampling: Sampling,
        warmed_up: Callable[[], object] = int,
        *,
        at_once: bool = False,
    ) -> list[float]:
        """Times of *call*, one at a time after a barrier, until this rank knows that it is over.

        *warmed_up* is called after the calls that do not count. With *at_once*, all ranks, which must
        be on one machine, start at the same moment. Without a GPU, a rank that is alone does
        nothing between samples, and the shortest calls are taken in batches, for their mean.
        """
        for _ in range(sampling.warm):  # warm-up
            call()
        estimate = self.once(call, at_once=at_once)
        warmed_up()
        count = sampling.count(estimate)
        self._begun(count, estimate)
        self.own_times = []
        with self._counted():
            if self._is_alone and self._stream is None:
                return self._means(call, count, math.ceil(_ALONE / max(estimate, _SHORTEST)))
            return [self.once(call, at_once=at_once) for _ in range(count)]

    def once(self, call: Callable[[], object], *, at_once: bool = False) -> float:
        """The time of one *call* by the clock of the host: barrier, call, the maximum over ranks."""
        self._synchronize()
        self._group.barrier()
        self._synchronize()
        begun = self._agreed_moment() if at_once else self._clock.now()
        call()
        self._synchronize()
        self.own_times.append(self._clock.now() - begun)
        return self._group.max_over_ranks(self.own_times[-1:])[0]

    def by_events(
        self, call: Callable[[], object], sampling: Sampling, warmed_up: Callable[[], object] = int
    ) -> list[float]:
        """Means of batches of *call*, back to back on the GPU, without their launches.

        A batch takes 2 ms or more. One for whose launches a GPU had to wait is left out, unless too few are left: a
        call that itself waits for the GPU cannot be launched ahead. `has_launches` says whether that was so.
        """
        for _ in range(sampling.warm):
            call()
        calls, hold, each = self._settled(call)
        warmed_up()
        count = sampling.count(hold + calls * each)
        self._begun(count, hold + calls * each)
        with self._counted():
            taken = [self._batch(call, calls, hold) for _ in range(count)]
        self.own_times = [one.each for one in taken]
        times = self._group.max_over_ranks(self.own_times)
        starved = self._group.max_over_ranks([one.starved for one in taken])
        fed = [time for time, late in zip(times, starved, strict=True) if not late]
        self.has_launches = not hold or len(fed) < sampling.least
        return times if self.has_launches else fed

    def _means(self, call: Callable[[], object], count: int, calls: int) -> list[float]:
        """Means of *count* batches of *calls*, with nothing between one batch and the next."""
        now, turns, found = self._clock.now, range(calls), []
        for _ in range(count):
            begun = now()
            for _ in turns:
                call()
            found.append((now() - begun) / calls)
        return found

    def _synchronize(self) -> None:
        if self._stream:
            self._stream.synchronize()

    def _agreed_moment(self) -> float:
        """Wait for a moment that all ranks share; processes of one machine have the same clock."""
        moment = self._group.max_over_ranks([self._clock.now()])[0] + _AHEAD
        while (left := moment - self._clock.now()) > 0:
            self._clock.sleep(left)
        return moment

    def _settled(self, call: Callable[[], object]) -> tuple[int, float, float]:
        """Calls of a batch, seconds to hold the GPU before it, and seconds of a call.

        The ranks agree on all three. Where twice the hold is still too short for the launches of a batch, the queue has
        no room for them: the batch is halved. The hold is 0 where not even a single call can be launched ahead.
        """
        alone = found = self._agreed(call, 1, 0.0)
        calls, hold, most, slack = 1, 0.0, _MOST_CALLS, _SLACK
        while True:
            if hold and found.starved:
                most, slack = (calls, 2 * _SLACK) if slack == _SLACK else (calls // 2, _SLACK)
            elif hold and (calls == most or calls * found.each >= _BATCH):
                return calls, hold, found.each
            calls = min(most, _calls_of(found.each))
            hold = slack * calls * found.launch + _SPARE
            if not calls or hold > _LONGEST_HOLD:
                return min(_MOST_CALLS, _calls_of(alone.each)), 0.0, alone.each
            found = self._agreed(call, calls, hold)

    def _agreed(self, call: Callable[[], object], calls: int, hold: float) -> _Batch:
        own = self._batch(call, calls, hold)
        return _Batch(*self._group.max_over_ranks([own.each, own.launch, own.starved]))

    def _batch(self, call: Callable[[], object], calls: int, hold: float) -> _Batch:
        if self._stream is None:
            raise TypeError("there are no events without a GPU")
        if hold:
            self._stream.spin(hold)
        self._group.barrier()
        begun, before = self._stream.mark(), self._clock.now()
        for _ in range(calls):
            call()
        launched = self._clock.now() - before
        ended = self._stream.mark()
        starved = hold > 0 and begun.has_passed()
        self._stream.synchronize()
        return _Batch(begun.seconds_to(ended) / calls, launched / calls, float(starved))


def least_calls(least: int, *, on_gpu: bool) -> int:
    """The calls that *least* samples take, those before them included; on GPUs, with launch too.

    >>> least_calls(5, on_gpu=False), least_calls(5, on_gpu=True)
    (9, 19)
    """
    by_host, by_events = _WARM + 1 + least, _WARM + 2 + least
    return by_host + by_events if on_gpu else by_host


def _calls_of(each: float) -> int:
    """Calls of *each* seconds that fill a batch."""
    return math.ceil(_AIM / max(each, _SHORTEST))
