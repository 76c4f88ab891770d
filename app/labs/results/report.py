"""The report of a run: samples, predictions, and how they compare."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from pydantic import TypeAdapter

from app.core.translation import Numeral
from app.core.units import RATIO, scale_of
from app.labs.machines.machine import MachineFacts
from app.labs.parameters import amount, parameters_in
from app.labs.spec import Lab, known_labs
from app.server.db.columns import RunState

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
class Derived:
    """A value derived from a median, in base units and as a person would write it."""

    value: float
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Samples of one measure at one place, in base units, and the prediction for it.

    A sample is the slowest rank's; *by_rank* has the median of each rank's own, from which, where
    each rank does the same by itself, *derived_by_rank* follows.
    *held* is the number to compare with predictions, the median or the least, as `held_in` says;
    *ratio* is *held* over *predicted*. *trouble* says why a prediction that should be there is
    not.
    """

    name: str
    where: Mapping[str, float | str]
    count: int
    least: float
    median: float
    p90: float
    samples: tuple[float, ...]
    predicted: float | None
    ratio: float | None
    right: bool | None
    derived: Mapping[str, Derived]
    trouble: str = ""
    held: float = 0.0
    by_rank: tuple[float, ...] = ()
    derived_by_rank: tuple[Mapping[str, Derived], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """The GPU of a *rank* when a run ended, in base units; None and empty are unknown.

    *rates* are derived from its own times at the last place.
    """

    rank: int
    uuid: str = ""
    rates: Mapping[str, Derived] = field(default_factory=dict)
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
class Underway:
    """How far a run has come: when its ranks had met, and when each measure was there.

    Since *timing*, *samples* are being taken, each of which takes about *each* seconds. All times
    are those of rank 0's clock.
    """

    begun: float
    measured: tuple[float, ...]
    timing: float = 0.0
    samples: int = 0
    each: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run from its parameters, *given* as texts, to its results.

    *line* fits all sizes; or else *lines* fit a range of them each. *details* say how
    the ranks did it, and *underway* how far they are, if they still run. *doubts* say what
    disturbed the run; if there are any, nothing may be concluded from it. *pairs* has a matrix for
    each size with which all pairs of ranks were measured.
    """

    id: str
    lab: str
    state: RunState
    cause: str
    seconds: float | None
    at: str
    command: str
    ranks: int
    world: int | None
    backend: str
    links: str
    machine: MachineFacts
    versions: Mapping[str, str]
    checks: Mapping[str, bool]
    measures: tuple[Measure, ...]
    line: LatencyFit | None
    notes: tuple[str, ...]
    given: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    lines: tuple[LatencyFit, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    underway: Underway | None = None
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

        The machine's facts are those of one node, or even of one rank, if its launcher shows each
        rank a single GPU.
        """
        if self.backend != "nccl":
            return ""
        names = list(map(str, self.machine.gpus))
        kinds = list(dict.fromkeys(names))
        nodes = f" on {self.span} nodes" if self.span > 1 else ""
        if len(kinds) == 1:
            return f"{self.ranks} × {kinds[0]}{nodes}"
        if len(names) == self.ranks:
            return ", ".join(f"{names.count(kind)} × {kind}" for kind in kinds)
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


_REPORT: TypeAdapter[Report] = TypeAdapter(Report)


def read_report(text: str | bytes) -> Report:
    """The report that was stored as JSON; what earlier versions did not write is added.

    Raises:
        ValidationError: it is not a report.
    """
    report = _REPORT.validate_json(text)
    known = known_labs().get(report.lab)
    lab = known.run_over(report.backend) if known else None
    measures = tuple(replace(one, held=held_of(lab, one.name, one.least, one.median)) for one in report.measures)
    return replace(report, measures=measures, given=report.given or parameters_in(report.command))


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
