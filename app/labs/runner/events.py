"""What ranks report: one JSON object per line of a run's `events.jsonl`.

Rank 0 writes these classes; the server reads the same ones back.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyEvent:
    """All ranks have met."""

    kind: Literal["ready"] = "ready"
    at: float
    world: int
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEvent:
    """The data came out right, or wrong; *says* where and on which rank, if that is known."""

    kind: Literal["check"] = "check"
    at: float
    name: str
    right: bool
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureEvent:
    """Samples of one measure, in base units, and where they were taken.

    A sample is the slowest rank's; *by_rank* has the median of each rank's own.
    """

    kind: Literal["measure"] = "measure"
    at: float
    name: str
    samples: tuple[float, ...]
    where: Mapping[str, float | str]
    by_rank: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingEvent:
    """The *samples* of a measure begin, each of which takes about *each* seconds."""

    kind: Literal["timing"] = "timing"
    at: float
    samples: int
    each: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailEvent:
    """How the ranks did it: the kernel that was chosen, the transport between the GPUs."""

    kind: Literal["detail"] = "detail"
    at: float
    name: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """The state of a GPU, in base units; None and empty are unknown.

    *slowed* has the seconds since some moment in the past for which each reason has held the clock
    down, *reasons* those that do now. *utilization* is a share of the time just before.
    """

    uuid: str = ""
    clock: float | None = None
    highest_clock: float | None = None
    power: float | None = None
    power_limit: float | None = None
    temperature: float | None = None
    memory_used: float | None = None
    utilization: float | None = None
    reasons: tuple[str, ...] = ()
    slowed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClocksEvent:
    """The state of rank 0's GPU, and *readings* of those of all ranks, before or after the run."""

    kind: Literal["clocks"] = "clocks"
    at: float
    when: Literal["before", "after"]
    reading: GpuReading
    readings: tuple[GpuReading | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEvent:
    """What each rank saw of other threads while its samples were taken, by rank.

    *seconds* of samples, and those in which a thread was *waiting* for a core; None where the kernel
    does not count them. Earlier versions counted other things, which are no longer read.
    """

    kind: Literal["strain"] = "strain"
    at: float
    seconds: tuple[float, ...]
    waiting: tuple[float | None, ...] = ()


RankEvent = ReadyEvent | CheckEvent | MeasureEvent | TimingEvent | DetailEvent | ClocksEvent | WaitEvent


def as_line(event: RankEvent) -> str:
    """*event* as a line of the file."""
    return json.dumps(asdict(event)) + "\n"
