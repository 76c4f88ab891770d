"""What a run measured, as a table and as figures."""

from collections.abc import Callable, Iterator, Sequence

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.charts.plot import Plot, Series
from app.charts.svg import Figure
from app.errors import capitalized
from app.labs import Lab, Measure, Report
from app.labs.report import held_in, ratio_shown, shown
from app.units import RATIO, scale_of
from app.web.labs.wording import held_over


def table_of(lab: Lab, report: Report) -> Iterator[tuple[str, ...]]:
    """What was measured and predicted: a heading, then one row per place."""
    which = sorted({held_in(lab, one.name) for one in report.measures if one.ratio is not None})
    mixed = len(which) > 1
    over = [held_over(one, "formula") for one in which] if not mixed else ["Over formula"]
    yield (
        *report.places, "What", "Median", "Fastest", "p90", "n", "Formula", *over,
        *report.derivations,
    )  # fmt: skip
    for one in report.measures:
        yield (
            *(lab.shown_at(key, one.where.get(key, "")) for key in report.places),
            lab.measures[one.name].says,
            shown(lab, one.name, one.median),
            shown(lab, one.name, one.least),
            shown(lab, one.name, one.p90),
            str(one.count),
            "" if one.predicted is None else shown(lab, one.name, one.predicted),
            *([_ratio(lab, one, mixed=mixed)] if over else ()),
            *(one.derived[key].shown if key in one.derived else "" for key in report.derivations),
        )


def _ratio(lab: Lab, one: Measure, *, mixed: bool) -> str:
    """Measured over predicted; where rows differ in what is held, each says which."""
    which = f" ({held_in(lab, one.name)})" if mixed and one.ratio is not None else ""
    return ratio_shown(one.ratio) + which


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
            series.append(Series("i", "fastest", _points(place, own, lambda one: one.least)))
        if all(one.predicted for one in own):
            predicted = _points(place, own, lambda one: one.predicted or 0.0)
            series.append(Series("b", "formula", predicted))
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
    bars = (
        Bar("formula", (Part("b", "", one.predicted or 0.0),)),
        Bar(held_in(lab, one.name), (Part("f", "", one.held),)),
    )
    axis = Axis(says.says, scale_of(says.unit).unit)
    return Bars(capitalized(says.says), f"{one.name}", axis, bars)
