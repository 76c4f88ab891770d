"""Where the bars of a timeline go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from app.charts.axes import Tick, even
from app.charts.timeline import Lane, TimeBar, Timeline
from app.units import SECOND, show

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _GAP = 960, 64, 72, 34, 26, 5
_NOTE = 22  # height of the line below the legend
_LABEL = 7.2  # width of a figure in a bar
_TICKS = 8


@dataclass(frozen=True, slots=True)
class PlacedBar:
    """A bar at its place."""

    x: float
    y: float
    width: float
    bar: TimeBar
    labelled: bool


@dataclass(frozen=True, slots=True)
class LaneLabel:
    """The name and the note of a row, and the strip behind its bars."""

    y: float
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class Track:
    """The bars of a row together, light enough for thousands of them.

    One path a kind; *spans*, *names* and *says* have, in order, the place and the width of each
    bar, its label, and what it says.
    """

    y: float
    paths: tuple[tuple[str, str], ...]
    labels: tuple[tuple[float, str], ...]
    traced: str
    spans: str
    names: str
    says: str


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """Everything at its place."""

    timeline: Timeline
    width: int
    height: int
    left: int
    right: int
    row: int
    scale: float
    lines: tuple[LaneLabel, ...]
    ticks: tuple[Tick, ...]
    foot: int  # where the legend ends; the note comes below

    @property
    def boxes(self) -> tuple[PlacedBar, ...]:
        """Every bar by itself."""
        return tuple(
            _box(line.y, bar, self.scale) for line, row in self._rows() for bar in row.bars
        )

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The bars of each row."""
        traced = self.timeline.traced
        return tuple(_track(line.y, row.bars, self.scale, traced) for line, row in self._rows())

    def _rows(self) -> Iterator[tuple[LaneLabel, Lane]]:
        return zip(self.lines, self.timeline.rows, strict=True)


def timeline_picture(timeline: Timeline) -> TimelinePicture:
    """Where everything of *timeline* goes."""
    scale = (_WIDTH - _LEFT - _RIGHT) / timeline.end if timeline.end else 0.0
    lines = tuple(
        LaneLabel(_TOP + place * (_ROW + _GAP), row.name, row.note)
        for place, row in enumerate(timeline.rows)
    )
    foot = _TOP + len(timeline.rows) * (_ROW + _GAP) + 52
    height = foot + (_NOTE if timeline.note else 0)
    times = even(0.0, timeline.end, _TICKS) if timeline.end else [0.0]
    ticks = tuple(Tick(_place(time, scale), show(time, SECOND)) for time in times)
    return TimelinePicture(
        timeline, _WIDTH, height, _LEFT, _WIDTH - _RIGHT, _ROW, scale, lines, ticks, foot
    )


def _track(y: float, bars: Sequence[TimeBar], scale: float, wanted: str) -> Track:
    paths: dict[str, list[str]] = {}
    spans, labels, traced = [], [], []
    for bar in bars:
        place, width = _LEFT + bar.start * scale, _width(bar, scale)
        x, wide = f"{place:.1f}", f"{width:.1f}"
        spans.append(f"{x} {wide}")
        box = f"M{x} {y}h{wide}v{_ROW}h-{wide}z"
        paths.setdefault(bar.kind, []).append(box)
        if wanted and bar.label.rstrip(ascii_lowercase) == wanted:
            traced.append(box)
        if _fits(bar, scale):
            labels.append((round(place + width / 2, 2), bar.label))
    return Track(
        y,
        tuple((kind, "".join(pieces)) for kind, pieces in paths.items()),
        tuple(labels),
        "".join(traced),
        ",".join(spans),
        " ".join(bar.label for bar in bars),
        "|".join(bar.says for bar in bars),
    )


def _box(y: float, bar: TimeBar, scale: float) -> PlacedBar:
    return PlacedBar(
        _place(bar.start, scale), y, round(_width(bar, scale), 2), bar, _fits(bar, scale)
    )


def _place(time: float, scale: float) -> float:
    return round(_LEFT + time * scale, 2)


def _width(bar: TimeBar, scale: float) -> float:
    return max(0.0, (bar.end - bar.start) * scale - 1)


def _fits(bar: TimeBar, scale: float) -> bool:
    """Whether the label has room in *bar*."""
    return (bar.end - bar.start) * scale >= len(bar.label) * _LABEL + 3
