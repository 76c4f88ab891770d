"""A timeline as a picture: places computed here, drawn by a template."""

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.charts.axes import Tick, even
from app.charts.timeline import Bar, Timeline
from app.config import ROOT
from app.units import SECOND, show

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _GAP = 960, 64, 72, 34, 26, 5
_LABEL = 7.2  # width of a figure in a bar
_TICKS = 8


@dataclass(frozen=True, slots=True)
class Box:
    """A bar at its place."""

    x: float
    y: float
    width: float
    bar: Bar
    labelled: bool


@dataclass(frozen=True, slots=True)
class Line:
    """The name and the note of a row, and the strip behind its bars."""

    y: float
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything at its place."""

    timeline: Timeline
    width: int
    height: int
    left: int
    right: int
    row: int
    lines: tuple[Line, ...]
    boxes: tuple[Box, ...]
    ticks: tuple[Tick, ...]


def svg(timeline: Timeline) -> str:
    """*timeline* as a file that stands alone."""
    return _templates().get_template("figures/timeline.svg").render(picture=picture(timeline))


def picture(timeline: Timeline) -> Picture:
    """Where everything of *timeline* goes."""
    scale = (_WIDTH - _LEFT - _RIGHT) / timeline.end if timeline.end else 0.0
    tops = [_TOP + place * (_ROW + _GAP) for place in range(len(timeline.rows))]
    boxes = tuple(
        _box(bar, top, scale)
        for row, top in zip(timeline.rows, tops, strict=True)
        for bar in row.bars
    )
    lines = tuple(
        Line(top, row.name, row.note) for row, top in zip(timeline.rows, tops, strict=True)
    )
    height = _TOP + len(timeline.rows) * (_ROW + _GAP) + 52
    times = even(0.0, timeline.end, _TICKS) if timeline.end else [0.0]
    ticks = tuple(Tick(_placed(t, scale), show(t, SECOND)) for t in times)
    return Picture(timeline, _WIDTH, height, _LEFT, _WIDTH - _RIGHT, _ROW, lines, boxes, ticks)


def _box(bar: Bar, top: float, scale: float) -> Box:
    width = (bar.end - bar.start) * scale
    room = len(bar.label) * _LABEL + 3
    return Box(_placed(bar.start, scale), top, round(max(0.0, width - 1), 2), bar, width >= room)


def _placed(time: float, scale: float) -> float:
    return round(_LEFT + time * scale, 2)


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
