"""The same rows measured on several axes, whose values have nothing in common but the rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from app.core.charts.color import Color
from app.core.charts.diagram import Drawing, Rect, Sheet, Words
from app.core.charts.paper import Paper, widest, wrapped

_ROW, _BAR, _HEAD, _LINE = 24, 16, 8, 16  # pixels: of a row, of its bar, below a head, of a line
_BETWEEN, _AFTER, _GAP = 24, 6, 12  # pixels: between panels, from a bar to its value, below a panel
_SIDE_BY_SIDE = 500  # pixels of paper from which the panels stand beside each other


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row: its name, and its value in each panel as a number and as text; None: not known."""

    name: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    is_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """Rows of bars on the axes that *labels* name; an own row is in another color."""

    title: str
    summary: str
    what: str
    labels: tuple[str, ...]
    rows: tuple[PanelRow, ...]


def panels_drawing(panels: Panels) -> Drawing:
    """*panels* as a drawing: side by side where the paper is wide enough, or below each other."""
    rows = ((row.name, *row.texts) for row in panels.rows)
    return Drawing(
        title=panels.title,
        summary=panels.summary,
        on=partial(_sheet, panels),
        table=((panels.what, *panels.labels), *rows),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a panel has its bars, in pixels; *most* is the value of the longest."""

    number: int
    left: float
    right: float
    top: float
    most: float

    def width(self, value: float) -> float:
        return round(max(1.0, (self.right - self.left) * value / self.most), 2)


def _sheet(panels: Panels, paper: Paper) -> Sheet:
    names = widest([row.name for row in panels.rows]) + _GAP
    beside = paper.width >= _SIDE_BY_SIDE
    across = len(panels.labels) if beside else 1
    width = (paper.width - names - (across - 1) * _BETWEEN) / across
    heads = [wrapped(label, width if beside else paper.width) for label in panels.labels]
    high = max(map(len, heads)) * _LINE + _HEAD
    rects: list[Rect] = []
    words: list[Words] = []
    y = 0.0
    for number, head in enumerate(heads):
        x = names + (number * (width + _BETWEEN) if beside else 0)
        top = high if beside else y + len(head) * _LINE + _HEAD
        place = _place(panels, number, x, x + width, top)
        at = x if beside else 0.0
        words += [
            Words(round(at, 2), top - _HEAD - (len(head) - 1 - line) * _LINE, text, strong=True)
            for line, text in enumerate(head)
        ]
        rects += _bars(panels.rows, place)
        words += _values(panels.rows, place)
        if number == 0 or not beside:
            words += _row_names(panels.rows, top)
        y = top + len(panels.rows) * _ROW + _GAP
    return Sheet(height=y, rects=tuple(rects), words=tuple(words))


def _place(panels: Panels, number: int, left: float, right: float, top: float) -> _Place:
    """The panel of the axis called *number*, with room for the texts after its bars."""
    texts = widest([row.texts[number] for row in panels.rows])
    most = max((row.values[number] or 0.0 for row in panels.rows), default=0.0)
    return _Place(number, left, right - texts - _AFTER, top, most or 1.0)


def _bars(rows: Sequence[PanelRow], place: _Place) -> Iterator[Rect]:
    for index, row in enumerate(rows):
        value = row.values[place.number]
        if value is not None:
            yield Rect(
                round(place.left, 2),
                place.top + index * _ROW + (_ROW - _BAR) / 2,
                place.width(value),
                _BAR,
                color=Color.BLUE if row.is_own else Color.GRAY,
                label="",
                says=f"{row.name}: {row.texts[place.number]}",
                marked=row.is_own,
            )


def _values(rows: Sequence[PanelRow], place: _Place) -> Iterator[Words]:
    """The value after each bar."""
    for index, row in enumerate(rows):
        value = row.values[place.number]
        x = place.left if value is None else place.left + place.width(value) + _AFTER
        y = place.top + index * _ROW + _ROW / 2 + 4
        yield Words(round(x, 2), y, row.texts[place.number], strong=row.is_own)


def _row_names(rows: Sequence[PanelRow], top: float) -> Iterator[Words]:
    for index, row in enumerate(rows):
        yield Words(0, top + index * _ROW + _ROW / 2 + 4, row.name, strong=row.is_own)
