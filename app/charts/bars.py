"""Quantities side by side: bars made of parts, and a line that they must not cross."""

from dataclasses import dataclass

from app.charts.axes import Axis, Tick, scale

WIDTH = 720
_LEFT, _RIGHT, _TOP, _ROW, _GAP = 150, 24, 8, 30, 12
_LEGEND = 24  # height of the row of names
_LABEL = 6.6  # width of a letter in a part


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar; *kind* decides its color."""

    kind: str
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its parts lie end to end; *note* stands behind it."""

    name: str
    parts: tuple[Part, ...]
    note: str = ""

    @property
    def value(self) -> float:
        """All parts together."""
        return sum(part.value for part in self.parts)


@dataclass(frozen=True, slots=True)
class Bars:
    """A chart of bars; none should be longer than *limit*, where there is one."""

    title: str
    summary: str
    axis: Axis
    bars: tuple[Bar, ...]
    limit: float | None = None
    limit_says: str = ""

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The same in words: a heading, then a row a part."""
        rows = [("What", "Part", self.axis.label)]
        for bar in self.bars:
            rows += [(bar.name, part.name, self.axis.text(part.value)) for part in bar.parts]
            if len(bar.parts) > 1:
                rows.append((bar.name, "together", self.axis.text(bar.value)))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class Box:
    """A part at its place."""

    x: float
    y: float
    width: float
    kind: str
    label: str
    says: str


@dataclass(frozen=True, slots=True)
class Line:
    """The name of a bar, and what stands behind it."""

    y: float
    name: str
    note: str
    end: float


@dataclass(frozen=True, slots=True)
class BarsPicture:
    """Everything at its place."""

    chart: Bars
    width: int
    height: int
    row: int
    left: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    limit: float | None
    limit_left: bool  # its name stands on the left of it
    legend: tuple[tuple[float, str, str], ...]  # place, kind and name, where a part has no label

    @property
    def foot(self) -> int:
        """Where the axis and its numbers end."""
        return self.height - (_LEGEND if self.legend else 0)


def bars_picture(chart: Bars) -> BarsPicture:
    """Where everything of *chart* goes."""
    largest = [bar.value for bar in chart.bars] + ([chart.limit] if chart.limit else [])
    notes = [bar.note or chart.axis.text(bar.value) for bar in chart.bars]
    room = max(map(len, notes), default=0) * _LABEL
    placed = scale(chart.axis, largest, _LEFT, WIDTH - _RIGHT - room)
    limit = placed.at(chart.limit) if chart.limit else None
    boxes: list[Box] = []
    lines = []
    for index, bar in enumerate(chart.bars):
        y, begun = _TOP + index * (_ROW + _GAP), 0.0
        for part in bar.parts:
            x, begun = placed.at(begun), begun + part.value
            width = round(max(0.0, placed.at(begun) - x), 2)
            says = f"{bar.name}, {part.name}: {chart.axis.text(part.value)}"
            label = part.name if len(part.name) * _LABEL + 8 <= width else ""
            boxes.append(Box(x, y, width, part.kind, label, says))
        note = bar.note or chart.axis.text(bar.value)
        end = placed.at(begun)
        if limit is not None and end <= limit <= end + len(note) * _LABEL + 7:
            end = limit  # the line would run through it
        lines.append(Line(y, bar.name, note, end))
    legend = _legend(chart, boxes)
    height = _TOP + len(chart.bars) * (_ROW + _GAP) + 40 + (_LEGEND if legend else 0)
    return BarsPicture(
        chart, WIDTH, height, _ROW, _LEFT, tuple(boxes), tuple(lines), placed.ticks(), limit,
        limit is not None and limit > WIDTH / 2, legend,
    )  # fmt: skip


def _legend(chart: Bars, boxes: list[Box]) -> tuple[tuple[float, str, str], ...]:
    """The names of the parts, where some part is too narrow for its own."""
    parts = {part.name: part.kind for bar in chart.bars for part in bar.parts if part.name}
    told = {box.label for box in boxes} | {bar.name for bar in chart.bars}
    if len(parts) == 1 or set(parts) <= told:
        return ()
    at, found = float(_LEFT), []
    for name, kind in parts.items():
        found.append((round(at, 2), kind, name))
        at += len(name) * _LABEL + 34
    return tuple(found)
