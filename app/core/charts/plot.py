"""Curves over two axes, and names of points and curves placed where they cover nothing."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter

from app.core.charts import axes
from app.core.charts.axes import NARROW, WIDE, Axis, Color, Legend, Paper, PixelScale, Tick, Tone, legend
from app.core.translation import language

_APART = 15  # pixels between two lines of text
_SIDE = 9  # pixels between a point and its name
_UP, _DOWN = 11, 4  # pixels that a text takes over and under its line
_BOLD = 1.07  # times the width of a regular letter
_DOT = 6  # pixels around a point that its mark takes
_AROUND = 3  # pixels before and after a text that others keep off
_RISES = (-9, 19, 4, -24, 34, -39, 49, -54, 64)  # of a name over its point
_ASIDE = (0, 30, 70)  # pixels that a name is moved to a side
_STEP = 3  # pixels between the places of a curve that are looked at
_ACROSS, _UPWARD = 24, 15  # pixels between the places for a name that has none near its point
_OVER_A_TEXT, _OVER_A_LINE, _FARTHER, _LED = 20.0, 8.0, 0.3, 1.5  # how bad each is
_CLOSE = 13  # pixels from a point within which its name needs no leader
_CLEARLY = 1.5  # times as far as its own point is every other one from a name without a leader
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLabel:
    """A labeled point in pixels; its text begins (or ends, if *left*) at *text_x*.

    *leader* is the path of a line from the point to the text, where one could mistake it.
    """

    x: float
    y: float
    says: str
    text_x: float
    text_y: float
    left: bool
    leader: str = ""


@dataclass(frozen=True, slots=True)
class LabelSpot:
    """A place for the name of the point *own*: its *box*, and whether it is *left* of the point."""

    own: Point
    box: Box
    _: KW_ONLY
    left: bool = False

    @property
    def far(self) -> float:
        """Pixels from the point to its name."""
        return distance(self.box, self.own)

    @property
    def height(self) -> float:
        """Of the line that the text stands on."""
        return self.box[3] - _DOWN


class LabelRoom:
    """The room that curves, and texts that are there already, leave for further texts."""

    def __init__(self, curves: Iterable[Sequence[Point]], taken: Iterable[Box]) -> None:
        """All *curves*, and what is *taken* by texts and marks."""
        self._lines = sorted(spot for curve in curves for spot in spots_along(curve, _STEP))
        self._taken = list(taken)

    def copy(self) -> "LabelRoom":
        """The same room, in which something else can be tried."""
        made = LabelRoom((), self._taken)
        made._lines = self._lines.copy()
        return made

    def is_clear(self, spot: LabelSpot, others: Sequence[Point]) -> bool:
        """Whether a name there covers nothing, and the line to it, if it needs one, no text."""
        if self._covered(spot.box) or self._is_on_a_line(spot.box):
            return False
        return not (_is_mistaken(spot, others) and self._passed_by_leader(spot))

    def best(self, spots: Iterable[LabelSpot], others: Sequence[Point]) -> LabelSpot:
        """The best of *spots* for a name that must not be taken for that of *others*."""
        least = math.inf

        def cost(spot: LabelSpot) -> float:
            nonlocal least
            cost = _OVER_A_TEXT * self._covered(spot.box) + _FARTHER * spot.far / _APART
            if cost < least:
                cost += _OVER_A_LINE * self._is_on_a_line(spot.box)
            if cost < least and _is_mistaken(spot, others):
                cost += _LED
                if cost < least:
                    cost += _OVER_A_LINE * self._passed_by_leader(spot)
            found = cost
            least = min(least, found)
            return found

        return min(spots, key=cost)

    def take(self, spot: LabelSpot, others: Sequence[Point]) -> str:
        """Take a place; the path of the line that leads to it, where one could mistake it."""
        self._taken.append(spot.box)
        if not _is_mistaken(spot, others):
            return ""
        for one in spots_along((spot.own, _nearest(spot.own, spot.box)), _STEP):
            self._lines.insert(bisect_left(self._lines, one), one)
        return leader(spot.own, spot.box)

    def _covered(self, box: Box) -> int:
        left, top, right, bottom = box[0] - _AROUND, box[1], box[2] + _AROUND, box[3]
        return sum(right > a and left < c and bottom > b and top < d for a, b, c, d in self._taken)

    def _is_on_a_line(self, box: Box) -> bool:
        left, top, right, bottom = box
        first = bisect_left(self._lines, left, key=itemgetter(0))
        last = bisect_right(self._lines, right, key=itemgetter(0))
        return any(top <= y <= bottom for _, y in self._lines[first:last])

    def _passed_by_leader(self, spot: LabelSpot) -> int:
        """How many points and texts a line to a name passes."""
        line = list(spots_along((spot.own, _nearest(spot.own, spot.box)), _STEP))
        return sum(not _covers(other, spot.own) and any(_covers(other, one) for one in line) for other in self._taken)


def placed_labels(
    marks: Sequence[tuple[float, float, str]], *, room: LabelRoom, bounds: Box
) -> tuple[PlacedLabel, ...]:
    """*marks* with their texts inside *bounds*, where there is *room*: in another order if some had no place."""
    tried, forward = [], list(range(len(marks)))
    for order in ([*way[first:], *way[:first]] for way in (forward, forward[::-1]) for first in forward):
        found, flaws = _placed_in_order(order, marks, room.copy(), bounds)
        if not flaws:
            return found
        tried.append((flaws, found))
    return min(tried, key=itemgetter(0))[1] if tried else ()


def _placed_in_order(
    order: Iterable[int], marks: Sequence[tuple[float, float, str]], room: LabelRoom, bounds: Box
) -> tuple[tuple[PlacedLabel, ...], int]:
    """The *marks*, placed in this *order*, and how many of them have no place that is clear."""
    found, flaws = {}, 0
    for place in order:
        x, y, says = marks[place]
        others = [(a, b) for at, (a, b, _) in enumerate(marks) if at != place]
        width = _BOLD * axes.text_width(says)
        spot = room.best(spots_around((x, y), width, bounds), others)
        if not room.is_clear(spot, others):
            spot = room.best((spot, *spots_within(bounds, (x, y), width)), others)
            flaws += not room.is_clear(spot, others)
        found[place] = PlacedLabel(
            x=x,
            y=y,
            says=says,
            text_x=round(spot.box[2] if spot.left else spot.box[0], 2),
            text_y=round(spot.height, 2),
            left=spot.left,
            leader=room.take(spot, others),
        )
    return tuple(found[place] for place in range(len(marks))), flaws


def text_box(text: str, x: float, y: float) -> Box:
    """What a name takes that begins at *x*, on the line *y*."""
    return x, y - _UP, x + _BOLD * axes.text_width(text), y + _DOWN


def distance(box: Box, point: Point) -> float:
    """Pixels from a text to a point; 0 where it covers it."""
    return math.dist(point, _nearest(point, box))


def leader(point: Point, box: Box) -> str:
    """The path from a point to the nearest place of a text."""
    x, y = _nearest(point, box)
    return f"M{point[0]:.4g} {point[1]:.4g}L{x:.4g} {y:.4g}"


def spots_around(point: Point, width: float, bounds: Box) -> Iterator[LabelSpot]:
    """Places near *point* for a name of that *width*, inside *bounds*: the best ones first."""
    (x, y), (low, top, high, bottom) = point, bounds
    for rise in _RISES:
        height = min(max(y + rise, top + _UP), bottom)
        sides = [start for far in _ASIDE for start in (x + _SIDE + far, x - _SIDE - width - far)]
        for start in (*sides, x - width / 2):
            at = min(max(start, low), high - width)
            box = (at, height - _UP, at + width, height + _DOWN)
            yield LabelSpot(point, box, left=start < x - width / 2)


def spots_within(bounds: Box, point: Point, width: float) -> Iterator[LabelSpot]:
    """Places for the name of *point* anywhere inside *bounds*."""
    low, top, high, bottom = bounds
    for height in range(math.ceil(top) + _UP, math.floor(bottom) + 1, _UPWARD):
        for at in range(math.ceil(low), math.floor(high - width) + 1, _ACROSS):
            box = (float(at), float(height - _UP), at + width, float(height + _DOWN))
            yield LabelSpot(point, box, left=at + width < point[0])


def spots_along(curve: Sequence[Point], step: float) -> Iterator[Point]:
    """Places along *curve*, at most *step* pixels apart."""
    for (x1, y1), (x2, y2) in pairwise(curve):
        pieces = max(1, math.ceil(max(abs(x2 - x1), abs(y2 - y1)) / step))
        for piece in range(pieces + 1):
            share = piece / pieces
            yield x1 + share * (x2 - x1), y1 + share * (y2 - y1)


def _is_mistaken(spot: LabelSpot, others: Sequence[Point]) -> bool:
    """Whether a name could be that of another point, or of none."""
    far, reach = spot.far, _CLEARLY * spot.far
    left, top, right, bottom = spot.box
    return far > _CLOSE or any(
        left - reach <= x <= right + reach
        and top - reach <= y <= bottom + reach  # as few are
        and distance(spot.box, (x, y)) <= reach
        for x, y in others
    )


def _covers(box: Box, point: Point) -> bool:
    return box[0] < point[0] < box[2] and box[1] < point[1] < box[3]


def _nearest(point: Point, box: Box) -> Point:
    """The place of a text that is nearest to a point."""
    return min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3])


_MIDDLE, _BESIDE = 4, 10  # pixels from the end of a curve: down to the line of its name, and across
_MOVES = (0, 15, -15, 30, -30, 45, -45, 60, -60, 75, -75)  # pixels that it is moved up or down
_PLACES = 6  # of a curve that are tried
_LOOKED = 16  # pixels between the places of other curves that a name must not be taken for


@dataclass(frozen=True, slots=True)
class PlacedName:
    """Where the name of a curve begins; *leader* is a line that leads to it, if it needs one."""

    x: float
    y: float
    leader: str = ""


def _places_beside(name: str, at: Point, bounds: Box) -> Iterator[LabelSpot]:
    """Places at the right of a point, if the name fits there."""
    for move in _MOVES:
        box = text_box(name, at[0] + _BESIDE, at[1] + _MIDDLE + move)
        spot = LabelSpot(at, box)
        if bounds[1] <= box[1] and box[2] <= bounds[2] and spot.height <= bounds[3]:
            yield spot


def _along(name: str, curve: Sequence[Point], at: Point, bounds: Box) -> Iterator[LabelSpot]:
    """Places around some points of a curve."""
    left, _, right, _ = text_box(name, 0, 0)
    step = max(1, len(curve) // _PLACES)
    for point in (at, *curve[::-step]):
        yield from spots_around(point, right - left, bounds)


_REMEMBERED = 128  # pictures of plots
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
    """*chart* in pixels; to find places for its names takes long, so the latest ones are remembered."""
    return _plot_picture(chart, paper, language())


@lru_cache(_REMEMBERED)
def _plot_picture(chart: Plot, paper: Paper, _language: str) -> PlotPicture:
    bottom = _HEIGHTS[paper] - _BOTTOM
    points = [point for series in chart.series for point in series.points]
    points += [(mark.x, mark.y) for mark in chart.marks]
    up = axes.scale(chart.y, [y for _, y in points], bottom, _TOP)
    y_ticks = up.ticks()
    left = round(axes.widest([tick.label for tick in y_ticks]) + 14)
    named = paper is not NARROW
    ends = [text_box(series.name, 0, 0) for series in chart.series if named and not series.at_peak]
    longest = max((end for _, _, end, _ in ends), default=0.0)
    right = paper.width - _EDGES[paper] - (round(longest) + _END if longest else 0)  # names end the curves
    across = axes.scale(chart.x, [x for x, _ in points], left, right, paper)
    if points and not chart.x.log:  # a linear axis begins at the first value
        across = replace(across, low=min(x for x, _ in points))
    placed = [[(across.at(x), up.at(y)) for x, y in one.points] for one in chart.series]
    spots = [(across.at(mark.x), up.at(mark.y), mark.says) for mark in chart.marks]
    dots = ((x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y, _ in spots)
    room = LabelRoom(placed, (*dots, *_numbers(across, bottom, paper)))
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
            at = min(reversed(curve), key=lambda spot: spot[1]) if series.at_peak else curve[-1]
            apart = [spot for other in others for spot in spots_along(other, _LOOKED)]
            beside = list(_places_beside(series.name, at, bounds))
            spot = room.best(beside, apart) if beside else None
            if spot is None or not room.is_clear(spot, apart):
                spot = room.best([*beside, *_along(series.name, curve, at, bounds)], apart)
            if not room.is_clear(spot, apart):  # near the curve, all is taken
                spot = room.best((spot, *spots_within(bounds, spot.own, spot.box[2] - spot.box[0])), apart)
            name = PlacedName(round(spot.box[0], 2), round(spot.height, 2), room.take(spot, apart))
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
