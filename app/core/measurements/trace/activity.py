"""What a GPU did, in columns: a million events in some tens of megabytes; and what its time went to."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import merge
from itertools import chain, pairwise
from math import inf, isnan, nan

from app.core.errors import InputError
from app.core.measurements.trace.communication import communicates, whole_number
from app.core.measurements.trace.events import SAID, Arguments, Event
from app.core.units import Seconds

# The categories that Kineto gives to what a host does, and to what GPUs do.
# Source: pytorch/kineto, libkineto/include/ActivityType.h.
_KNOWN = {
    "", "cpu_op", "user_annotation", "gpu_user_annotation", "gpu_memcpy", "gpu_memset", "kernel",
    "memcpy", "memset", "runtime", "operator", "external_correlation", "cuda_runtime",
    "cuda_driver", "cpu_instant_event", "python_function", "overhead", "cuda_sync", "cuda_event",
    "cuda_profiler_range", "xpu_runtime", "xpu_driver", "xpu_sync", "collective_comm",
    "privateuse1_runtime", "privateuse1_driver", "hardware_counters", "trace", "glow_runtime",
    "mtia_runtime",
}  # fmt: skip
_DEVICE = re.compile(r"mtia|hpu|npu|tpu|mlu|musa|neuron|xla|ascend", re.IGNORECASE)
_PROCESS = re.compile(r"^/device:\w+:\d+|^(?:Ascend Hardware|[MNHT]PU)\b")
_NAMES = 8  # that are kept
_LONGEST = 40  # letters of a name


@dataclass
class ForeignActivity:
    """Events of devices that are not read, by category, and processes that are such a device."""

    categories: Counter[str] = field(default_factory=Counter)
    processes: set[str] = field(default_factory=set)

    def take(self, event: Event) -> None:
        """Count *event* if it is of such a device."""
        category = event.cat[:_LONGEST]
        if is_foreign(event) and (category in self.categories or len(self.categories) < _NAMES):
            self.categories[category] += 1
        elif (process := device_process(event)) and len(self.processes) < _NAMES:
            self.processes.add(process)

    def describe(self) -> str:
        """What there is, in words; empty without any."""
        if self.categories:
            kinds = ", ".join(self.categories)
            count = sum(self.categories.values())
            return f"{count:,} event{'s' * (count > 1)} of a device ({kinds})"
        return f"processes called {', '.join(sorted(self.processes))}" if self.processes else ""


def device_process(event: Event) -> str:
    """The name of a process that is a device, as profiles of JAX and of Ascend say; or nothing."""
    name = event.args.name if event.ph == "M" and event.args else None
    found = _PROCESS.match(name) if isinstance(name, str) else None
    return found[0][:_LONGEST] if found else ""


def is_foreign(event: Event) -> bool:
    """Whether *event* happened on a device that is not read."""
    if event.ph != "X" or event.cat.lower() in _KNOWN:
        return False
    on_a_stream = event.args is not None and event.args.stream is not None
    return on_a_stream or _DEVICE.search(event.cat) is not None


COMPUTE, COMMUNICATION, COPY = range(3)
MOST = 1_500_000  # events of the GPU that are kept
_MOST_CALLS = 3_000_000
MOST_COLLECTIVES = 200_000
_MOST_STEPS = 100_000
_DISTINCT = 20_000  # names of kernels that are told apart
_LONGEST_NAME = 400  # letters of a kernel's name that tell it from others
_RUN = 1 << 18  # entries that are sorted at once
_LATEST = 1e17  # microseconds: more than three thousand years
_NONE = -(1 << 62)  # no correlation
_GPU = {"kernel": COMPUTE, "gpu_memcpy": COPY, "gpu_memset": COPY, "memcpy": COPY, "memset": COPY}
_LAUNCHES = {
    "cuda_runtime", "cuda_driver", "runtime", "xpu_runtime", "xpu_driver", "privateuse1_runtime", "privateuse1_driver",
}  # fmt: skip
_GRAPH = re.compile(r"GraphLaunch|CommandBufferEnqueue")  # launches many kernels one by one
_IDLE_CALL = re.compile(r"Query|Get|Occupancy|IsCapturing|PeekAt|SetAttribute|Event(?:Record|Create|Destroy)|WaitEvent")
STEP = "ProfilerStep#"
CPU_COLLECTIVE = "record_param_comms"


@dataclass
class Activity:
    """The events of one rank's GPU, a column each; times in microseconds, as in the file."""

    begin: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    sort: array[int] = field(default_factory=lambda: array("b"))
    name: array[int] = field(default_factory=lambda: array("i"))
    launched: array[float] = field(default_factory=lambda: array("d"))  # until then; or NaN
    names: list[str] = field(default_factory=list)
    devices: set[object] = field(default_factory=set)
    steps: list[tuple[float, float]] = field(default_factory=list)
    collectives: dict[int, Arguments] = field(default_factory=dict)  # by event
    foreign: ForeignActivity = field(default_factory=ForeignActivity)
    untold: int = 0  # events of communication after the first MOST_COLLECTIVES
    impossible: int = 0  # events whose times cannot be
    beyond: int = 0  # events of the GPU after the first MOST

    def __len__(self) -> int:
        return len(self.begin)


@dataclass
class Collector:
    """Sorts the events of a file into columns."""

    found: Activity = field(default_factory=Activity)
    communicates: Callable[[str], bool] = communicates
    _correlation: array[int] = field(default_factory=lambda: array("q"))
    _call: array[int] = field(default_factory=lambda: array("q"))
    _called: array[float] = field(default_factory=lambda: array("d"))
    _lasted: array[float] = field(default_factory=lambda: array("f"))
    _names: dict[str, tuple[int, int]] = field(default_factory=dict)
    _steps: dict[str, tuple[float, float]] = field(default_factory=dict)
    _said: dict[int, Arguments] = field(default_factory=dict)  # by external id: the CPU's
    _external: dict[int, int] = field(default_factory=dict)  # by event: where the GPU says nothing
    _shared: dict[tuple[str, ...], Arguments] = field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> None:
        """Keep what is needed of *events*."""
        for event in events:
            if event.ph != "X":
                self.found.foreign.take(event)
                continue
            category = event.cat.lower()
            if category in _GPU:
                self._add_work(event, _GPU[category])
            elif category in _LAUNCHES:
                if may_launch(event.name):
                    self._add_call(event)
            elif event.name.startswith(STEP):
                self._add_step(event, category)
            elif event.name == CPU_COLLECTIVE:
                self._add_said(event)
            else:
                self.found.foreign.take(event)

    def activity(self) -> Activity:
        """Everything that was added: launches joined, steps in order."""
        self.found.steps = sorted(self._steps.values())
        self._join()
        for event, external in self._external.items():
            if external in self._said:
                self.found.collectives[event] = self._said[external]
        return self.found

    def _add_work(self, event: Event, sort: int) -> None:
        found, args = self.found, event.args or _NO_ARGUMENTS
        if not _possible(event):
            found.impossible += 1
            return
        if len(found) >= MOST:
            found.beyond += 1
            return
        communication, name = self._named(event.name)
        if sort == COMPUTE and communication:
            sort = COMMUNICATION
            self._add_communication(len(found), args)
        found.begin.append(event.ts)
        found.duration.append(event.dur)
        found.sort.append(sort)
        found.name.append(name)
        if len(found.devices) < _DISTINCT:
            found.devices.add(str(event.pid if args.device is None else args.device)[:_LONGEST_NAME])
        correlation = whole_number(args.correlation)
        self._correlation.append(_NONE if correlation is None else correlation)

    def _add_communication(self, event: int, args: Arguments) -> None:
        """Keep what is said about an *event*, once for all that say the same."""
        if len(self.found.collectives) >= MOST_COLLECTIVES:
            self.found.untold += 1
            return
        if args.collective is None and (external := whole_number(args.external)) is not None:
            self._external[event] = external
        key = tuple(map(str, (getattr(args, name) for name in SAID)))
        if len(self._shared) < _DISTINCT:
            args = self._shared.setdefault(key, args)
        self.found.collectives[event] = args

    def _named(self, name: str) -> tuple[int, int]:
        """Whether a kernel of this name communicates, and its number among the names."""
        key = name[:_LONGEST_NAME]
        if (known := self._names.get(key)) is None:
            full = len(self._names) >= _DISTINCT
            known = (int(self.communicates(name)), _DISTINCT if full else len(self._names))
            if full:
                if len(self.found.names) == _DISTINCT:
                    self.found.names.append("other kernels")
                return known
            self._names[key] = known
            self.found.names.append(key)
        return known

    def _add_call(self, event: Event) -> None:
        correlation = whole_number(event.args.correlation) if event.args else None
        if correlation is not None and _possible(event) and len(self._call) < _MOST_CALLS:
            self._call.append(correlation)
            self._called.append(event.ts)
            self._lasted.append(0.0 if _GRAPH.search(event.name) else event.dur)

    def _add_step(self, event: Event, category: str) -> None:
        """A step as the CPU sees it; the GPU's annotation of it covers other times."""
        if category != "gpu_user_annotation" and _possible(event) and len(self._steps) < _MOST_STEPS:
            self._steps.setdefault(event.name, (event.ts, event.ts + event.dur))

    def _add_said(self, event: Event) -> None:
        external = whole_number(event.args.external) if event.args else None
        if event.args is None or external is None or event.args.collective is None:
            return
        if len(self._said) < MOST_COLLECTIVES:
            self._said.setdefault(external, event.args)

    def _join(self) -> None:
        """Find when each event was launched.

        That is at the end of the call, which may load a module or compile first, and not after
        the event began. The call for a graph launches as it goes: there, its beginning counts.
        """
        launched = array("d", [nan]) * len(self._correlation)
        calls = sorted_positions(self._call)
        at = next(calls, None)
        for event in sorted_positions(self._correlation):
            correlation = self._correlation[event]
            while at is not None and self._call[at] < correlation:
                at = next(calls, None)
            if at is not None and self._call[at] == correlation:
                begin = self._called[at]
                end = min(begin + self._lasted[at], self.found.begin[event])
                launched[event] = max(begin, end)
        self.found.launched = launched


_NO_ARGUMENTS = Arguments()


def _possible(event: Event) -> bool:
    """Whether its times are times; NaN is not, nor what no clock shows."""
    return -_LATEST < event.ts < _LATEST and 0 <= event.dur < _LATEST


def works(category: str) -> bool:
    """Whether events of this *category* are work of the GPU."""
    return category.lower() in _GPU


def calls(category: str) -> bool:
    """Whether events of this *category* are calls of the host."""
    return category.lower() in _LAUNCHES


@lru_cache(maxsize=1024)
def may_launch(name: str) -> bool:
    """Whether a call of this *name* may launch work: most calls of a busy host do not."""
    return _IDLE_CALL.search(name) is None


def sorted_positions(column: array[int] | array[float]) -> Iterator[int]:
    """The positions of *column*, from its smallest entry to its largest, without a copy of it."""
    key = column.__getitem__
    runs = [
        array("i", sorted(range(start, min(start + _RUN, len(column))), key=key))
        for start in range(0, len(column), _RUN)
    ]
    if all(column[one[-1]] <= column[other[0]] for one, other in pairwise(runs)):
        return chain.from_iterable(runs)
    return merge(*runs, key=key)


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
        if other := activity.foreign.describe():
            raise InputError(
                f"the trace has {other}, which is not supported: read are GPUs of NVIDIA, AMD and"
                " Intel, as the PyTorch profiler records them"
            )
        raise InputError("no GPU activity in this trace: profile with ProfilerActivity.CUDA")
    return sweep.tolls()


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
        gap = begin - busy  # in which nothing happens, until work that was *launched* then begins
        if gap > 0 and isnan(launched):
            self.unexplained += gap
        elif gap > 0:
            self.host += min(max(launched - self.first - busy, 0.0), gap)
        if gap > self.gap:
            self.gap, self.gap_begin = gap, busy
        self._count_until(begin)
        self.ends[sort] = max(self.ends[sort], end)

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
