"""Where the time of one rank went: one sweep over its events in order of time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from math import inf, isnan, nan

from app.core.errors import InputError
from app.core.measurements.trace.activity import COMMUNICATION, COMPUTE, COPY, Activity, sorted_positions
from app.core.units import Seconds

MICRO = 1e-6  # seconds; the times of a trace are microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolls:
    """What the wall-clock time consists of: compute + exposed + copies + idle = wall."""

    wall: Seconds
    compute: Seconds  # the GPU computes, whatever else it does
    exposed_communication: Seconds  # it communicates and does not compute
    overlapped_communication: Seconds  # it does both: counted in compute
    exposed_copies: Seconds  # it copies and does nothing else
    idle: Seconds  # it does nothing
    host: Seconds  # of idle: the next kernel had not been launched
    unexplained: Seconds = 0.0  # of idle: it is not known when the next kernel was launched
    longest_gap: Seconds = 0.0  # of idle, in a row
    gap_begin: Seconds = 0.0  # of the longest gap, after the first kernel

    @property
    def waiting(self) -> Seconds:
        """Idle although the next kernel had been launched: bubble, skew, dependencies."""
        return max(self.idle - self.host - self.unexplained, 0.0)

    @property
    def communication(self) -> Seconds:
        """Communication, hidden or not."""
        return self.exposed_communication + self.overlapped_communication


@dataclass(frozen=True, slots=True)
class Window:
    """The events that count: those launched before *until*, in the steps that are whole."""

    steps: int
    until: float = inf
    by_launch: bool = True

    def holds(self, activity: Activity, event: int) -> bool:
        """Whether the *event* counts."""
        if self.until == inf:
            return True
        at = (activity.launched if self.by_launch else activity.begin)[event]
        return at < self.until  # an unknown launch is NaN, and never before


def whole_steps(activity: Activity) -> Window:
    """The steps that are whole: all but the last, whose kernels still run when profiling stops.

    Where most launches are missing, a kernel belongs to the step in which it begins. Where no
    whole step has work of the GPU, everything counts.
    """
    steps = activity.steps
    if activity.beyond and len(activity):
        last = max(activity.begin)
        steps = [step for step in steps if step[0] <= last]
    if len(steps) < 2:  # noqa: PLR2004 - one whole step, and the last
        return Window(len(steps))
    by_launch = 2 * find_unlaunched(activity) <= len(activity)
    window = Window(len(steps) - 1, steps[-1][0], by_launch)
    works = any(window.holds(activity, event) for event in range(len(activity)))
    return window if works else Window(0)


def find_unlaunched(activity: Activity) -> int:
    """Events whose launch is unknown."""
    return sum(map(isnan, activity.launched))


def tolls_of(activity: Activity, window: Window) -> Tolls:
    """The tolls of the events in the *window*.

    Raises:
        InputError: there are none.
    """
    sweep = _Sweep()
    for event in events_in_order(activity, window):
        begin = activity.begin[event]
        end = begin + activity.duration[event]
        sweep.pass_work(begin, end, activity.sort[event], activity.launched[event])
    if sweep.first == inf:
        raise InputError(_nothing_read(activity))
    return sweep.tolls()


def _nothing_read(activity: Activity) -> str:
    if other := activity.foreign.describe():
        return (
            f"the trace has {other}, which is not supported: read are GPUs of NVIDIA, AMD and"
            " Intel, as the PyTorch profiler records them"
        )
    return "no GPU activity in this trace: profile with ProfilerActivity.CUDA"


def exposed_waits(waits: Iterable[tuple[float, float]], compute: Iterable[tuple[float, float]]) -> Seconds:
    """How much of the *waits* is not hidden by *compute*: intervals, each by their begin."""
    sweep = _Sweep()
    waiting = ((begin, end, COMMUNICATION) for begin, end in waits)
    computing = ((begin, end, COMPUTE) for begin, end in compute)
    for begin, end, sort in merge(waiting, computing):
        sweep.pass_work(begin, end, sort)
    return sweep.tolls().exposed_communication


def computing_intervals(activity: Activity, window: Window) -> Iterator[tuple[float, float]]:
    """When the GPU computes, as intervals that do not touch."""
    begin = end = -inf
    for event in events_in_order(activity, window):
        if activity.sort[event] == COMPUTE:
            if activity.begin[event] > end:
                if end > begin:
                    yield begin, end
                begin, end = activity.begin[event], -inf
            end = max(end, activity.begin[event] + activity.duration[event])
    if end > begin:
        yield begin, end


def events_in_order(activity: Activity, window: Window) -> Iterator[int]:
    """The events in the *window* by the time when they begin."""
    return (event for event in sorted_positions(activity.begin) if window.holds(activity, event))


@dataclass
class _Sweep:
    """Everything before *now* is counted; *ends* says until when each sort of work goes on."""

    first: float = inf
    now: float = 0.0
    ends: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    compute: float = 0.0
    exposed: float = 0.0
    overlapped: float = 0.0
    copies: float = 0.0
    idle: float = 0.0
    host: float = 0.0
    unexplained: float = 0.0
    gap: float = 0.0
    gap_begin: float = 0.0

    def pass_work(self, begin: float, end: float, sort: int, launched: float = nan) -> None:
        """Count what happens until *begin*; then work of this *sort* goes on until *end*."""
        if self.first == inf:
            self.first = begin
        begin, end = begin - self.first, end - self.first
        busy = max(self.ends)
        if begin > busy:
            self._pass_gap(busy, begin, launched - self.first)
        self._count_until(begin)
        self.ends[sort] = max(self.ends[sort], end)

    def _pass_gap(self, begin: float, end: float, launched: float) -> None:
        """Nothing happens from *begin* to *end*, when work *launched* at that time begins."""
        if isnan(launched):
            self.unexplained += end - begin
        else:
            self.host += min(max(launched - begin, 0.0), end - begin)
        if end - begin > self.gap:
            self.gap, self.gap_begin = end - begin, begin

    def _count_until(self, then: float) -> None:
        """Count what happens from now to *then*; each sort of work goes on until its end."""
        if then == self.now:
            return
        now = self.now
        compute, communication, copy = (min(max(self.ends[sort], now), then) for sort in (COMPUTE, COMMUNICATION, COPY))
        both = min(compute, communication)
        either = max(compute, communication)
        busy = max(either, copy)
        self.compute += compute - now
        self.overlapped += both - now
        self.exposed += either - compute
        self.copies += busy - either
        self.idle += then - busy
        self.now = then

    def tolls(self) -> Tolls:
        self._count_until(max(self.ends))
        return Tolls(
            wall=self.now * MICRO,
            compute=self.compute * MICRO,
            exposed_communication=self.exposed * MICRO,
            overlapped_communication=self.overlapped * MICRO,
            exposed_copies=self.copies * MICRO,
            idle=self.idle * MICRO,
            host=self.host * MICRO,
            unexplained=self.unexplained * MICRO,
            longest_gap=self.gap * MICRO,
            gap_begin=self.gap_begin * MICRO,
        )
