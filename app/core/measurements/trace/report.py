"""What a trace says, as numbers: what a step could save, and what does not add up."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from app.core.measurements.reports import Json
from app.core.measurements.trace.activity import (
    COMPUTE,
    MOST,
    MOST_COLLECTIVES,
    Activity,
    Tolls,
    Window,
    find_unlaunched,
)
from app.core.measurements.trace.communication import CollectiveCall, Skew
from app.core.measurements.trace.events import EventFile
from app.core.translation import noted, say
from app.core.units import SECOND, BytesPerSecond, Seconds, show


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfCollective:
    """The collectives of one kind."""

    kind: str
    count: int
    size: int  # bytes of all whose size is known
    time: Seconds  # of all kernels, waiting included
    bandwidth: BytesPerSecond | None  # bus bandwidth of the largest; None without sizes
    ranks: int  # of the largest's group, 0 if unknown


@dataclass(frozen=True, slots=True)
class Kernel:
    """All kernels of one name, without its arguments."""

    name: str
    sort: int
    count: int
    time: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTrace:
    """The trace of one rank, without its events."""

    name: str
    number: int | None
    world: int | None
    hardware: str
    steps: int
    tolls: Tolls
    calls: tuple[CollectiveCall, ...]
    kernels: tuple[Kernel, ...]
    computing: array[float]  # begin, end, begin, end of compute
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReport:
    """Where the time of one rank went."""

    name: str  # of the file
    rank: int | None
    world: int | None
    hardware: str  # empty if unknown
    ranks: int  # that were compared with each other, this one included
    steps: int  # whole ones
    tolls: Tolls
    skew: Seconds  # in collectives, waiting for other ranks; 0 with one rank
    exposed_skew: Seconds  # the part that no compute hides
    collectives: tuple[KindOfCollective, ...]
    kernels: tuple[Kernel, ...]  # those that take the most time
    last: tuple[int, int] | None  # the rank that most often arrives last, its percent
    doubts: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether the job has, as far as is known, no other rank: no pipeline and no skew."""
        known = self.world if self.world is not None else self.ranks
        return known <= 1 and not self.collectives

    def record(self) -> dict[str, Json]:
        """As `wallclock measured --json` prints it."""
        tolls = self.tolls
        found: dict[str, Json] = {
            "kind": "trace",
            "ranks": self.ranks,
            "steps": self.steps,
            "wall": tolls.wall,
            "compute": tolls.compute,
            "exposed_communication": tolls.exposed_communication,
            "overlapped_communication": tolls.overlapped_communication,
            "exposed_copies": tolls.exposed_copies,
            "idle": tolls.idle,
            "host": tolls.host,
            "collectives": [
                {"kind": one.kind, "count": one.count, "bytes": one.size, "time": one.time, "busbw": one.bandwidth}
                for one in self.collectives
            ],
            "doubts": list(self.doubts),
        }
        if tolls.unexplained:
            found["unexplained"] = tolls.unexplained
        if self.ranks > 1:
            found |= {"rank": self.rank, "skew": self.skew, "exposed_skew": self.exposed_skew}
        return found


def by_kind(calls: Sequence[CollectiveCall], waits: Sequence[Seconds]) -> tuple[KindOfCollective, ...]:
    """The *calls* by kind, the one that takes the most time first.

    *waits* are the parts of the calls that waited for other ranks; the bus bandwidth is of the rest.
    """
    found: dict[str, list[tuple[CollectiveCall, Seconds]]] = defaultdict(list)
    for call, wait in zip(calls, waits, strict=True):
        found[call.kind].append((call, wait))
    return tuple(sorted((_kind(kind, some) for kind, some in found.items()), key=lambda one: -one.time))


def _kind(kind: str, some: Sequence[tuple[CollectiveCall, Seconds]]) -> KindOfCollective:
    sized = [
        (call.size, call.moved / transfer, call.ranks)
        for call, wait in some
        if call.size and call.moved and (transfer := call.time - wait) > 0
    ]
    largest = max((size for size, _, _ in sized), default=0)
    rates = [rate for size, rate, _ in sized if size > largest / 2]
    return KindOfCollective(
        kind=kind,
        count=len(some),
        size=sum(call.size or 0 for call, _ in some),
        time=sum(call.time for call, _ in some),
        bandwidth=median(rates) if rates else None,
        ranks=next((ranks for size, _, ranks in sized if size == largest), 0),
    )


def straggler(last: Mapping[int, int], matched: int, names: Sequence[int]) -> tuple[int, int] | None:
    """The rank that most often arrives last, and in how many percent of the collectives."""
    if not matched:
        return None
    at, often = max(last.items(), key=lambda item: item[1])
    return names[at], round(100 * often / matched)


_SMALLEST = 0.01  # of the wall: less is not worth a sentence
_WAITING = noted(
    "The kernels were launched and waited for others: the pipeline's bubble (more "
    "micro-batches, interleaving), events between streams, small kernels in a row."
)
_ALONE = noted("The kernels were launched and waited for others: events between streams, small kernels in a row.")


@dataclass(frozen=True, slots=True)
class Lever:
    """Something to try, and the most that it could save of the wall."""

    toll: str
    saves: Seconds
    formula: str
    says: str


def levers(report: TraceReport) -> tuple[Lever, ...]:
    """The levers that could save at least one percent of the wall, the largest first."""
    found = (one for one in _levers(report) if one.saves > _SMALLEST * report.tolls.wall)
    return tuple(sorted(found, key=lambda one: -one.saves))


def _levers(report: TraceReport) -> Iterator[Lever]:
    tolls = report.tolls
    transfer = tolls.exposed_communication - report.exposed_skew
    hideable = max(min(transfer, tolls.compute - tolls.overlapped_communication), 0.0)
    yield Lever(
        noted("Communication beyond compute"),
        transfer - hideable,
        noted("exposed - (compute - overlapped)"),
        noted(
            "There is not enough compute to hide it: move fewer bytes (16-bit gradients, accumulated "
            "over more micro-batches) or find out why the bus bandwidth is below the wire's."
        ),
    )
    yield Lever(
        noted("Exposed communication"),
        hideable,
        noted("min(exposed, compute - overlapped)"),
        noted(
            "Start collectives earlier, behind compute that does not need them: smaller buckets, "
            "prefetching, a stream of their own."
        ),
    )
    balance = noted("Balance the ranks: their data, their stages, or a slow GPU.")
    if report.last:
        balance = say("{says} Rank {rank} most often arrives last.", says=balance, rank=report.last[0])
    yield Lever(
        noted("Waiting for the slowest rank"),
        report.exposed_skew,
        noted("the sum of (time - shortest time of the collective), where no compute hides it"),
        balance,
    )
    yield Lever(
        noted("Host stalls"),
        tolls.host,
        noted("the sum over gaps of (launch of the next kernel - beginning of the gap)"),
        noted(
            "Launch earlier or less: CUDA graphs, torch.compile, fused optimizers, no .item() or "
            "printing in the step, more workers that load data."
        ),
    )
    waiting = _ALONE if report.alone else _WAITING
    yield Lever(noted("Waiting of the GPU"), tolls.waiting, noted("idle - host"), waiting)
    yield Lever(
        noted("Exposed copies"),
        tolls.exposed_copies,
        noted("copies while the GPU neither computes nor communicates"),
        noted("Copy from pinned memory on another stream with non_blocking=True, one batch ahead."),
    )


_LARGE_GAP = 0.5  # of the wall
_FEW = 0.01  # of the events
_NAMED = 3  # kernels


def doubts_of_rank(
    source: EventFile, activity: Activity, window: Window, tolls: Tolls, kernels: Sequence[Kernel]
) -> Iterator[str]:
    """The doubts about one file."""
    yield from _about_the_file(source, activity)
    if window.steps == 0 and activity.steps:
        yield ("no whole step has work of the GPU, so everything from the first to the last kernel counts")
    elif window.steps == 0:
        yield (
            "no step is marked (profiler.step() was not called), so everything from the first to the last kernel counts"
        )
    elif window.until == inf:
        yield ("only one step is marked, so everything from the first to the last kernel counts")
    yield from _about_launches(activity, window, kernels)
    if tolls.longest_gap > _LARGE_GAP * tolls.wall:
        share = f"{100 * tolls.longest_gap / tolls.wall:.1f} %"
        yield (
            f"one gap, of {show(tolls.longest_gap, SECOND, 3)} from {show(tolls.gap_begin, SECOND, 3)} after the first"
            f" kernel, is {share} of the time: perhaps a pause, the start of the profiler or a first call; the largest"
            f" kernels beside it are {_largest(kernels)}"
        )
    if len(activity.devices) > 1:
        yield f"the file has kernels of {len(activity.devices)} GPUs, which are counted as one"
    if other := activity.foreign.describe():
        yield f"the trace also has {other}, which is not supported and was left out"


def _about_launches(activity: Activity, window: Window, kernels: Sequence[Kernel]) -> Iterator[str]:
    """Whether kernels are tied to the calls that launched them."""
    missing, events = find_unlaunched(activity), len(activity)
    if missing == events:
        yield (
            "the trace has no launches, so how much of the idle time is due to the host is unknown and counts as 0;"
            f" profile with ProfilerActivity.CPU, too; the largest kernels are {_largest(kernels)}"
        )
    elif missing > _FEW * events:
        yield (
            f"of {events:,} events of the GPU, {missing:,} are tied to no launch: why the GPU"
            f" is idle before them is unknown; the largest kernels are {_largest(kernels)}"
        )
    if not window.by_launch:
        yield ("most kernels are tied to no launch, so kernels belong to the step in which they begin")
    elif window.until < inf and missing > _FEW * events:
        yield "the events that are tied to no launch belong to no step and were left out"


def _largest(kernels: Sequence[Kernel]) -> str:
    """The names of those that take the most time, if possible of those that compute."""
    computing = [one for one in kernels if one.sort == COMPUTE] or kernels
    return ", ".join(f"{one.name} ({show(one.time, SECOND, 3)})" for one in computing[:_NAMED])


def _about_the_file(source: EventFile, activity: Activity) -> Iterator[str]:
    if source.cut_off:
        yield "the file is cut off or damaged: the events after that are missing"
    if source.damaged:
        yield f"events that are not valid JSON were left out: {source.damaged:,}"
    if activity.impossible:
        yield (
            "events of the GPU with a negative duration or a time that is not a number were left"
            f" out: {activity.impossible:,}"
        )
    if activity.untold:
        yield (f"the first {MOST_COLLECTIVES:,} collectives are listed; {activity.untold:,} more are only in the tolls")
    if activity.beyond:
        yield (f"the first {MOST:,} events of the GPU are counted; {activity.beyond:,} more were left out")


def doubts_of_ranks(
    rank: RankTrace, compared: int, skew: Skew | None, collectives: Sequence[KindOfCollective]
) -> Iterator[str]:
    """The doubts about the collectives, with *compared* ranks side by side."""
    if (rank.world or 0) > 1 and not rank.tolls.communication:
        yield (
            f"the job has {rank.world:,} ranks, but no kernel here is known to communicate; if one"
            f" of the largest does, it was counted as compute: {_largest(rank.kernels)}"
        )
    if not collectives:
        return
    if compared == 1 and rank.world != 1:
        which = "one rank" if rank.number is None else f"rank {rank.number}"
        of = f" of {rank.world:,}" if rank.world else ""
        yield (
            f"this is {which}{of} alone: its collectives also wait for the slowest rank, so the bus"
            " bandwidths are at least these"
        )
    elif skew and skew.unmatched:
        kinds = ", ".join(sorted(skew.unmatched))
        yield f"the ranks made different calls ({kinds}): waiting in these is not told apart"
    elif skew and not skew.matched:
        yield "no collective is the same on all ranks: waiting for others is not told apart"
    if unsized := [one.kind for one in collectives if one.bandwidth is None]:
        yield f"the trace does not say how many bytes were moved by {', '.join(unsized)}"
