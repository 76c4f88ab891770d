"""What a trace says, as numbers: seconds, bytes, bytes per second."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from app.core.measurements.reports import Json
from app.core.measurements.trace.communication import CollectiveCall
from app.core.measurements.trace.tolls import Tolls
from app.core.units import BytesPerSecond, Seconds


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

    *waits* are the parts of the calls that waited for other ranks; the bus bandwidth is of the
    rest.
    """
    found: dict[str, list[tuple[CollectiveCall, Seconds]]] = defaultdict(list)
    for call, wait in zip(calls, waits, strict=True):
        found[call.kind].append((call, wait))
    kinds = (_kind(kind, some) for kind, some in found.items())
    return tuple(sorted(kinds, key=lambda one: -one.time))


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
