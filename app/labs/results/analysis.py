"""Analysis of a run's samples: medians, predictions, the line that fits them, and caveats; and what a run takes."""

import math
import statistics
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from app.core.errors import input_error
from app.core.expressions import ExpressionError, Quantity, evaluate, names_in, parse_expression
from app.core.measurements.pieces import bad_point, line_interval, median_error, pieces
from app.core.measurements.reports import AlphaBetaPiece
from app.core.translation import translate
from app.core.units import RATIO, scale_of
from app.labs.machines.machine import NO_DATASHEET, Datasheet, MachineFacts, datasheet_of, is_unknown
from app.labs.results import notes
from app.labs.results.report import (
    DerivedValue,
    LatencyFit,
    Measure,
    Report,
    RunProgress,
    disturbances_in,
    doubts_about,
    held_of,
)
from app.labs.run import LabRun, MachineEvent
from app.labs.runner.events import CheckEvent, MeasureEvent, ReadyEvent
from app.labs.spec import RANKS, Lab, LabJob, Value, known_labs, lab_called, parameters_in
from app.server.db.run_state import RunState


def fitted_lines(lab: Lab, measures: Sequence[Measure]) -> tuple[LatencyFit | None, tuple[LatencyFit, ...]]:
    """The line that fits all sizes, or else two or three, each over a range of them.

    One point that is far off all others is left out, and named. A further line counts only if it
    halves the error, as on `/measured`.
    """
    if not lab.fits:
        return None, ()
    points = [(float(one.where["size"]), one.median) for one in measures if one.name == lab.fits]
    off = bad_point(points)
    points = [point for point in points if point[0] != off]
    lines = tuple(_analysis_line(piece, points, off) for piece in pieces(points))
    return (lines[0], ()) if len(lines) == 1 else (None, lines)


def _analysis_line(piece: AlphaBetaPiece, points: Sequence[tuple[float, float]], off: float | None) -> LatencyFit:
    sure = line_interval(piece, points)
    return LatencyFit(
        latency=piece.alpha,
        bandwidth=piece.bandwidth,
        median_error=median_error(points, [piece]),
        least=piece.first,
        most=piece.last,
        latency_range=sure.latency if sure else None,
        bandwidth_range=sure.bandwidth if sure else None,
        left_out=off,
    )


OUTLIER = 0.03  # of the median of all, beyond which a GPU is named


def gpu_spread(times: Sequence[float]) -> tuple[float, dict[int, float]]:
    """The range of *times*, one of each rank, over their median; and by how much of it slow ranks took longer.

    >>> gpu_spread([1.0, 1.01, 1.0, 1.25])[1]
    {3: 0.24}
    """
    middle = statistics.median(times)
    slow = {rank: round(time / middle - 1, 2) for rank, time in enumerate(times) if time / middle - 1 > OUTLIER}
    return (max(times) - min(times)) / middle, slow


def note_on_spread(lab: Lab, measures: Sequence[Measure], machine: MachineFacts) -> str:
    """The GPU that is slower than the others at the last place, or how little they differ."""
    last = next((one for one in reversed(measures) if len(one.by_rank) > 1), None)
    if last is None or not lab.alone:
        return ""
    width, slow = gpu_spread(last.by_rank)
    where = ", ".join(f"{key} {lab.shown_at(key, value)}" for key, value in last.where.items())
    at = f" at {where}" if where else ""
    if not slow:
        return f"The {len(last.by_rank)} GPUs differ by {100 * width:.2g} %{at}."
    return f"{slow_gpus(slow, machine)} than the median of {len(last.by_rank)}{at}."


def slow_gpus(slow: Mapping[int, float], machine: MachineFacts) -> str:
    """The GPUs that are slow, with their UUIDs, in words that end with a comparison."""
    uuids = {rank: f" ({machine.uuids[rank]})" for rank in slow if rank < len(machine.uuids)}
    return "; ".join(
        f"GPU {rank}{uuids.get(rank, '')} takes {100 * share:.0f} % longer" for rank, share in slow.items()
    )


_ROUNDED = 0.05  # of a size: what remains when ranks share it equally
_EQUAL = 1e-13  # relative difference of equal numbers, after a few operations


def report_of(run: LabRun) -> Report:
    """What *run* has found so far."""
    job, outcome, events = run.job, run.outcome, run.events()
    lab = lab_called(job.lab).run_over(job.backend)
    ready = next((one for one in events if isinstance(one, ReadyEvent)), None)
    machine = next((one.machine for one in events if isinstance(one, MachineEvent)), job.machine)
    taken = [
        Measure(name=one.name, where=one.where, samples=one.samples, by_rank=one.by_rank)
        for one in events
        if isinstance(one, MeasureEvent)
    ]
    empty = Report(
        id=run.id,
        lab=lab.name,
        state=outcome.state if outcome else RunState.RUNNING,
        cause=outcome.cause if outcome else "",
        seconds=outcome.seconds if outcome else None,
        at=job.at,
        command=job.command,
        ranks=job.ranks,
        world=ready.world if ready else None,
        backend=job.backend,
        links=lab.links,
        machine=machine,
        versions=ready.versions if ready else {},
        checks={one.name: one.right for one in events if isinstance(one, CheckEvent)},
        given=job.given,
        nodes=job.nodes or 1,
        details={**notes.details_in(events), **disturbances_in(events, job, lab, machine)},
        underway=None if outcome or ready is None else RunProgress(begun=ready.at),
    )
    report = _with(empty, taken, job.values)
    rows = notes.gpu_rows(events, machine, report.measures)
    return replace(report, notes=(*job.notes, *report.notes), each_gpu=rows)


def analyze_report(report: Report, ranks: int, values: Mapping[str, Value]) -> Report:
    """*report* with everything that follows from its samples computed here."""
    return _with(replace(report, ranks=ranks), report.measures, values)


def _with(report: Report, taken: Iterable[Measure], values: Mapping[str, Value]) -> Report:
    """*report* with the samples *taken*, and everything that follows from them."""
    lab = lab_called(report.lab).run_over(report.backend)
    transport = report.details.get("transport", "")
    sheet = datasheet_of(lab, report.backend, report.machine, transport)
    measures = measure_statistics(lab, report.ranks, values, taken, sheet)
    doubts = doubts_about(replace(report, measures=measures), lab)
    line, lines = (None, ()) if doubts else fitted_lines(lab, measures)
    remarks = notes.notes_on(
        lab, report.backend, report.ranks, report.span, measures, (line,) if line else lines, report.details
    )
    spread = "" if doubts else note_on_spread(lab, measures, report.machine)
    paired = replace(report, pairs=notes.pair_matrices(replace(report, measures=measures)))
    pairs = () if doubts else notes.notes_on_pairs(paired)
    remarks = (note for note in remarks if not (doubts and notes.is_about_noise(note)))
    more = (spread, *pairs, *remarks, sheet.note, notes.note_on_sharing(report.machine))
    return replace(
        paired,
        measures=measures,
        links=lab.links,
        line=line,
        lines=lines,
        doubts=doubts,
        notes=tuple(filter(None, more)),
    )


def measure_statistics(
    lab: Lab, ranks: int, values: Mapping[str, Value], taken: Iterable[Measure], sheet: Datasheet = NO_DATASHEET
) -> tuple[Measure, ...]:
    """The statistics of each of *taken*, and the prediction for it.

    A prediction may name parameters, numbers of the datasheet, and other measures of the run for
    their medians. What *lab* measured in an earlier version only is left out.
    """
    taken = [one for one in taken if one.name in lab.measures]
    medians = {one.name: _quantity(lab, one.name, statistics.median(one.samples)) for one in taken}
    names = {**medians, **known_quantities(lab, ranks, values), **sheet.names}
    words = lab.words(values)
    return tuple(_measure(lab, names, words, one) for one in taken)


def _quantity(lab: Lab, name: str, value: float) -> Quantity:
    """*value* in the unit of the measure *name*."""
    unit = lab.measures[name].unit
    return Quantity(value, scale_of(unit).unit.dimension) if unit else Quantity(value)


def known_quantities(lab: Lab, ranks: int, values: Mapping[str, Value]) -> dict[str, Quantity]:
    """The parameters that expressions of *lab* may name."""
    names = {RANKS: Quantity(float(ranks))}
    for name, parameter in lab.parameters.items():
        value = values.get(name)  # none in a run of an earlier version
        if isinstance(value, int | float):
            names[name] = Quantity(float(value), parameter.measured_in.dimension)
    return names


def predict_measure(lab: Lab, name: str, names: Mapping[str, Quantity], words: Mapping[str, str]) -> float | None:
    """The prediction of *lab* for its measure *name*; None without a formula, or what it takes.

    *words* must be those of `Lab.words`: they become part of the formula's text.
    """
    text = lab.measures[name].predicted.format(**words)
    if not text or _lacks_measure(lab, text, names):
        return None
    return evaluate(text, _with_let(lab, names, words)).value


def _lacks_measure(lab: Lab, text: str, known: Container[str]) -> bool:
    """Whether the expression *text* takes a measure that a run lacks: it could not be taken."""
    unknown = {name for name in lab.measures if name.isidentifier() and name not in known}
    return bool(unknown) and not unknown.isdisjoint(names_in(parse_expression(text)))


def _with_let(lab: Lab, names: Mapping[str, Quantity], words: Mapping[str, str]) -> Mapping[str, Quantity]:
    known = dict(names)
    for name, text in lab.let.items():
        known[name] = evaluate(text.format(**words), known)
    return known


def _measure(lab: Lab, names: Mapping[str, Quantity], words: Mapping[str, str], taken: Measure) -> Measure:
    name, samples = taken.name, sorted(taken.samples)
    known = {**names, **_placed(lab, taken.where, names)}
    expected, trouble = None, ""
    try:
        expected = predict_measure(lab, name, known, words)
    except ExpressionError as error:
        trouble = str(error)
    median, exact = statistics.median(samples), lab.measures[name].exact
    held = held_of(lab, name, samples[0], median)
    return Measure(
        name=name,
        where=taken.where,
        count=len(samples),
        least=samples[0],
        median=median,
        p90=samples[min(len(samples) - 1, int(0.9 * len(samples)))],
        samples=tuple(samples),
        predicted=expected,
        ratio=held / expected if expected else None,
        # A third of a number of bytes is rounded, one way or another.
        right=all(math.isclose(one, expected, rel_tol=_EQUAL) for one in samples)
        if exact and expected is not None
        else None,
        derived=_derived(lab, name, median, known, words),
        trouble=trouble,
        held=held,
        by_rank=tuple(taken.by_rank),
        derived_by_rank=tuple(_derived(lab, name, own, known, words) for own in taken.by_rank) if lab.alone else (),
    )


def _derived(
    lab: Lab, name: str, median: float, known: Mapping[str, Quantity], words: Mapping[str, str]
) -> Mapping[str, DerivedValue]:
    """The values derived from the median of the measure *name*."""
    says = lab.measures[name]
    at = {**_with_let(lab, known, words), "value": _quantity(lab, name, median)}
    texts = {key: text.format(**words) for key, text in says.derived.items()}
    found = {
        key: evaluate(text, at)
        for key, text in texts.items()
        if not is_unknown(text, at) and not _lacks_measure(lab, text, at)
    }
    return {key: DerivedValue(value.value, str(value)) for key, value in found.items()}


def _placed(lab: Lab, where: Mapping[str, float | str], names: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The place of a measure as quantities: a size has the unit of the sizes.

    For a parameter that was set, a place may give only what ranks rounded it to, so that a run
    that is sent in cannot change what the formula predicts.
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


_REPORT: TypeAdapter[Report] = TypeAdapter(Report)


def read_report(text: str | bytes) -> Report:
    """The report that was stored as JSON; what earlier versions did not write, or judged otherwise, is as of today."""
    report = _REPORT.validate_json(text)
    known = known_labs().get(report.lab)
    lab = known.run_over(report.backend) if known else None
    measures = tuple(replace(one, held=held_of(lab, one.name, one.least, one.median)) for one in report.measures)
    report = replace(report, measures=measures, given=report.given or parameters_in(report.command))
    if lab is None:
        return report
    doubts = doubts_about(report, lab)
    line, lines = (None, ()) if doubts else fitted_lines(lab, report.measures)
    remarks = tuple(note for note in report.notes if not notes.is_about_a_line(note))
    fits = notes.notes_on_lines((line,) if line else lines)
    return replace(report, line=line, lines=lines, doubts=doubts, notes=(*fits, *remarks))


RECORDED = Path(__file__).parents[1] / "recorded"


@cache
def shipped_runs() -> tuple[Report, ...]:
    """The runs that are shipped with the project."""
    return tuple(read_report(path.read_bytes()) for path in sorted(RECORDED.glob("*.json")))


_HALVES = 40  # of a size, until one fits


def refuse_too_long(job: LabJob) -> None:
    """Refuse *job* if even its fewest calls exceed its time limit; the message says what fits."""
    varied = next((name for name, one in job.lab.parameters.items() if one.several), "")
    given = job.values[varied] if varied else 0.0
    values = [float(one) for one in given] if isinstance(given, tuple) else [0.0]
    least = [place_seconds(job, varied, value) for value in values]
    limit = job.lab.seconds
    if sum(least) <= limit:
        return
    raise input_error(
        "{name} takes {least:.0f} s or more with these parameters, by its formula and "
        "{calls} calls each, and is stopped after {limit:.0f} s; {cure}",
        name=job.lab.name,
        least=sum(least),
        calls=job.lab.calls,
        limit=limit,
        cure=_fitting_values(job, varied, values, least),
    )


def place_seconds(job: LabJob, varied: str, value: float) -> float:
    """Seconds of the fewest calls of *job* with that *value* of the parameter *varied*.

    0 where no formula tells them before the run.
    """
    lab = job.lab
    names = known_quantities(lab, job.ranks, job.values)
    if varied:
        unit = lab.parameters[varied].measured_in
        names[varied.removesuffix("s")] = Quantity(value, unit.dimension)
    asked = lab.asked_of(job.given)
    alternatives = [asked] if "{" in lab.asks else [n for n, one in lab.measures.items() if one.least]
    return lab.calls * sum(_formula_seconds(lab, name, names, job) for name in alternatives)


def _formula_seconds(lab: Lab, name: str, names: Mapping[str, Quantity], job: LabJob) -> float:
    if lab.measures[name].unit != "s":
        return 0.0
    try:
        found = predict_measure(lab, name, names, lab.words(job.values))
    except ExpressionError:  # it goes by what the run measures
        return 0.0
    return found if found and 0 < found < math.inf else 0.0


def _fitting_values(job: LabJob, varied: str, values: Sequence[float], least: Sequence[float]) -> str:
    """What would fit, in words that end the sentence."""
    if not varied:
        return translate("choose shorter times or fewer ranks")
    fitting, left = list[int](), job.lab.seconds
    for seconds, place in sorted(zip(least, range(len(values)), strict=True)):
        if seconds <= left:
            fitting.append(place)
            left -= seconds
    parameter = job.lab.parameters[varied]
    if fitting:
        chosen = (parameter.shown(values[place]).replace(" ", "") for place in sorted(fitting))
        return translate("{sizes} would fit", sizes=f"{varied}={','.join(chosen)}")
    smallest = min(values)
    lowest = parameter.number(varied, str(parameter.least))
    for halves in range(1, _HALVES):
        size = smallest / 2**halves
        if size >= lowest and place_seconds(job, varied, size) <= job.lab.seconds:
            shown = parameter.shown(size).replace(" ", "")
            return translate("{sizes} would fit", sizes=f"{varied}={shown}")
    return translate("choose shorter times or fewer ranks")
