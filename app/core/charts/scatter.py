"""Pairs of values that should be equal, on two logarithmic axes with one scale."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.core.charts.axes import NARROW, Axis, Color, Legend, Paper, PixelScale, Tick, legend, widest
from app.core.translation import translate

Mark = Literal["circle", "square", "diamond", "triangle"]
_TOP, _BOTTOM = 38, 42
_WIDE, _SMALL = 440, 320  # pixels of the height
_LEGEND = 58  # pixels from the axis to the first line of the legend
_EDGE = 22  # pixels at the right, for half of the last number
_AROUND = 1.25  # times the largest value that an axis ends at
_MARKS: dict[Mark, str] = {
    "circle": "M{0} {1}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "square": "M{0} {1}m-3.5 -3.5h7v7h-7z",
    "diamond": "M{0} {1}m0 -5l5 5l-5 5l-5 -5z",
    "triangle": "M{0} {1}m0 -5l4.6 8.4h-9.2z",
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A pair of values; *y* is known to lie from *low* to *high*."""

    x: float
    y: float
    low: float
    high: float
    name: str
    says: str


@dataclass(frozen=True, slots=True)
class DotGroup:
    """Dots with one color and mark."""

    color: Color
    mark: Mark
    name: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Groups of dots, the line on which both values are equal, and a *band* on both its sides."""

    title: str
    summary: str
    x: Axis
    y: Axis
    groups: tuple[DotGroup, ...]
    band: float

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The values: a header, then a row per dot."""
        label = self.y.label
        rows: list[tuple[str, ...]] = [
            (
                translate("Group"),
                translate("What"),
                self.x.label,
                label,
                translate("{label}, low", label=label),
                translate("{label}, high", label=label),
            )
        ]
        for group in self.groups:
            for dot in group.dots:
                ys = (self.y.text(y) for y in (dot.y, dot.low, dot.high))
                rows.append((group.name, dot.name, self.x.text(dot.x), *ys))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A group in pixels: a path per mark, that of its intervals, and what is read off."""

    color: Color
    marks: tuple[str, ...]
    intervals: str
    points: str
    says: str
    sample: str
    name: str
    name_x: float
    name_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPicture:
    """A scatter plot in pixels."""

    chart: Scatter
    paper: Paper
    height: int
    left: int
    right: int
    top: int
    bottom: int
    band: str
    diagonal: str
    groups: tuple[PlacedGroup, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def scatter_picture(chart: Scatter, paper: Paper) -> ScatterPicture:
    """*chart* in pixels."""
    height = _SMALL if paper is NARROW else _WIDE
    bottom = height - _BOTTOM
    dots = [dot for group in chart.groups for dot in group.dots]
    low = min((min(dot.x, dot.low) for dot in dots), default=1.0)
    high = max((max(dot.x, dot.high) for dot in dots), default=10.0)
    low, high = low / _AROUND, high * _AROUND
    up = PixelScale(chart.y, low=low, high=high, start=bottom, end=_TOP)
    y_ticks = up.ticks()
    left, right = round(widest([tick.label for tick in y_ticks]) + 14), paper.width - _EDGE
    across = PixelScale(chart.x, low=low, high=high, start=left, end=right)
    names = legend([(group.color.value, group.name) for group in chart.groups], left, right)
    share = chart.band  # by which values may differ: the area is inside both axes
    over = ((low, low * (1 + share)), (high / (1 + share), high), (high, high))
    under = ((high, high * (1 - share)), (low / (1 - share), low), (low, low))
    return ScatterPicture(
        chart=chart,
        paper=paper,
        height=height + names.height + 12,
        left=left,
        right=right,
        top=_TOP,
        bottom=bottom,
        band="M" + "L".join(f"{across.at(x)} {up.at(y)}" for x, y in (*over, *under)) + "z",
        diagonal=f"M{left} {bottom}L{right} {_TOP}",
        groups=tuple(_placed_groups(chart, across, up, names)),
        x_ticks=across.ticks(),
        y_ticks=y_ticks,
    )


def _placed_groups(chart: Scatter, across: PixelScale, up: PixelScale, names: Legend) -> Iterator[PlacedGroup]:
    for group, entry in zip(chart.groups, names.entries, strict=True):
        spots = [(across.at(dot.x), up.at(dot.y)) for dot in group.dots]
        wide = [dot for dot in group.dots if dot.high > dot.low]
        mark = _MARKS[group.mark]
        yield PlacedGroup(
            color=group.color,
            marks=tuple(mark.format(x, y) for x, y in spots),
            intervals="".join(f"M{across.at(dot.x)} {up.at(dot.low)}V{up.at(dot.high)}" for dot in wide),
            points=",".join(f"{x} {y}" for x, y in spots),
            says="|".join(dot.says for dot in group.dots),
            sample=mark.format(entry.x + 4, up.start + _LEGEND + entry.y),
            name=group.name,
            name_x=entry.x + 14,
            name_y=up.start + _LEGEND + 4 + entry.y,
        )
