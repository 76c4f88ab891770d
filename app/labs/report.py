"""What a run found: samples, what was predicted, and how they compare."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from pydantic import TypeAdapter

from app.labs.fit import Line
from app.labs.spec import Lab, amount, given_in, known_labs
from app.units import RATIO, scale_of

Held = Literal["fastest", "median"]


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from a median, in base units and as a person would write it."""

    value: float
    shown: str


@dataclass(frozen=True, slots=True)
class Measure:
    """Samples of one thing at one place, in base units, and what was predicted for it.

    *held* is the number that is held against predictions, the median or the least, as `held_in`
    says; *ratio* is *held* over *predicted*. *trouble* says why nothing could be predicted, where
    something should have been.
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


@dataclass(frozen=True, slots=True)
class Report:
    """A run from its question to its answer; *given* are all its parameters as texts."""

    id: str
    lab: str
    state: str
    cause: str
    seconds: float | None
    at: str
    command: str
    ranks: int
    world: int | None
    backend: str
    links: str
    machine: Mapping[str, object]
    versions: Mapping[str, str]
    checks: Mapping[str, bool]
    measures: tuple[Measure, ...]
    line: Line | None
    notes: tuple[str, ...]
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def places(self) -> tuple[str, ...]:
        """What was varied between measures."""
        keys = dict.fromkeys(key for one in self.measures for key in one.where)
        return tuple(key for key in keys if key != "late")

    @property
    def derivations(self) -> tuple[str, ...]:
        """What follows from some of the medians."""
        return tuple(dict.fromkeys(key for one in self.measures for key in one.derived))

    def as_json(self) -> str:
        """Everything, for programs and for keeping."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def without_samples(self) -> "Report":
        """All but the single samples, which are most of it."""
        return replace(self, measures=tuple(replace(one, samples=()) for one in self.measures))


_REPORT: TypeAdapter[Report] = TypeAdapter(Report)


def read_report(text: str | bytes) -> Report:
    """The report that was kept as JSON; what earlier versions did not write is added.

    Raises:
        ValidationError: it is not a report.
    """
    report = _REPORT.validate_json(text)
    lab = known_labs().get(report.lab)
    measures = tuple(
        replace(one, held=held_of(lab, one.name, one.least, one.median)) for one in report.measures
    )
    return replace(report, measures=measures, given=report.given or given_in(report.command))


def held_in(lab: Lab | None, name: str) -> Held:
    """Which number of the measure *name* is held against a prediction.

    The fastest sample where a link is emulated, which can be late and never early; else the
    median. Everything that compares a measurement with a prediction goes by this.
    """
    says = lab.measures.get(name) if lab else None
    return "fastest" if says and says.least else "median"


def held_of(lab: Lab | None, name: str, least: float, median: float) -> float:
    """That number."""
    return least if held_in(lab, name) == "fastest" else median


def ratio_shown(ratio: float | None) -> str:
    """A measurement over a prediction, as a person would write it."""
    return "" if ratio is None else f"{ratio:.3f}" if ratio < _MANY else f"{ratio:.4g}"


def shown(lab: Lab, name: str, value: float) -> str:
    """A value of the measure *name*, as a person would write it."""
    unit = lab.measures[name].unit
    return amount(value, scale_of(unit).unit if unit else RATIO)


_MANY = 100  # times as much, of which three decimals say nothing
