"""The report of a run: samples, predictions, how they compare, and whether something disturbed it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from app.core.translation import Numeral, noted
from app.core.units import BYTE, RATIO, scale_of
from app.labs.machines.devices import counted_names
from app.labs.machines.machine import MachineFacts
from app.labs.run import Event, JobRecord
from app.labs.runner.events import ClocksEvent, WaitEvent
from app.labs.spec import Lab, amount
from app.server.db.run_state import RunState

Held = Literal["min", "median"]
_MANY = 100  # a ratio from which three decimals say nothing


@dataclass(frozen=True, slots=True)
class LatencyFit:
    """time = latency + size / bandwidth, and the median of the relative errors at the points.

    The points have sizes from *least* to *most*. The ranges have a probability of 95 %, and may
    lack an upper end; *left_out* is the size of a point that is far off all others.
    """

    latency: float
    bandwidth: float
    median_error: float
    least: float = 0.0
    most: float = 0.0
    latency_range: tuple[float, float] | None = None
    bandwidth_range: tuple[float, float | None] | None = None
    left_out: float | None = None

    def at(self, size: float) -> float:
        """The time that the line gives for *size*."""
        return self.latency + size / self.bandwidth


@dataclass(frozen=True, slots=True)
class DerivedValue:
    """A value derived from a median, in base units and as a person would write it."""

    value: float
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Samples of one measure at one place, in base units, and the prediction for it.

    A sample is the slowest rank's; *by_rank* has the median of each rank's own, from which, where each rank does the
    same by itself, *derived_by_rank* follows. *held* is the number to compare with predictions, the median or the
    least, as `held_in` says; *ratio* is *held* over *predicted*. *trouble* says why a prediction that should be there
    is not. What follows from the samples is empty until they are analyzed.
    """

    name: str
    where: Mapping[str, float | str]
    count: int = 0
    least: float = 0.0
    median: float = 0.0
    p90: float = 0.0
    samples: tuple[float, ...]
    predicted: float | None = None
    ratio: float | None = None
    right: bool | None = None
    derived: Mapping[str, DerivedValue] = field(default_factory=dict)
    trouble: str = ""
    held: float = 0.0
    by_rank: tuple[float, ...] = ()
    derived_by_rank: tuple[Mapping[str, DerivedValue], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """The GPU of a *rank* when a run ended, in base units; None and empty are unknown.

    *rates* are derived from its own times at the last place.
    """

    rank: int
    uuid: str = ""
    rates: Mapping[str, DerivedValue] = field(default_factory=dict)
    clock: float | None = None
    temperature: float | None = None
    power: float | None = None
    throttled: str = ""


@dataclass(frozen=True, slots=True)
class SlowPair:
    """Two ranks whose messages take longer than the median of alike pairs, by *share* of it."""

    first: int
    second: int
    share: float


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """The times of messages of *size* bytes, one way, by both ranks; None where there is none."""

    size: float
    times: tuple[tuple[float | None, ...], ...]
    slow: tuple[SlowPair, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """When the ranks of a run that goes on had met, by the clock of rank 0."""

    begun: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run from its parameters, *given* as texts, to its results.

    *line* fits all sizes; or else *lines* fit a range of them each. *details* say how the ranks did it, and *underway*
    how far they are, if they still run. *doubts* say what disturbed the run; if there are any, nothing may be concluded
    from it. *pairs* has a matrix for each size with which all pairs of ranks were measured.
    """

    id: str
    lab: str
    state: RunState
    cause: str = ""
    seconds: float | None = None
    at: str = ""
    command: str = ""
    ranks: int
    world: int | None = None
    backend: str
    links: str
    machine: MachineFacts
    versions: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, bool] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    line: LatencyFit | None = None
    notes: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    lines: tuple[LatencyFit, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    underway: RunProgress | None = None
    doubts: tuple[str, ...] = ()
    pairs: tuple[PairMatrix, ...] = ()
    each_gpu: tuple[GpuRow, ...] = ()

    @property
    def size(self) -> str:
        """The number of ranks, and of nodes if there are several, in words."""
        nodes = f" on {self.nodes} nodes" if self.nodes > 1 else ""
        return f"{self.ranks} {'rank' if self.ranks == 1 else 'ranks'}{nodes}"

    @property
    def span(self) -> int:
        """The nodes that it ran on: those that its ranks found, else those that it asked for."""
        found = self.machine.nodes
        return max(found if isinstance(found, int) else 1, self.nodes)

    @property
    def gpus(self) -> str:
        """The GPUs of the ranks, one each, in words; empty on processors.

        The machine's facts are those of one node, or even of one rank, if its launcher shows each rank a single GPU.
        """
        if self.backend != "nccl":
            return ""
        names = list(map(str, self.machine.gpus))
        kinds = dict.fromkeys(names)
        nodes = f" on {self.span} nodes" if self.span > 1 else ""
        if len(kinds) == 1:
            return f"{self.ranks} × {names[0]}{nodes}"
        if len(names) == self.ranks:
            return counted_names(names)
        return f"{self.ranks} × {' or '.join(kinds) or 'an unknown GPU'}{nodes}"

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the places at which measures were taken."""
        keys = dict.fromkeys(key for one in self.measures for key in one.where)
        return tuple(key for key in keys if key != "late")

    @property
    def derivations(self) -> tuple[str, ...]:
        """The names of the values derived from medians."""
        return tuple(dict.fromkeys(key for one in self.measures for key in one.derived))

    def as_json(self) -> str:
        """Everything as JSON, to store or to send elsewhere."""
        plain = asdict(self)
        for name in ("underway", "pairs", "each_gpu"):
            if not plain[name]:
                del plain[name]
        for one in plain["measures"]:
            for name in ("by_rank", "derived_by_rank"):
                if not one[name]:
                    del one[name]
        plain["machine"] = {k: fact for k, fact in plain["machine"].items() if fact is not None}
        return json.dumps(plain, ensure_ascii=False)

    def without_samples(self) -> "Report":
        """The report without the individual samples, which are most of its size."""
        return replace(self, measures=tuple(replace(one, samples=()) for one in self.measures))


def held_in(lab: Lab | None, name: str) -> Held:
    """Which number of the measure *name* is compared with a prediction.

    The fastest sample where a link is emulated, which can be late but never early; else the
    median. Every comparison of a measurement with a prediction uses this.
    """
    says = lab.measures.get(name) if lab else None
    return "min" if says and says.least else "median"


def held_of(lab: Lab | None, name: str, least: float, median: float) -> float:
    """The number itself."""
    return least if held_in(lab, name) == "min" else median


def ratio_shown(ratio: float | None) -> str:
    """The ratio of a measurement to a prediction, as a person would write it."""
    if ratio is None:
        return ""
    return Numeral(f"{ratio:.3f}" if ratio < _MANY else f"{ratio:.4g}")


def show_measure(lab: Lab, name: str, value: float) -> str:
    """A value of the measure *name*, as a person would write it."""
    unit = lab.measures[name].unit
    return amount(value, scale_of(unit).unit if unit else RATIO)


COUNTED, SEEN = "waiting for a core", "disturbed"  # among the details of a report
COUNTED_ONCE = "interruptions"  # what earlier versions counted instead
_WITH_LAUNCH = " with launch"  # by the clock of the host: noisy, and compared with nothing
_FEWEST, _FEW = 3, 10  # samples: from which on they have a spread, and below which one decides
_SPREAD = 1.5  # of a median over the fastest sample, of the slowest of a few over the median
_SUM = 1.25  # of parts one after the other
_WITHIN = 0.95  # of a part, by which the whole may be off
_BOUND, _LEAST = 0.9, 0.97  # over what measured rates allow, and an emulated link
_EMULATED, _PEAK = 1.1, 1.1  # over an emulated link, a datasheet
_SHARES = ("share of the peak", "share of the HBM")
# Of the seconds of samples. Two ranks on two cores with nothing beside them wait for each other for 7 to 11 %,
# on a busy machine for 40 % and more.
_WITHOUT_CORE = 0.15
_IN_USE, _BUSY = 2 * 2**30, 0.1  # bytes, and share of the time, of a GPU before the run
_THROTTLED = 0.05  # of the time of a run
_FAULTS = ("the temperature", "the power supply", "a slowdown of the hardware")

WHAT_TO_DO = noted(
    "Nothing is concluded from this run: no fit, no verdict on a prediction, and no server takes it. "
    "Stop what else uses this machine, or take fewer ranks than it has cores, and run it again."
)
_SPREADS = noted(
    "{name}: at {count} of {points} points, the median is more than 1.5 times the fastest sample, up to {times} times."
)
_OUTLIES = noted("{name}: the slowest of {count} samples took {times} times the median.")
_SHORT = noted("{name} took less time than {part}, which is a part of it.")
_LONG = noted("{name} took {times} times as long as its parts one after the other.")
_FAST = noted("{name} took {times} times the least time that is possible.")
_SLOW = noted("{name} took {times} times as long as the emulated link and the layers take.")
_ABOVE = noted("{name}: a {share} of {times} is more than the datasheet allows.")
_LOADED = noted("The load before the run was {load}, on {cores} cores.")
_READY = noted("Rank {rank} was ready to run and had no core for {percent} % of its samples.")
_USED = noted("The GPU of rank {rank} had {bytes} in use before the run.")
_AT_WORK = noted("The GPU of rank {rank} was at work for {percent} % of the time before the run.")
_OTHERS = noted("Other processes used the GPUs before the run: {others}.")
_HOT = noted("The clock of the GPU of rank {rank} was held down by {reason} for {percent} %.")
DOUBTS = (
    WHAT_TO_DO, _SPREADS, _OUTLIES, _SHORT, _LONG, _FAST, _SLOW, _ABOVE, _LOADED,
    _READY, _USED, _AT_WORK, _OTHERS, _HOT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _JudgedMeasures:
    """The measures of time of a run, in the form of *lab* that ran over *backend*."""

    lab: Lab
    backend: str
    times: Sequence[Measure]

    def of(self, name: str) -> Sequence[Measure]:
        """Those that are called *name*."""
        return [one for one in self.times if one.name == name]


def doubts_about(report: Report, lab: Lab) -> tuple[str, ...]:
    """What says that *report*, of a run of *lab* in its form, was disturbed; none if nothing does.

    What is only counted cannot be disturbed, and a run that still goes on is not judged.
    """
    known = lab.measures
    times = [one for one in report.measures if one.name in known and known[one.name].unit == "s"]
    if not times or report.state is RunState.RUNNING:
        return ()
    judged = _JudgedMeasures(lab, report.backend, times)
    found = [*_counted(report), *(says for look in _LOOKS for says in look(judged))]
    return tuple(dict.fromkeys(found))


def disturbances_in(events: Sequence[Event], job: JobRecord, lab: Lab, machine: MachineFacts) -> Mapping[str, str]:
    """What was counted beside the samples of all ranks, as details of a report.

    What disturbed the samples is called `SEEN`, and is left out if there is nothing.
    """
    waits = next((one for one in events if isinstance(one, WaitEvent)), None)
    looks: dict[str, ClocksEvent] = {one.when: one for one in events if isinstance(one, ClocksEvent)}
    signs = list(_gpu_signs(looks))
    if job.launcher == "local" and machine.others and job.ranks >= len(machine.gpus) > 0:  # elsewhere they may be ours
        signs.append(_OTHERS.format(others=machine.others))
    shares = (
        [
            (waiting or 0.0) / seconds if seconds > 0 else 0.0
            for seconds, waiting in zip(waits.seconds, waits.waiting, strict=True)
        ]
        if waits and any(one is not None for one in waits.waiting)
        else []
    )  # nobody counts them everywhere
    # An emulated link shows itself how late it was; elsewhere the rank that waited most counts, be it for its own run.
    if shares and max(shares) > _WITHOUT_CORE and lab.links != "emulated" and job.backend == "gloo":
        percent = f"{100 * min(1.0, max(shares)):.0f}"
        signs.append(_READY.format(rank=shares.index(max(shares)), percent=percent))
    found = {COUNTED: f"{100 * max(shares):.2g} % of the samples"} if shares else {}
    return found | ({SEEN: "; ".join(signs)} if signs else {})


def _counted(report: Report) -> Iterator[str]:
    """What the machine said: while samples were taken, or where nothing counted that, before."""
    if seen := report.details.get(SEEN):
        yield from seen.split("; ")
    load, cores = report.machine.load, report.machine.cores
    if {COUNTED, COUNTED_ONCE} & report.details.keys() or report.backend != "gloo":
        return
    if isinstance(load, int | float) and isinstance(cores, int | float) and load > cores > 0:
        yield _LOADED.format(load=f"{load:g}", cores=f"{cores:g}")


def _spreads(judged: _JudgedMeasures) -> Iterator[str]:
    """Medians far above the fastest sample."""
    for name, points in _by_name(judged.times):
        if name.endswith(_WITH_LAUNCH):
            continue
        several = (one for one in points if one.count >= _FEWEST and one.least > 0)
        wide = [one.median / one.least for one in several if one.median > _SPREAD * one.least]
        if wide:
            yield _SPREADS.format(name=name, count=len(wide), points=len(points), times=f"{max(wide):.2g}")


def _outliers(judged: _JudgedMeasures) -> Iterator[str]:
    """One of a few samples that took far longer than the others."""
    for one in judged.times:
        is_few = _FEWEST <= one.count < _FEW and not one.name.endswith(_WITH_LAUNCH)
        if is_few and one.p90 > _SPREAD * one.median:
            times = f"{one.p90 / one.median:.2g}"
            yield _OUTLIES.format(name=one.name, count=one.count, times=times)


def _parts(judged: _JudgedMeasures) -> Iterator[str]:
    """A whole that is faster than one of its parts, or slower than all of them in a row."""
    for one in judged.times:
        parts = [found[-1] for name in judged.lab.measures[one.name].contains
                 if (found := judged.of(name))]  # fmt: skip
        for part in parts:
            if one.least < _WITHIN * part.median:
                yield _SHORT.format(name=one.name, part=part.name)
        together = sum(part.median for part in parts)
        if len(parts) > 1 and one.median > _SUM * together:
            yield _LONG.format(name=one.name, times=f"{one.median / together:.2g}")


def _impossible(judged: _JudgedMeasures) -> Iterator[str]:
    """Times below a bound, above an emulated link, or that a datasheet does not allow."""
    for one in judged.times:
        says, ratio = judged.lab.measures[one.name], one.ratio
        if ratio and ((says.bound and ratio < _BOUND) or (says.least and ratio < _LEAST)):
            yield _FAST.format(name=one.name, times=f"{ratio:.2g}")
        elif ratio and says.least and ratio > _EMULATED:
            yield _SLOW.format(name=one.name, times=f"{ratio:.3g}")
        for share in _SHARES:
            if share in one.derived and (value := one.derived[share].value) > _PEAK:
                yield _ABOVE.format(name=one.name, share=share, times=f"{value:.2g}")


_LOOKS: tuple[Callable[[_JudgedMeasures], Iterator[str]], ...] = (
    _spreads, _outliers, _parts, _impossible,
)  # fmt: skip


def _by_name(times: Iterable[Measure]) -> Iterator[tuple[str, Sequence[Measure]]]:
    found: dict[str, list[Measure]] = {}
    for one in times:
        found.setdefault(one.name, []).append(one)
    yield from found.items()


def _gpu_signs(looks: Mapping[str, ClocksEvent]) -> Iterator[str]:
    """What else used the GPU of any rank before the run, and what slowed it down."""
    before, after = looks.get("before"), looks.get("after")
    first = before.readings if before else ()
    for rank, reading in enumerate(first):
        if reading and (reading.memory_used or 0.0) > _IN_USE:
            yield _USED.format(rank=rank, bytes=amount(reading.memory_used or 0.0, BYTE))
        if reading and (reading.utilization or 0.0) > _BUSY:
            yield _AT_WORK.format(rank=rank, percent=f"{100 * (reading.utilization or 0.0):.0f}")
    if before and after:
        for rank, shares in slowed_by_rank(before, after).items():
            for reason, share in shares.items():
                if reason in _FAULTS and share > _THROTTLED:
                    yield _HOT.format(rank=rank, reason=reason, percent=f"{100 * share:.0f}")


def slowed_by_rank(before: ClocksEvent, after: ClocksEvent) -> Mapping[int, Mapping[str, float]]:
    """For each rank whose driver counts it, the share of the run that a reason held its clock down.

    Where a driver does not count, a reason that it names at the end has a share of 0.
    """
    lasted = max(after.at - before.at, 1e-9)
    found = {}
    pairs = zip(before.readings, after.readings, strict=False)
    for rank, (first, last) in enumerate(pairs):
        if first and last and last.slowed:
            found[rank] = {
                reason: (seconds - first.slowed.get(reason, seconds)) / lasted
                for reason, seconds in last.slowed.items()
                if seconds > first.slowed.get(reason, seconds)
            }
        elif first and last:
            found[rank] = dict.fromkeys(last.reasons, 0.0)
    return found
