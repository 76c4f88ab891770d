"""What a run found: samples, what was predicted, and how they compare."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from app.expressions import ExpressionError, Quantity, evaluate
from app.labs.fitting import Line, fit
from app.labs.reading import RANKS, Lab, Value, amount, lab_called
from app.labs.runs import Run
from app.units import RATIO, scale_of

_LATE = 0.05  # of the predicted time: an emulated link that is later than that was not kept up with


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from a median, in base units and as a person would write it."""

    value: float
    shown: str


@dataclass(frozen=True, slots=True)
class Measure:
    """Samples of one thing at one place, in base units, and what was predicted for it.

    *ratio* is measured over predicted: of the median, or of the least where a link is emulated.
    *trouble* says why nothing could be predicted, where something should have been.
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


@dataclass(frozen=True, slots=True)
class Report:
    """A run from its question to its answer."""

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


# Reads a report that was kept as JSON.
REPORT: TypeAdapter[Report] = TypeAdapter(Report)


def report_of(run: Run) -> Report:
    """What *run* has found so far."""
    asked, outcome, events = run.asked, run.outcome, run.events()
    lab = lab_called(str(asked["lab"]))
    values = asked["values"]
    assert isinstance(values, dict)
    ranks = int(str(asked["ranks"]))
    measures = measured(lab, ranks, values, [one for one in events if one["kind"] == "measure"])
    ready = next((event for event in events if event["kind"] == "ready"), {})
    return Report(
        id=run.id,
        lab=lab.name,
        state=str(outcome.get("state", "running")),
        cause=str(outcome.get("cause", "") or ""),
        seconds=_number(outcome.get("seconds")),
        at=str(asked["at"]),
        command=str(asked["command"]),
        ranks=ranks,
        world=int(str(ready["world"])) if "world" in ready else None,
        backend=str(asked["backend"]),
        links=lab.links,
        machine=_machine(asked, events),
        versions=dict(ready.get("versions", {})),  # type: ignore[call-overload]
        checks={str(e["name"]): bool(e["right"]) for e in events if e["kind"] == "check"},
        measures=measures,
        line=_line(lab, measures),
        notes=tuple(_notes(lab, ranks, str(asked["backend"]), measures)),
    )


def measured(
    lab: Lab,
    ranks: int,
    values: Mapping[str, Value],
    events: Sequence[Mapping[str, object]],
) -> tuple[Measure, ...]:
    """What the samples of *events* come to, and what was predicted for each.

    An event has the name of a measure, where it was taken, and its samples in base units.
    """
    names = known_quantities(lab, ranks, values)
    return tuple(_measure(lab, names, values, event) for event in events)


def judged_anew(report: Report, ranks: int, values: Mapping[str, Value]) -> Report:
    """*report* with all that follows from its samples worked out here."""
    lab = lab_called(report.lab)
    events = [
        {"name": one.name, "where": dict(one.where), "samples": one.samples}
        for one in report.measures
    ]
    measures = measured(lab, ranks, values, events)
    return replace(
        report,
        measures=measures,
        links=lab.links,
        line=_line(lab, measures),
        notes=tuple(_notes(lab, ranks, report.backend, measures)),
    )


def known_quantities(
    lab: Lab, ranks: int, values: Mapping[str, Value | Sequence[float]]
) -> dict[str, Quantity]:
    """The parameters that expressions of *lab* may name."""
    names = {RANKS: Quantity(float(ranks))}
    for name, parameter in lab.parameters.items():
        value = values[name]
        if isinstance(value, int | float):
            names[name] = Quantity(float(value), parameter.measured_in.dimension)
    return names


def predicted(
    lab: Lab, name: str, names: Mapping[str, Quantity], words: Mapping[str, object]
) -> float | None:
    """What *lab* predicts for its measure *name*; nothing where no formula can.

    Raises:
        ExpressionError: the expression of the lab is wrong.
    """
    text = lab.measures[name].predicted
    if not text:
        return None
    return evaluate(text.format(**words), _with_let(lab, names, words)).value


def _with_let(
    lab: Lab, names: Mapping[str, Quantity], words: Mapping[str, object]
) -> Mapping[str, Quantity]:
    known = dict(names)
    for name, text in lab.let.items():
        known[name] = evaluate(text.format(**words), known)
    return known


def _measure(
    lab: Lab,
    names: Mapping[str, Quantity],
    values: Mapping[str, object],
    event: Mapping[str, object],
) -> Measure:
    name, samples = str(event["name"]), sorted(float(x) for x in event["samples"])  # type: ignore[attr-defined]
    where: dict[str, float | str] = dict(event["where"])  # type: ignore[call-overload]
    known = {**names, **_placed(lab, where)}
    words = {**values, **where}
    says = lab.measures[name]
    wanted, trouble = None, ""
    try:
        wanted = predicted(lab, name, known, words)
    except ExpressionError as error:
        trouble = str(error)
    median = statistics.median(samples)
    held = samples[0] if says.least else median
    unit = scale_of(says.unit).unit.dimension if says.unit else Quantity(0.0).dimension
    derived = {}
    for key, text in says.derived.items():
        follows = evaluate(text.format(**words), {**known, "value": Quantity(median, unit)})
        derived[key] = Derived(follows.value, str(follows))
    return Measure(
        name,
        where,
        len(samples),
        samples[0],
        median,
        samples[min(len(samples) - 1, int(0.9 * len(samples)))],
        tuple(samples),
        wanted,
        held / wanted if wanted else None,
        all(sample == wanted for sample in samples) if says.exact and wanted is not None else None,
        derived,
        trouble,
    )


def _placed(lab: Lab, where: Mapping[str, float | str]) -> dict[str, Quantity]:
    """The place of a measure, as quantities: a size is in the unit of the sizes."""
    found = {}
    for name, value in where.items():
        if isinstance(value, str):
            continue
        parameter = lab.parameter_of(name)
        unit = parameter.measured_in if parameter else RATIO
        found[name] = Quantity(float(value), unit.dimension)
    return found


def _machine(
    asked: Mapping[str, object], events: Sequence[Mapping[str, object]]
) -> Mapping[str, object]:
    """Where it ran: what rank 0 said of its machine, or whoever started it of this one."""
    told = next((event["machine"] for event in events if event["kind"] == "machine"), None)
    machine = told or asked["machine"]
    assert isinstance(machine, dict)
    return machine


def _line(lab: Lab, measures: Sequence[Measure]) -> Line | None:
    points = [(float(one.where["size"]), one.median) for one in measures if one.name == lab.fits]
    return fit(points) if lab.fits else None


def _notes(lab: Lab, ranks: int, backend: str, measures: Sequence[Measure]) -> Sequence[str]:
    notes = [
        f"Nothing could be predicted of {one.name}: {one.trouble}."
        for one in measures
        if one.trouble
    ]
    if lab.links == "real" and backend == "gloo" and ranks > 1:
        notes.append(
            "Over gloo, between processes of one machine: expect a factor of two from run to run."
        )
    late = [
        one
        for one in measures
        if one.predicted and float(one.where.get("late", 0.0)) > _LATE * one.predicted
    ]
    if late:
        notes.append(
            f"The machine was too slow or too busy for the emulated link at {len(late)} of "
            f"{len(measures)} points: their messages came later than they should."
        )
    return notes


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def shown(lab: Lab, name: str, value: float) -> str:
    """A value of the measure *name*, as a person would write it."""
    unit = lab.measures[name].unit
    return amount(value, scale_of(unit).unit if unit else RATIO)
