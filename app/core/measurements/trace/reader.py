"""From the traces of one rank or several to reports."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from app.core.errors import InputError
from app.core.measurements.trace import communication, report
from app.core.measurements.trace.activity import (
    MICRO,
    Activity,
    Collector,
    Window,
    computing_intervals,
    events_in_order,
    exposed_waits,
    tolls_of,
    whole_steps,
)
from app.core.measurements.trace.communication import CollectiveCall, communicates
from app.core.measurements.trace.events import EventFile
from app.core.measurements.trace.report import Kernel, RankTrace, TraceReport

_KERNELS = 20  # names in a report
_INTERVALS = 250_000  # of compute that are kept of a rank, to compare it with others


def read_trace(paths: Sequence[Path]) -> tuple[TraceReport, ...]:
    """A report for each file; ranks of one job are compared with each other.

    Raises:
        OSError: a file cannot be opened.
        InputError: a file is not a trace of a GPU.
    """
    ranks = []
    for path in paths:
        with path.open("rb") as file:
            ranks.append(read_rank(file, path.name))
    return reports(ranks)


def read_rank(file: BinaryIO, name: str, communicates: Callable[[str], bool] = communicates) -> RankTrace:
    """The trace of one rank.

    Raises:
        InputError: it is not a trace of a GPU.
    """
    source, collector = EventFile(file), Collector(communicates=communicates)
    for events in source.events():
        collector.add(events)
    activity = collector.activity()
    if source.cut_off and not activity.begin:
        raise InputError(f"{name} is cut off or damaged before the first event of the GPU")
    window = whole_steps(activity)
    distributed = source.job.distributed or {}
    devices = source.job.devices or [{}]
    tolls, kernels = tolls_of(activity, window), _kernels(activity, window)
    return RankTrace(
        name=name,
        number=communication.whole_number(distributed.get("rank")),
        world=communication.whole_number(distributed.get("world_size")),
        hardware=str(devices[0].get("name") or "")[:100],
        steps=window.steps,
        tolls=tolls,
        calls=tuple(_calls(source, activity, window)),
        kernels=kernels,
        computing=array("d", chain.from_iterable(islice(computing_intervals(activity, window), _INTERVALS))),
        doubts=tuple(report.doubts_of_rank(source, activity, window, tolls, kernels)),
    )


def reports(ranks: Sequence[RankTrace]) -> tuple[TraceReport, ...]:
    """A report for each of the *ranks*, which are compared if they belong to one job."""
    found: dict[int, TraceReport] = {}
    jobs: dict[tuple[object, ...], list[int]] = defaultdict(list)
    seen: Counter[tuple[object, ...]] = Counter()
    for at, rank in enumerate(ranks):  # those belong together that are alike, and each rank once
        alike = (rank.world, rank.hardware, rank.steps)
        again = 0 if rank.number is None else seen[*alike, rank.number]
        seen[*alike, rank.number] += 1
        jobs[*alike, again].append(at)
    for positions in jobs.values():
        job = [ranks[at] for at in positions]
        found |= dict(zip(positions, _reports_of_job(job), strict=True))
    return tuple(found[at] for at in range(len(ranks)))


def _reports_of_job(job: Sequence[RankTrace]) -> Iterator[TraceReport]:
    skew = communication.skew_of([rank.calls for rank in job], job[0].world) if len(job) > 1 else None
    numbers = [at if rank.number is None else rank.number for at, rank in enumerate(job)]
    last = report.straggler(skew.last, skew.matched, numbers) if skew else None
    compared = len(job) if skew and (skew.matched or job[0].world) else 1
    for at, rank in enumerate(job):
        waits = skew.waits[at] if skew else [0.0] * len(rank.calls)
        collectives = report.by_kind(rank.calls, waits)
        yield TraceReport(
            name=rank.name,
            rank=rank.number,
            world=rank.world,
            hardware=rank.hardware,
            ranks=compared,
            steps=rank.steps,
            tolls=rank.tolls,
            skew=sum(waits),
            exposed_skew=_exposed(rank, waits) if skew else 0.0,
            collectives=collectives,
            kernels=rank.kernels,
            last=last,
            doubts=(*rank.doubts, *report.doubts_of_ranks(rank, compared, skew, collectives)),
        )


def _exposed(rank: RankTrace, waits: Sequence[float]) -> float:
    """How long the rank waits in collectives while it does not compute."""
    intervals = (
        (call.begin, call.begin + wait / MICRO) for call, wait in zip(rank.calls, waits, strict=True) if wait > 0
    )
    pairs = iter(rank.computing)
    return min(exposed_waits(intervals, zip(pairs, pairs, strict=True)), rank.tolls.exposed_communication)


def _calls(source: EventFile, activity: Activity, window: Window) -> Iterator[CollectiveCall]:
    """The collectives in the order in which they began."""
    groups = communication.known_groups(source.job.distributed)
    for event in events_in_order(activity, window):
        if (said := activity.collectives.get(event)) is not None:
            name = activity.names[activity.name[event]]
            kind = communication.collective_kind(str(said.collective or ""))
            kind = communication.collective_kind(name) if kind == "other" else kind
            yield CollectiveCall(
                kind=kind,
                begin=activity.begin[event],
                time=activity.duration[event] * MICRO,
                size=communication.collective_bytes(kind, said),
                ranks=communication.whole_number(said.group_size) or 0,
                group=communication.group_of(said, groups),
            )


def _kernels(activity: Activity, window: Window) -> tuple[Kernel, ...]:
    """Those that take the most time, all of one name together."""
    names = [communication.short_kernel_name(name) for name in activity.names]
    count: Counter[tuple[str, int]] = Counter()
    time: dict[tuple[str, int], float] = defaultdict(float)
    for event in range(len(activity)):
        if window.holds(activity, event):
            key = (names[activity.name[event]], activity.sort[event])
            count[key] += 1
            time[key] += activity.duration[event]
    most = sorted(time, key=lambda key: -time[key])[:_KERNELS]
    return tuple(Kernel(name, sort, count[name, sort], time[name, sort] * MICRO) for name, sort in most)
