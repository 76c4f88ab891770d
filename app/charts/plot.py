"""Curves over two axes, with labeled points."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

from app.charts.axes import Axis, PixelScale, Tick, scale
from app.charts.color import Color

WIDTH, HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 130, 30, 46
_APART = 15  # pixels between the names of two curves
_DOTS = 40  # points of a curve; with more, the points themselves are not drawn
_LETTER = 6.8  # pixels, width of a letter


@dataclass(frozen=True, slots=True)
class Series:
    """A curve; *color* is its color and dashes; its name stands at its end, or its peak."""

    color: Color
    name: str
    points: tuple[tuple[float, float], ...]
    _: KW_ONLY
    at_peak: bool = False


@dataclass(frozen=True, slots=True)
class LabeledPoint:
    """A point with a name."""

    x: float
    y: float
    says: str


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
        rows = [(self.x.label, *names)]
        for x in sorted(at):
            cells = (self.y.text(at[x][name]) if name in at[x] else "" for name in names)
            rows.append((self.x.text(x), *cells))
        return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A series in pixels.

    *points* and *says* list the position and the tooltip of each point; *dots* is the path that
    draws the points, empty if there are many.
    """

    color: Color
    name: str
    path: str
    dots: str
    points: str
    says: str
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLabel:
    """A labeled point in pixels; its text begins (or ends, if *left*) at *text_x*."""

    x: float
    y: float
    says: str
    text_x: float
    text_y: float
    left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotPicture:
    """A plot in pixels."""

    chart: Plot
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    curves: tuple[Curve, ...]
    marks: tuple[PlacedLabel, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def plot_picture(chart: Plot) -> PlotPicture:
    """*chart* in pixels."""
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    points = [point for series in chart.series for point in series.points]
    points += [(mark.x, mark.y) for mark in chart.marks]
    across = scale(chart.x, [x for x, _ in points], _LEFT, right)
    if not chart.x.log and points:
        across = PixelScale(
            chart.x, low=min(x for x, _ in points), high=across.high, start=_LEFT, end=right
        )
    up = scale(chart.y, [y for _, y in points], bottom, _TOP)
    marks = _placed([(across.at(m.x), up.at(m.y), m.says) for m in chart.marks])
    return PlotPicture(
        chart=chart,
        width=WIDTH,
        height=HEIGHT,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        curves=tuple(_curves(chart, across, up)),
        marks=marks,
        x_ticks=across.ticks(),
        y_ticks=up.ticks(),
    )


def _curves(chart: Plot, across: PixelScale, up: PixelScale) -> Iterator[Curve]:
    """The series of *chart* in pixels, their names apart from one another."""
    taken: list[float] = []
    for series in chart.series:
        placed = [(across.at(x), up.at(y)) for x, y in series.points]
        says = [f"{series.name}, {chart.x.text(x)}: {chart.y.text(y)}" for x, y in series.points]
        spots = [f"{x} {y}" for x, y in placed]
        x, y = min(reversed(placed), key=lambda spot: spot[1]) if series.at_peak else placed[-1]
        taken.append(_free(y + 4, taken))
        yield Curve(
            color=series.color,
            name=series.name,
            path="M" + "L".join(spots),
            dots="".join(f"M{spot}h0" for spot in spots) if len(spots) <= _DOTS else "",
            points=",".join(spots),
            says="|".join(says),
            label_x=x + 7,
            label_y=taken[-1],
        )


def _placed(marks: list[tuple[float, float, str]]) -> tuple[PlacedLabel, ...]:
    """*marks* with texts that do not overlap."""
    taken: list[tuple[float, float, float]] = []  # from, to, height
    found = []
    for x, y, says in marks:
        width = len(says) * _LETTER
        spots = [
            (left, y + rise)
            for rise in (-9, 19, -25, 35, -41, 51, -57, 67)
            for left in (x > (_LEFT + WIDTH - _RIGHT) / 2, x <= (_LEFT + WIDTH - _RIGHT) / 2)
        ]
        left, height = next((spot for spot in spots if _is_free(x, width, *spot, taken)), spots[0])
        start = x - 9 if left else x + 9
        taken.append((start - width if left else start, start if left else start + width, height))
        found.append(
            PlacedLabel(x=x, y=y, says=says, text_x=start, text_y=round(height, 2), left=left)
        )
    return tuple(found)


def _is_free(
    x: float, width: float, left: bool, y: float, taken: list[tuple[float, float, float]]
) -> bool:
    start, end = (x - 9 - width, x - 9) if left else (x + 9, x + 9 + width)
    inside = start >= _LEFT and end <= WIDTH and _TOP - 12 <= y <= HEIGHT - _BOTTOM
    return inside and all(
        end + 8 < a or start - 8 > b or abs(y - height) >= _APART for a, b, height in taken
    )


def _free(y: float, taken: list[float]) -> float:
    """A height near *y* that no other name takes."""
    for step in range(2 * len(taken) + 1):
        tried = y + (1 if step % 2 else -1) * ((step + 1) // 2) * _APART
        if all(abs(tried - other) >= _APART for other in taken):
            return tried
    return y
