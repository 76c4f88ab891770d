"""The layout of a timeline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from app.core.charts.axes import Axis, PixelScale, Tick
from app.core.charts.paper import NARROW, WIDE, Legend, Paper, legend, text_width, widest, wrapped
from app.core.charts.timeline import Lane, TimeBar, Timeline
from app.core.units import SECOND

_TOP, _GAP = 4, 5
_ROWS = ((8, 26), (64, 18))  # at most this number of rows, and the height of each
_AROUND = 3  # pixels around the label of a bar
_BESIDE = 8  # pixels between a row and its name or note
_TIMES, _LINE = 38, 16  # pixels, height of the numbers and of a line of the note
_AXIS = Axis("time", SECOND)


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

    One path per kind; *spans*, *names*, *kinds* and *says* list the position and width of each
    bar, its label, the letter of its kind, and its tooltip.
    """

    y: float
    paths: tuple[tuple[str, str], ...]
    labels: tuple[tuple[float, str, str], ...]  # position, kind and text
    traced: str
    spans: str
    names: str
    kinds: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePicture:
    """A timeline in pixels."""

    timeline: Timeline
    paper: Paper
    height: int
    left: int
    right: int
    row: int
    scale: float
    lines: tuple[LaneLabel, ...]
    ticks: tuple[Tick, ...]
    foot: int  # bottom of the rows
    legend: Legend
    note: tuple[str, ...]

    @property
    def boxes(self) -> tuple[PlacedBar, ...]:
        """Every bar separately."""
        return tuple(
            PlacedBar(
                x=round(self._x(bar), 2), y=line.y, width=round(self._width(bar), 2), bar=bar, labeled=self._fits(bar)
            )
            for line, row in self._rows()
            for bar in row.bars
        )

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The bars of each row."""
        return tuple(self._track(line.y, row.bars) for line, row in self._rows())

    def _rows(self) -> Iterator[tuple[LaneLabel, Lane]]:
        return zip(self.lines, self.timeline.rows, strict=True)

    def _track(self, y: float, bars: Sequence[TimeBar]) -> Track:
        paths: dict[str, list[str]] = {bar.kind: [] for bar in bars}
        spans, labels, traced = [], [], []
        followed, left, scale, row = self.timeline.traced, self.left, self.scale, self.row
        for start, end, kind, label, _ in bars:
            place, long = left + start * scale, (end - start) * scale
            width = long - 1 if long > 1 else 0.0
            x, wide = f"{place:.1f}", f"{width:.1f}"
            spans.append(f"{x} {wide}")
            box = f"M{x} {y}h{wide}v{row}h-{wide}z"
            paths[kind].append(box)
            if followed and label.rstrip(ascii_lowercase) == followed:
                traced.append(box)
            if long > _AROUND and long >= text_width(label) + _AROUND:
                labels.append((round(place + width / 2, 2), kind, label))
        return Track(
            y=y,
            paths=tuple((kind, "".join(pieces)) for kind, pieces in paths.items()),
            labels=tuple(labels),
            traced="".join(traced),
            spans=",".join(spans),
            names=" ".join(bar.label for bar in bars),
            kinds="".join(bar.kind for bar in bars),
            says="|".join(bar.says for bar in bars),
        )

    def _x(self, bar: TimeBar) -> float:
        return self.left + bar.start * self.scale

    def _width(self, bar: TimeBar) -> float:
        return max(0.0, (bar.end - bar.start) * self.scale - 1)

    def _fits(self, bar: TimeBar) -> bool:
        """Whether the label of *bar* fits in it."""
        return (bar.end - bar.start) * self.scale >= text_width(bar.label) + _AROUND


def timeline_picture(timeline: Timeline, paper: Paper = WIDE) -> TimelinePicture:
    """*timeline* in pixels."""
    left = round(widest([row.name for row in timeline.rows])) + _BESIDE
    notes = [row.note for row in timeline.rows if row.note]
    right = paper.width - (round(widest(notes)) + _BESIDE if notes else 2)
    row = next(height for most, height in _ROWS if len(timeline.rows) <= most)
    if paper is NARROW:
        row = min(row, 20)
    lines = tuple(LaneLabel(_TOP + place * (row + _GAP), one.name, one.note) for place, one in enumerate(timeline.rows))
    foot = _TOP + len(timeline.rows) * (row + _GAP)
    own = legend([(kind, says) for kind, says in timeline.kinds], left, paper.width)
    note = wrapped(timeline.note, paper.width)
    times = PixelScale(_AXIS, low=0.0, high=timeline.end or 1.0, start=left, end=right)
    return TimelinePicture(
        timeline=timeline,
        paper=paper,
        height=foot + _TIMES + own.height + len(note) * _LINE,
        left=left,
        right=right,
        row=row,
        scale=(right - left) / timeline.end if timeline.end else 0.0,
        lines=lines,
        ticks=() if timeline.untimed else times.ticks(),
        foot=foot,
        legend=own,
        note=note,
    )
