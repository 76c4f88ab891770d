"""The measurements of a run, as a table and as figures, also while it goes on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.core.charts.axes import Color
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.plot import LabeledPoint, Plot, Series
from app.core.charts.svg import Figure
from app.core.errors import capitalize
from app.core.translation import Numeral, noted, translate
from app.core.units import RATIO, scale_of
from app.labs.machines.machine import Fact
from app.labs.results.notes import gpu_table, pair_table, pair_title, range_in_words
from app.labs.results.report import Measure, Report, held_in, ratio_shown, show_measure
from app.labs.spec import Lab, LabJob, amount
from app.site.web.labs.predictions import axis_of, gap, held_over, machine_of, size_label


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table beside the one of all measurements."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def lab_table(lab: Lab, report: Report) -> Iterator[tuple[str, ...]]:
    """Measurements and predictions: a header, then one row per place."""
    which = sorted({held_in(lab, one.name) for one in report.measures if one.ratio is not None})
    mixed = len(which) > 1
    over = [held_over(one, noted("formula")) for one in which] if not mixed else [translate("Over formula")]
    yield (
        *(capitalize(key) for key in report.places),
        translate("Measure"),
        translate("Median"),
        translate("Min"),
        "p90",
        "n",
        translate("Formula"),
        *over,
        *map(translate, report.derivations),
    )
    for one in report.measures:
        # Where rows compare different numbers, each says which.
        compared = f" ({held_in(lab, one.name)})" if mixed and one.ratio is not None else ""
        yield (
            *(lab.shown_at(key, one.where.get(key, "")) for key in report.places),
            lab.measures[one.name].says,
            show_measure(lab, one.name, one.median),
            show_measure(lab, one.name, one.least),
            show_measure(lab, one.name, one.p90),
            str(one.count),
            "" if one.predicted is None else show_measure(lab, one.name, one.predicted),
            *([ratio_shown(one.ratio) + compared] if over else ()),
            *(one.derived[key].shown if key in one.derived else "" for key in report.derivations),
        )


def more_tables(report: Report) -> Iterator[MeasuredTable]:
    """The matrices of all pairs of ranks, and the GPUs."""
    for matrix in report.pairs:
        header, *rows = pair_table(matrix)
        yield MeasuredTable(pair_title(matrix), header, tuple(rows))
    if report.each_gpu:
        header, *rows = gpu_table(report.each_gpu)
        yield MeasuredTable(translate("The GPU of each rank"), header, tuple(rows))


@dataclass(frozen=True, slots=True)
class LabGuess:
    """What a learner predicted for a measure, at the last of its places."""

    measure: str
    value: float


def lab_figures(lab: Lab, report: Report, guess: LabGuess | None = None) -> Iterator[Figure]:
    """Curves over the parameter that was varied, or bars side by side if none was."""
    if report.pairs:
        return
    names = list(dict.fromkeys(one.name for one in report.measures))
    for place in ("size", "side", "length"):
        points = [one for one in report.measures if place in one.where]
        if len({one.where[place] for one in points}) > 1:
            yield _curves(lab, report, place, names, guess)
            return
    for name in names:
        first = next(one for one in report.measures if one.name == name)
        if first.predicted is not None and lab.measures[name].unit:
            yield _bars(lab, first, guess)


def _curves(lab: Lab, report: Report, place: str, names: Sequence[str], guess: LabGuess | None) -> Plot:
    series = []
    for color, name in zip(Color, names, strict=False):
        own = [one for one in report.measures if one.name == name]
        label = name if len(names) > 1 else translate("median")
        series.append(Series(color, label, _points(place, own, lambda one: one.median)))
        if len(names) == 1:
            series.append(Series(Color.GRAY, translate("min"), _points(place, own, lambda one: one.least)))
            series.append(Series(Color.GREEN, "p90", _points(place, own, lambda one: one.p90)))
        if all(one.predicted for one in own):
            predicted = _points(place, own, lambda one: one.predicted or 0.0)
            series.append(Series(Color.ORANGE, translate("formula"), predicted))
        if name == lab.fits and (fitted := _fitted(report, place, own)):
            series.append(Series(Color.PURPLE, translate("fit"), fitted))
    parameter = lab.parameters[f"{place}s"]
    unit = lab.measures[names[0]].unit
    return Plot(
        title=f"{lab.title}: {size_label(report)}, {report.backend}",
        summary=translate("{says} over {says_2}", says=lab.measures[names[0]].says, says_2=parameter.says),
        x=axis_of(parameter.says, parameter.measured_in, (x for one in series for x, _ in one.points), log=True),
        y=axis_of(
            lab.measures[names[0]].says,
            scale_of(unit).unit if unit else RATIO,
            (y for one in series for _, y in one.points),
            log=True,
        ),
        series=tuple(series),
        marks=tuple(_marks(lab, report, place, names[0], guess)),
    )


def _fitted(report: Report, place: str, measures: Sequence[Measure]) -> tuple[tuple[float, float], ...]:
    """What the lines that fit say at the places of *measures*."""
    lines = (report.line,) if report.line else report.lines
    found = []
    for one in measures:
        at = float(one.where[place])
        found += [(at, line.at(at)) for line in lines if line.least <= at <= line.most]
    return tuple(found)


def _marks(lab: Lab, report: Report, place: str, first: str, guess: LabGuess | None) -> Iterator[LabeledPoint]:
    """The gap to the formula, and the learner's prediction, where the curves end."""
    asked = guess.measure if guess else first
    found = [one for one in report.measures if one.name == asked and place in one.where]
    if not found or lab.measures[asked].unit != lab.measures[first].unit:
        return
    last = found[-1]
    at = float(last.where[place])
    if (words := gap(lab, last)) and last.held > 0:
        yield LabeledPoint(at, last.held, words)
    if guess and guess.value > 0:
        yield LabeledPoint(at, guess.value, translate("your prediction"))


def _points(
    place: str, measures: Sequence[Measure], value: Callable[[Measure], float]
) -> tuple[tuple[float, float], ...]:
    return tuple((float(one.where[place]), value(one)) for one in measures)


def _bars(lab: Lab, one: Measure, guess: LabGuess | None) -> Bars:
    says, held = lab.measures[one.name], held_in(lab, one.name)
    spread = one.p90 - one.held
    parts = [Part(Color.BLUE, held if spread > 0 else "", one.held)]
    if spread > 0:
        parts.append(Part(Color.PALE, translate("from there to p90"), spread))
    formula = one.predicted or 0.0
    bars = [Bar(translate("formula"), (Part(Color.ORANGE, "", formula),), show_measure(lab, one.name, formula))]
    note = ", ".join(filter(None, (show_measure(lab, one.name, one.held), gap(lab, one))))
    bars.append(Bar(translate("measured"), tuple(parts), note))
    if guess and guess.measure == one.name:
        bars.append(
            Bar(translate("yours"), (Part(Color.PURPLE, "", guess.value),), show_measure(lab, one.name, guess.value))
        )
    axis = axis_of(says.says, scale_of(says.unit).unit, (formula, one.held))
    return Bars(title=capitalize(says.says), summary=one.name, axis=axis, bars=tuple(bars))


def line_in_words(report: Report) -> str:
    """The latency and the bandwidth of the best fit; empty if a run has none."""
    if report.line is None:
        return ""
    second, speed = scale_of("s").unit, scale_of("B/s").unit
    return translate(
        "The best fit to the medians: {latency} + size / {bandwidth}, with a median error of {percent:.2g} %.",
        latency=amount(report.line.latency, second) + range_in_words(report.line.latency_range, second),
        bandwidth=amount(report.line.bandwidth, speed) + range_in_words(report.line.bandwidth_range, speed),
        percent=100 * report.line.median_error,
    )


Row = tuple[str, str]


def what_matters(report: Report) -> Iterator[Row]:
    """The machine, the versions, and what limits or disturbs it."""
    machine = report.machine
    yield translate("machine"), machine_of(report)
    yield translate("backend"), f"{report.backend}, {size_label(report)}"
    yield from _known((translate("system"), machine.system), (translate("driver"), machine.driver))
    yield from report.versions.items()
    yield from _known(
        (translate("power limit"), machine.power_limit),
        (translate("highest clock"), machine.clocks),
        (translate("nodes"), machine.nodes if machine.nodes != 1 else None),
        (translate("sharing"), machine.sharing),
        (translate("others on the GPUs"), machine.others),
        (translate("load before the run"), machine.load and Numeral(machine.load)),
        (translate("Variables that change what is measured"), ", ".join(map(str, machine.variables)) or None),
    )


def _known(*rows: tuple[str, Fact | None]) -> Iterator[Row]:
    yield from ((name, str(fact)) for name, fact in rows if fact is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderwayView:
    """What is measured now, and by when it is stopped; and the *share* of the places that is done, if one is."""

    says: str
    left: str
    share: float | None


def underway_view(job: LabJob, report: Report | None, at: float) -> UnderwayView:
    """How far *job* is at the time *at*."""
    done = report.underway if report else None
    if report is None or done is None:
        return UnderwayView(says=translate("Its processes are starting."), left="", share=None)
    seconds = max(0.0, job.lab.seconds - (at - done.begun))
    left = translate("It will be stopped within {seconds:.0f} s.", seconds=seconds)
    varied = next((name for name, one in job.lab.parameters.items() if one.several), "")
    values = job.values[varied] if varied else ()
    if not isinstance(values, tuple) or not values:
        return UnderwayView(says="", left=left, share=None)
    number = min(_complete_places(report, varied.removesuffix("s")), len(values) - 1)
    what = job.lab.parameters[varied].shown(values[number])
    if len(values) > 1:
        place, count = number + 1, len(values)
        form = noted("{shown}, number {place} of {count} {values}")
        what = translate(form, shown=what, place=place, count=count, values=varied)
    return UnderwayView(
        says=translate("Measuring {what}.", what=what), left=left, share=number / len(values) if number else None
    )


def _complete_places(report: Report, place: str) -> int:
    """At how many places everything was measured that was measured at the first one."""
    names: dict[float, set[str]] = {}
    for one in report.measures:
        if isinstance(value := one.where.get(place), int | float):
            names.setdefault(float(value), set()).add(one.name)
    whole = len(next(iter(names.values()), ()))
    return sum(len(found) >= whole for found in names.values())
