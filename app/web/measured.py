"""What a run measured, as a table and as figures."""

from collections.abc import Callable, Iterator, Sequence

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.drawn import Figure
from app.charts.plot import Plot, Series
from app.labs import Lab, Measure, Report
from app.labs.reporting import shown
from app.units import RATIO, scale_of


def table_of(lab: Lab, report: Report) -> Iterator[tuple[str, ...]]:
    """What was measured and predicted: a heading, then a row a place."""
    yield (
        *report.places, "What", "Measured", "Predicted", "Measured over predicted", "n", "Least",
        "90 of 100 below", *report.derivations,
    )  # fmt: skip
    for one in report.measures:
        yield (
            *(lab.shown_at(key, one.where.get(key, "")) for key in report.places),
            lab.measures[one.name].says,
            shown(lab, one.name, one.median),
            "" if one.predicted is None else shown(lab, one.name, one.predicted),
            "" if one.ratio is None else f"{one.ratio:.3f}",
            str(one.count),
            shown(lab, one.name, one.least),
            shown(lab, one.name, one.p90),
            *(one.derived[key].shown if key in one.derived else "" for key in report.derivations),
        )


def figures_of(lab: Lab, report: Report) -> Iterator[Figure]:
    """Curves over what was varied, or bars side by side where nothing was."""
    names = list(dict.fromkeys(one.name for one in report.measures))
    for place in ("size", "side", "length"):
        points = [one for one in report.measures if place in one.where]
        if len({one.where[place] for one in points}) > 1:
            yield _curves(lab, report, place, names)
            return
    for name in names:
        told = next(one for one in report.measures if one.name == name)
        if told.predicted is not None and lab.measures[name].unit:
            yield _bars(lab, told)


def _curves(lab: Lab, report: Report, place: str, names: Sequence[str]) -> Plot:
    series = []
    for kind, name in zip("fbwci", names, strict=False):
        own = [one for one in report.measures if one.name == name]
        label = name if len(names) > 1 else "median"
        series.append(Series(kind, label, _points(place, own, lambda one: one.median)))
        if len(names) == 1:
            series.append(Series("i", "least", _points(place, own, lambda one: one.least)))
        if all(one.predicted for one in own):
            predicted = _points(place, own, lambda one: one.predicted or 0.0)
            series.append(Series("b", "predicted", predicted))
    parameter = lab.parameters[f"{place}s"]
    unit = lab.measures[names[0]].unit
    return Plot(
        f"{lab.title}: {report.ranks} ranks, {report.backend}",
        f"{lab.measures[names[0]].says} over {parameter.says}",
        Axis(parameter.says, parameter.measured_in, log=True),
        Axis(lab.measures[names[0]].says, scale_of(unit).unit if unit else RATIO, log=True),
        tuple(series),
    )


def _points(
    place: str, measures: Sequence[Measure], value: Callable[[Measure], float]
) -> tuple[tuple[float, float], ...]:
    return tuple((float(one.where[place]), value(one)) for one in measures)


def _bars(lab: Lab, one: Measure) -> Bars:
    says = lab.measures[one.name]
    held = one.least if says.least else one.median
    bars = (
        Bar("predicted", (Part("b", "", one.predicted or 0.0),)),
        Bar("measured", (Part("f", "", held),)),
    )
    axis = Axis(says.says, scale_of(says.unit).unit)
    return Bars(says.says[:1].upper() + says.says[1:], f"{one.name}", axis, bars)
