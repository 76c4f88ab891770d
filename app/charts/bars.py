"""Stacked bars, and a limit that they must not cross."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.charts.axes import Axis, PixelScale, Tick, scale
from app.charts.color import Color

WIDTH = 720
_LEFT, _RIGHT, _TOP, _ROW, _GAP = 150, 24, 8, 30, 12
_LEGEND = 24  # pixels, height of the legend
_LABEL = 6.6  # pixels, width of a letter in a part


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar; *color* is its color."""

    color: Color
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of stacked parts; *note* is written after it."""

    name: str
    parts: tuple[Part, ...]
    note: str = ""

    @property
    def value(self) -> float:
        """Sum of the parts."""
        return sum(part.value for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A bar chart; bars longer than *limit*, if there is one, exceed it."""

    title: str
    summary: str
    axis: Axis
    bars: tuple[Bar, ...]
    limit: float | None = None
    limit_says: str = ""

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The values: a header, then one row per part."""
        rows = [("What", "Part", self.axis.label)]
        for bar in self.bars:
            rows += [(bar.name, part.name, self.axis.text(part.value)) for part in bar.parts]
            if len(bar.parts) > 1:
                rows.append((bar.name, "total", self.axis.text(bar.value)))
        return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPart:
    """A part in pixels."""

    x: float
    y: float
    width: float
    color: Color
    label: str
    says: str


@dataclass(frozen=True, slots=True)
class BarLabel:
    """The name of a bar, and the note after it, in pixels."""

    y: float
    name: str
    note: str
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BarsPicture:
    """A bar chart in pixels."""

    chart: Bars
    width: int
    height: int
    row: int
    left: int
    boxes: tuple[PlacedPart, ...]
    lines: tuple[BarLabel, ...]
    ticks: tuple[Tick, ...]
    limit: float | None
    limit_left: bool  # whether its text is to the left of it
    legend: tuple[tuple[float, Color, str], ...]  # position, color and name

    @property
    def foot(self) -> int:
        """Bottom of the axis and its numbers."""
        return self.height - (_LEGEND if self.legend else 0)


def bars_picture(chart: Bars) -> BarsPicture:
    """*chart* in pixels."""
    largest = [bar.value for bar in chart.bars] + ([chart.limit] if chart.limit else [])
    notes = [bar.note or chart.axis.text(bar.value) for bar in chart.bars]
    room = max(map(len, notes), default=0) * _LABEL
    placed = scale(chart.axis, largest, _LEFT, WIDTH - _RIGHT - room)
    limit = placed.at(chart.limit) if chart.limit else None
    boxes: list[PlacedPart] = []
    lines = []
    for index, (bar, note) in enumerate(zip(chart.bars, notes, strict=True)):
        y = _TOP + index * (_ROW + _GAP)
        boxes += _parts(bar, y, placed)
        end = placed.at(bar.value)
        if limit is not None and end <= limit <= end + len(note) * _LABEL + 7:
            end = limit  # the line would cross the note
        lines.append(BarLabel(y, bar.name, note, end))
    legend = _legend(chart, boxes)
    height = _TOP + len(chart.bars) * (_ROW + _GAP) + 40 + (_LEGEND if legend else 0)
    return BarsPicture(
        chart=chart,
        width=WIDTH,
        height=height,
        row=_ROW,
        left=_LEFT,
        boxes=tuple(boxes),
        lines=tuple(lines),
        ticks=placed.ticks(),
        limit=limit,
        limit_left=limit is not None and limit > WIDTH / 2,
        legend=legend,
    )


def _parts(bar: Bar, y: float, placed: PixelScale) -> Iterator[PlacedPart]:
    """The parts of *bar* end to end; a part that is too narrow has no label."""
    begun = 0.0
    for part in bar.parts:
        x, begun = placed.at(begun), begun + part.value
        width = round(max(0.0, placed.at(begun) - x), 2)
        says = f"{bar.name}, {part.name}: {placed.axis.text(part.value)}"
        label = part.name if len(part.name) * _LABEL + 8 <= width else ""
        yield PlacedPart(x=x, y=y, width=width, color=part.color, label=label, says=says)


def _legend(chart: Bars, boxes: list[PlacedPart]) -> tuple[tuple[float, Color, str], ...]:
    """The names of all parts, if some part is too narrow for its label."""
    parts = {part.name: part.color for bar in chart.bars for part in bar.parts if part.name}
    labeled = {box.label for box in boxes} | {bar.name for bar in chart.bars}
    if len(parts) == 1 or set(parts) <= labeled:
        return ()
    at, found = float(_LEFT), []
    for name, color in parts.items():
        found.append((round(at, 2), color, name))
        at += len(name) * _LABEL + 34
    return tuple(found)
