"""The layout of a timeline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from app.charts.axes import Tick, even
from app.charts.timeline import Lane, TimeBar, Timeline
from app.units import SECOND, show

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _GAP = 960, 64, 72, 34, 26, 5
_NOTE = 22  # pixels, height of the line below the legend
_LABEL = 7.2  # pixels, width of a digit in a bar
_TICKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBar:
    """A bar in pixels."""

    x: float
    y: float
    width: float
    bar: TimeBar
    labeled: bool


@dataclass(frozen=True, slots=True)
class LaneLabel:
    """The name and the note of a row."""

    y: float
    name: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """All bars of a row, compact enough for thousands of them.

    One path per kind; *spans*, *names* and *says* list the position and width of each bar, its
    label, and its tooltip.
    """

    y: float
    paths: tuple[tuple[str, str], ...]
    labels: tuple[tuple[float, str], ...]
    traced: str
    spans: str
    names: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePicture:
    """A timeline in pixels."""

    timeline: Timeline
    width: int
    height: int
    left: int
    right: int
    row: int
    scale: float
    lines: tuple[LaneLabel, ...]
    ticks: tuple[Tick, ...]
    foot: int  # bottom of the legend; the note is below it

    @property
    def boxes(self) -> tuple[PlacedBar, ...]:
        """Every bar separately."""
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
    """*timeline* in pixels."""
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
        timeline=timeline,
        width=_WIDTH,
        height=height,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        row=_ROW,
        scale=scale,
        lines=lines,
        ticks=ticks,
        foot=foot,
    )


def _track(y: float, bars: Sequence[TimeBar], scale: float, followed: str) -> Track:
    paths: dict[str, list[str]] = {}
    spans, labels, traced = [], [], []
    for bar in bars:
        place, width = _LEFT + bar.start * scale, _width(bar, scale)
        x, wide = f"{place:.1f}", f"{width:.1f}"
        spans.append(f"{x} {wide}")
        box = f"M{x} {y}h{wide}v{_ROW}h-{wide}z"
        paths.setdefault(bar.kind, []).append(box)
        if followed and bar.label.rstrip(ascii_lowercase) == followed:
            traced.append(box)
        if _fits(bar, scale):
            labels.append((round(place + width / 2, 2), bar.label))
    return Track(
        y=y,
        paths=tuple((kind, "".join(pieces)) for kind, pieces in paths.items()),
        labels=tuple(labels),
        traced="".join(traced),
        spans=",".join(spans),
        names=" ".join(bar.label for bar in bars),
        says="|".join(bar.says for bar in bars),
    )


def _box(y: float, bar: TimeBar, scale: float) -> PlacedBar:
    return PlacedBar(
        x=_place(bar.start, scale),
        y=y,
        width=round(_width(bar, scale), 2),
        bar=bar,
        labeled=_fits(bar, scale),
    )


def _place(time: float, scale: float) -> float:
    return round(_LEFT + time * scale, 2)


def _width(bar: TimeBar, scale: float) -> float:
    return max(0.0, (bar.end - bar.start) * scale - 1)


def _fits(bar: TimeBar, scale: float) -> bool:
    """Whether the label of *bar* fits in it."""
    return (bar.end - bar.start) * scale >= len(bar.label) * _LABEL + 3
