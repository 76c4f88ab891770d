"""Curves over two axes, with labeled points."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from app.core.charts.axes import Axis, PixelScale, Tick, scale
from app.core.charts.labels import (
    Box,
    LabelRoom,
    PlacedLabel,
    PlacedName,
    Point,
    dots_of,
    placed_labels,
    placed_name,
    text_box,
)
from app.core.charts.style import NARROW, WIDE, Color, Legend, Paper, Tone, legend, widest

_HEIGHTS = {WIDE: 330, NARROW: 270}
_EDGES = {WIDE: 14, NARROW: 22}  # pixels at the right, for half of the last number
_TOP, _BOTTOM = 38, 42
_OVER_CURVES, _OVER_POINTS = 3, 14  # pixels: where the names of curves, and of points, may begin
_END = 13  # pixels around the name at the end of a curve, past a point
_DOTS = 40  # points of a curve; with more, the points themselves are not drawn


@dataclass(frozen=True, slots=True)
class Series:
    """A curve; *color* is its color and dashes; its name stands at its end, or its peak."""

    color: Tone | Color
    name: str
    points: tuple[tuple[float, float], ...]
    _: KW_ONLY
    at_peak: bool = False


@dataclass(frozen=True, slots=True)
class Grip:
    """A control that a point stands for: it is *per* times the value on the x axis."""

    control: str
    per: float = 1.0


@dataclass(frozen=True, slots=True)
class LabeledPoint:
    """A point with a name; *grip* is what moving it along the x axis changes, if anything."""

    x: float
    y: float
    says: str
    grip: Grip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Curves over two axes."""

    title: str
    summary: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[LabeledPoint, ...] = ()

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The values: a header, then one row per value of the x axis."""
        at: dict[float, dict[str, float]] = {}
        for series in self.series:
            for x, y in series.points:
                at.setdefault(x, {})[series.name] = y
        names = [series.name for series in self.series]
        rows = [(self.x.label, *(name or self.y.label for name in names))]
        for x in sorted(at):
            cells = (self.y.text(at[x][name]) if name in at[x] else "" for name in names)
            rows.append((self.x.text(x), *cells))
        return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A series in pixels.

    *points* and *says* list the position and the tooltip of each point; *dots* is the path that
    draws the points, empty if there are many. Its name is left out where the legend has it.
    """

    color: Tone | Color
    name: str
    path: str
    dots: str
    points: str
    says: str
    label_x: float
    label_y: float
    leader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotPicture:
    """A plot in pixels."""

    chart: Plot
    paper: Paper
    height: int
    left: int
    right: int
    top: int
    bottom: int
    curves: tuple[Curve, ...]
    marks: tuple[PlacedLabel, ...]
    across: PixelScale
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    legend: Legend

    @property
    def labels(self) -> Iterator[tuple[LabeledPoint, PlacedLabel]]:
        """The labeled points, and where they are."""
        return zip(self.chart.marks, self.marks, strict=True)


def plot_picture(chart: Plot, paper: Paper = WIDE) -> PlotPicture:
    """*chart* in pixels."""
    bottom = _HEIGHTS[paper] - _BOTTOM
    points = [point for series in chart.series for point in series.points]
    points += [(mark.x, mark.y) for mark in chart.marks]
    up = scale(chart.y, [y for _, y in points], bottom, _TOP)
    y_ticks = up.ticks()
    left = round(widest([tick.label for tick in y_ticks]) + 14)
    named = paper is not NARROW
    right = paper.width - _EDGES[paper] - (_room(chart) if named else 0)
    across = _across(chart, [x for x, _ in points], left, right, paper)
    placed = [[(across.at(x), up.at(y)) for x, y in one.points] for one in chart.series]
    spots = [(across.at(mark.x), up.at(mark.y), mark.says) for mark in chart.marks]
    room = LabelRoom(placed, (*dots_of(spots), *_numbers(across, bottom, paper)))
    around = (left + 4, _OVER_CURVES, paper.width, bottom + 4)
    curves = list(_curves(chart, placed, room if named else None, around))
    names = [(series.color.value, series.name) for series in chart.series[1:] and chart.series]
    own = Legend() if named else legend(names, left, paper.width)
    return PlotPicture(
        chart=chart,
        paper=paper,
        height=_HEIGHTS[paper] + own.height,
        left=left,
        right=right,
        top=_TOP,
        bottom=bottom,
        curves=tuple(curves),
        marks=placed_labels(spots, room=room, bounds=(left + 4, _OVER_POINTS, paper.width - 4, bottom - 4)),
        across=across,
        x_ticks=across.ticks(),
        y_ticks=y_ticks,
        legend=own,
    )


def _room(chart: Plot) -> int:
    """Pixels for the names at the ends of the curves."""
    names = [text_box(series.name, 0, 0) for series in chart.series if not series.at_peak]
    longest = max((right for _, _, right, _ in names), default=0.0)
    return round(longest) + _END if longest else 0


def _across(chart: Plot, values: list[float], left: float, right: float, paper: Paper) -> PixelScale:
    """The scale of the x axis; a linear one begins at the first value."""
    made = scale(chart.x, values, left, right, paper)
    if chart.x.log or not values:
        return made
    return replace(made, low=min(values))


def _numbers(across: PixelScale, bottom: int, paper: Paper) -> Iterator[Box]:
    """What the numbers of the x axis take."""
    for tick in across.ticks():
        left, top, right, under = text_box(tick.label, paper.inside(tick.at, tick.label), bottom + 17)
        half = (right - left) / 2
        yield left - half, top, right - half, under


def _curves(chart: Plot, placed: Sequence[Sequence[Point]], room: LabelRoom | None, bounds: Box) -> Iterator[Curve]:
    """The series of *chart* in pixels; without *room*, the legend has their names."""
    for place, (series, curve) in enumerate(zip(chart.series, placed, strict=True)):
        says = [f"{series.name}, {chart.x.text(x)}: {chart.y.text(y)}" for x, y in series.points]
        spots = [f"{x} {y}" for x, y in curve]
        name = PlacedName(0, 0)
        if room and series.name:
            others = [*placed[:place], *placed[place + 1 :]]
            at = _named_at(series, curve)
            name = placed_name(series.name, curve, at=at, others=others, room=room, bounds=bounds)
        yield Curve(
            color=series.color,
            name=series.name if room else "",
            path="M" + "L".join(spots),
            dots="".join(f"M{spot}h0" for spot in spots) if len(spots) <= _DOTS else "",
            points=",".join(spots),
            says="|".join(says),
            label_x=name.x,
            label_y=name.y,
            leader=name.leader,
        )


def _named_at(series: Series, placed: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The point of a curve that its name is written at."""
    return min(reversed(placed), key=lambda spot: spot[1]) if series.at_peak else placed[-1]
