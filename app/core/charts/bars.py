"""Stacked bars with a limit."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.core.charts import axes
from app.core.charts.axes import NARROW, WIDE, Axis, Color, Legend, Paper, PixelScale, Tick, Tone, legend
from app.core.translation import translate


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar; *color* says what it stands for."""

    color: Tone | Color
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
    """A bar chart; bars longer than *limit*, if there is one, exceed it.

    The axis goes to *end*, if that is given; a longer bar is torn off there.
    """

    title: str
    summary: str
    axis: Axis
    bars: tuple[Bar, ...]
    limit: float | None = None
    limit_says: str = ""
    end: float | None = None

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The values: a header, then one row per part."""
        rows = [(translate("What"), translate("Part"), self.axis.label)]
        for bar in self.bars:
            rows += [(bar.name, part.name, self.axis.text(part.value)) for part in bar.parts]
            if len(bar.parts) > 1:
                rows.append((bar.name, translate("total"), self.axis.text(bar.value)))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class _RowForm:
    """How the rows are set: the names beside their bars, or above them."""

    above: bool
    margin: int  # at the right
    row: int  # height of a bar
    gap: int  # from a bar to the next row
    name: int  # height of the name above the bar


_BESIDE = _RowForm(False, 16, 30, 12, 0)
_FORMS = {WIDE: _BESIDE, NARROW: _RowForm(True, 6, 22, 10, 18)}
_NAMES = 96  # pixels for the names beside their bars, at least: bars of one page then line up
_AXIS, _LIMIT, _TOP = 34, 20, 8  # height of the numbers, of the limit's text, of the rest
_INSIDE, _AFTER = 8, 7  # pixels around the label of a part, and before a note


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPart:
    """A part in pixels; the middle of its label is at *label_x*."""

    x: float
    y: float
    width: float
    color: Tone | Color
    label: str
    label_x: float
    says: str


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text in pixels; *anchor* is the class that says where *x* is: empty at its start."""

    x: float
    y: float
    text: str
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarsPicture:
    """A bar chart in pixels."""

    chart: Bars
    paper: Paper
    height: int
    row: int
    top: int  # of the grid
    foot: int  # of the grid
    boxes: tuple[PlacedPart, ...]
    torn: tuple[str, ...]  # paths over the ends of the bars that go on
    names: tuple[PlacedText, ...]
    notes: tuple[PlacedText, ...]
    ticks: tuple[Tick, ...]
    limit: float | None
    limit_says: PlacedText | None
    legend: Legend


def bars_picture(chart: Bars, paper: Paper = WIDE) -> BarsPicture:
    """*chart* in pixels."""
    form = _FORMS[paper]
    notes = [bar.note or chart.axis.text(bar.value) for bar in chart.bars]
    if chart.limit:  # the sum of a bar stands before it: after it, the line of the limit is near
        named = tuple(replace(bar, name=f"{bar.name}, {note}") for bar, note in zip(chart.bars, notes, strict=True))
        chart, notes = replace(chart, bars=named), [""] * len(notes)
    placed = _scale(chart, paper, form, notes)
    limit = placed.at(chart.limit) if chart.limit else None
    top = _TOP + (_LIMIT if chart.limit else 0)
    boxes: list[PlacedPart] = []
    names, said, torn = [], [], []
    for index, (bar, note) in enumerate(zip(chart.bars, notes, strict=True)):
        y = top + index * (form.name + form.row + form.gap)
        boxes += _bar_parts(bar, y + form.name, placed, limit)
        if bar.value > placed.high * (1 + 1e-9):
            jagged = "".join(f"l{3 - 6 * (at % 2)} {form.row / 4 + 0.5}" for at in range(4))
            torn.append(f"M{placed.end - 9} {y + form.name - 1}{jagged}")
        name, after = _texts(bar, note, y, placed, paper, limit)
        names.append(name)
        said += [after] if note else []
    foot = top + len(chart.bars) * (form.name + form.row + form.gap)
    own = legend(_unlabeled(chart, boxes), placed.start, paper.width)
    return BarsPicture(
        chart=chart,
        paper=paper,
        height=foot + _AXIS + own.height,
        row=form.row,
        top=top - 4,
        foot=foot,
        boxes=tuple(boxes),
        torn=tuple(torn),
        names=tuple(names),
        notes=tuple(said),
        ticks=placed.ticks(),
        limit=limit,
        limit_says=None if limit is None else _limit_text(limit, chart.limit_says, paper),
        legend=own,
    )


def _scale(chart: Bars, paper: Paper, form: _RowForm, notes: list[str]) -> PixelScale:
    """The scale of the bars, with room for the names before them and the notes after them."""
    largest = [bar.value for bar in chart.bars] + ([chart.limit] if chart.limit else [])
    if chart.end:
        largest = [min(value, chart.end) for value in largest]
    if form.above:
        return axes.scale(chart.axis, largest, 4, paper.width - form.margin, paper)
    start = max(_NAMES, axes.widest([bar.name for bar in chart.bars]) + 14)
    room = _AFTER + max(axes.widest(notes), 0.0)
    return axes.scale(chart.axis, largest, start, paper.width - form.margin - room, paper)


def _texts(
    bar: Bar, note: str, y: float, placed: PixelScale, paper: Paper, limit: float | None
) -> tuple[PlacedText, PlacedText]:
    """The name and the note of *bar*, whose row begins at *y*; beyond the limit, that it is below it."""
    form = _FORMS[paper]
    if form.above:
        start = placed.start
        if limit is not None and limit < start + axes.text_width(bar.name) + _AFTER:
            start = limit + _AFTER
        name = PlacedText(start, y + form.name - 5, bar.name)
        return name, PlacedText(placed.end, y + form.name - 5, note, "end")
    middle = y + form.row / 2 + 4
    name = PlacedText(placed.start - 10, middle, bar.name, "end")
    return name, PlacedText(placed.at(bar.value) + _AFTER, middle, note)


def _limit_text(limit: float, says: str, paper: Paper) -> PlacedText:
    """The text of the limit at its line, on the side that has room for it."""
    if limit + 5 + axes.text_width(says) <= paper.width:
        return PlacedText(limit + 5, 13, says)
    return PlacedText(limit - 5, 13, says, "end")


def _bar_parts(bar: Bar, y: float, placed: PixelScale, limit: float | None) -> Iterator[PlacedPart]:
    """The parts of *bar* end to end; a part that is too narrow has no label."""
    begun = 0.0
    for part in bar.parts:
        x, begun = placed.at(begun), begun + part.value
        width = round(max(0.0, placed.at(begun) - x), 2)
        start, end = _beside_limit(x, x + width, limit)
        fits = axes.text_width(part.name) + _INSIDE <= end - start
        yield PlacedPart(
            x=x,
            y=y,
            width=width,
            color=part.color,
            label=part.name if fits else "",
            label_x=round((start + end) / 2, 2),
            says=f"{bar.name}, {part.name}: {placed.axis.text(part.value)}",
        )


def _beside_limit(start: float, end: float, limit: float | None) -> tuple[float, float]:
    """The longer piece of a part that the line of the limit goes through; else all of it."""
    if limit is None or not start < limit < end:
        return start, end
    return max((start, limit), (limit, end), key=lambda piece: piece[1] - piece[0])


def _unlabeled(chart: Bars, boxes: list[PlacedPart]) -> list[tuple[str, str]]:
    """The colors and names of all parts, if some part is too narrow for its label."""
    parts = {part.name: part.color for bar in chart.bars for part in bar.parts if part.name}
    labeled = {box.label for box in boxes} | {bar.name for bar in chart.bars}
    if len(parts) == 1 or set(parts) <= labeled:
        return []
    return [(color, name) for name, color in parts.items()]
