"""What follows from the samples of a run: medians, predictions, the line that fits, doubts."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.expressions import ExpressionError, Quantity, evaluate
from app.labs.fit import Line, fit
from app.labs.report import Derived, Measure, Report, held_of
from app.labs.run import Run
from app.labs.spec import RANKS, Lab, Value, lab_called
from app.units import RATIO, scale_of

_LATE = 0.05  # of the predicted time: an emulated link that is later than that was not kept up with
_ROUNDED = 0.05  # of a size: what ranks that share it equally may leave over


def report_of(run: Run) -> Report:
    """What *run* has found so far."""
    asked, outcome, events = run.asked, run.outcome, run.events()
    lab = lab_called(str(asked["lab"]))
    ranks, values = int(str(asked["ranks"])), _mapping(asked["values"])
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
        versions={k: str(v) for k, v in _mapping(ready.get("versions", {})).items()},
        checks={str(e["name"]): bool(e["right"]) for e in events if e["kind"] == "check"},
        measures=measures,
        line=_line(lab, measures),
        notes=tuple(_notes(lab, ranks, str(asked["backend"]), measures)),
        given=run.given,
    )


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


def measured(
    lab: Lab,
    ranks: int,
    values: Mapping[str, object],
    events: Sequence[Mapping[str, object]],
) -> tuple[Measure, ...]:
    """What the samples of *events* come to, and what was predicted for each.

    An event has the name of a measure, where it was taken, and its samples in base units.
    """
    names, words = known_quantities(lab, ranks, values), lab.words(values)
    return tuple(_measure(lab, names, words, event) for event in events)


def known_quantities(lab: Lab, ranks: int, values: Mapping[str, object]) -> dict[str, Quantity]:
    """The parameters that expressions of *lab* may name."""
    names = {RANKS: Quantity(float(ranks))}
    for name, parameter in lab.parameters.items():
        value = values[name]
        if isinstance(value, int | float):
            names[name] = Quantity(float(value), parameter.measured_in.dimension)
    return names


def predicted(
    lab: Lab, name: str, names: Mapping[str, Quantity], words: Mapping[str, str]
) -> float | None:
    """What *lab* predicts for its measure *name*; nothing where no formula can.

    *words* are those of `Lab.words`, and no others: they become part of the formula's text.

    Raises:
        ExpressionError: the expression of the lab is wrong.
    """
    text = lab.measures[name].predicted
    if not text:
        return None
    return evaluate(text.format(**words), _with_let(lab, names, words)).value


def _with_let(
    lab: Lab, names: Mapping[str, Quantity], words: Mapping[str, str]
) -> Mapping[str, Quantity]:
    known = dict(names)
    for name, text in lab.let.items():
        known[name] = evaluate(text.format(**words), known)
    return known


def _measure(
    lab: Lab,
    names: Mapping[str, Quantity],
    words: Mapping[str, str],
    event: Mapping[str, object],
) -> Measure:
    name, samples = str(event["name"]), sorted(float(x) for x in event["samples"])  # type: ignore[attr-defined]
    where: dict[str, float | str] = dict(event["where"])  # type: ignore[call-overload]
    known = {**names, **_placed(lab, where, names)}
    wanted, trouble = None, ""
    try:
        wanted = predicted(lab, name, known, words)
    except ExpressionError as error:
        trouble = str(error)
    median, says = statistics.median(samples), lab.measures[name]
    held = held_of(lab, name, samples[0], median)
    return Measure(
        name=name,
        where=where,
        count=len(samples),
        least=samples[0],
        median=median,
        p90=samples[min(len(samples) - 1, int(0.9 * len(samples)))],
        samples=tuple(samples),
        predicted=wanted,
        ratio=held / wanted if wanted else None,
        right=all(one == wanted for one in samples) if says.exact and wanted is not None else None,
        derived=_derived(lab, name, median, known, words),
        trouble=trouble,
        held=held,
    )


def _derived(
    lab: Lab, name: str, median: float, known: Mapping[str, Quantity], words: Mapping[str, str]
) -> Mapping[str, Derived]:
    """What follows from the median of the measure *name*."""
    says = lab.measures[name]
    unit = scale_of(says.unit).unit.dimension if says.unit else Quantity(0.0).dimension
    at = {**known, "value": Quantity(median, unit)}
    found = {key: evaluate(text.format(**words), at) for key, text in says.derived.items()}
    return {key: Derived(value.value, str(value)) for key, value in found.items()}


def _placed(
    lab: Lab, where: Mapping[str, float | str], names: Mapping[str, Quantity]
) -> dict[str, Quantity]:
    """The place of a measure, as quantities: a size is in the unit of the sizes.

    Of a parameter that was set, a place may say what ranks rounded it to, and nothing else: a run
    that is sent in cannot move what the formula predicts.
    """
    found = {}
    for name, value in where.items():
        if isinstance(value, str):
            continue
        parameter = lab.parameter_of(name)
        unit = parameter.measured_in if parameter else RATIO
        chosen = names.get(name)
        if chosen is None or math.isclose(value, chosen.value, rel_tol=_ROUNDED):
            found[name] = Quantity(float(value), unit.dimension)
    return found


def _machine(
    asked: Mapping[str, object], events: Sequence[Mapping[str, object]]
) -> Mapping[str, object]:
    """Where it ran: what rank 0 said of its machine, or whoever started it of this one."""
    told = next((event["machine"] for event in events if event["kind"] == "machine"), None)
    return _mapping(told or asked["machine"])


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


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
