"""A Gantt chart: rows of bars over time, its layout, and the same in a terminal."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import ascii_lowercase
from typing import NamedTuple

from app.core.charts import axes
from app.core.charts.axes import NARROW, WIDE, Axis, Legend, Paper, PixelScale, Tick, legend
from app.core.simulators.pipeline import SimulatedSchedule, Slot
from app.core.translation import language, noted, plural, translate, translate_known
from app.core.translation.sentence import numeral_in
from app.core.units import SECOND, show

_NOISE = 12  # decimals of a second
SCHEDULE_NAMES = {
    "1f1b": "1F1B",
    "gpipe": "GPipe",
    "naive": noted("naive"),
    "interleaved": noted("interleaved 1F1B"),
    "zb_h1": "ZB-H1",
    "zb_h2": "ZB-H2",
    "zb_v": "ZB-V",
    "dualpipe": "DualPipe",
    "dualpipe_v": "DualPipeV",
}
SAID = {
    "F": noted("forward"),
    "B": noted("backward"),
    "I": noted("backward, input gradient"),
    "W": noted("backward, weight gradient"),
}


class TimeBar(NamedTuple):
    """A bar from *start* to *end*: *kind* decides its color, *label* is written in it."""

    start: float
    end: float
    kind: str
    label: str
    says: str


@dataclass(frozen=True)
class Lane:
    """A row of the chart, such as a device."""

    name: str
    note: str
    bars: tuple[TimeBar, ...]

    @cached_property
    def texts(self) -> tuple[str, str, str]:
        """The labels of the bars, the letters of their kinds, and their tooltips: the same on every paper."""
        return (
            " ".join([bar.label for bar in self.bars]),
            "".join([bar.kind for bar in self.bars]),
            "|".join([bar.says for bar in self.bars]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A chart over time, from 0 to *end* seconds; *note* explains what it shows.

    An *untimed* one has no times below it.
    """

    title: str
    summary: str
    rows: tuple[Lane, ...]
    end: float
    kinds: tuple[tuple[str, str], ...]
    traced: str = ""  # the label of the bars that are highlighted
    note: str = ""
    untimed: bool = False

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The bars in words: a header, then one row per lane."""
        lines = [(row.name, row.note, " ".join(f"{bar.kind}{bar.label}" for bar in row.bars)) for row in self.rows]
        return ((translate("Device"), translate("Holds"), translate("In order")), *lines)


def schedule_timeline(played: SimulatedSchedule, until: float = math.inf) -> Timeline:
    """The chart of a pipeline schedule, or of its passes that begin before *until*."""
    schedule = played.schedule
    stages = plural("{number} stage", "{number} stages", schedule.devices)
    count = plural("{number} micro-batch", "{number} micro-batches", schedule.microbatches)
    name = translate_known(SCHEDULE_NAMES.get(schedule.name, schedule.name))
    found = {slot.kind for own in played.slots for slot in own}
    return Timeline(
        title=f"{name[:1].upper()}{name[1:]}, {stages}, {count}",
        summary=summary(played),
        rows=tuple(
            Lane(
                translate("GPU {device}", device=device),
                translate("{held:g} held", held=held),
                _pass_bars(played, own, until),
            )
            for device, (own, held) in enumerate(zip(played.slots, played.in_flight, strict=True))
        ),
        end=min(played.makespan, until),
        kinds=tuple((kind, translate(says)) for kind, says in SAID.items() if kind in found),
        note=_note(played, until),
    )


def moment_when(every: Sequence[SimulatedSchedule], most: int) -> float:
    """When *most* passes of all schedules have begun; infinite if there are fewer."""
    starts = sorted(slot.start for played in every for own in played.slots for slot in own)
    return starts[most] if len(starts) > most else math.inf


def _note(played: SimulatedSchedule, until: float) -> str:
    """What is left out, or why the rows begin and end at different times, if steps overlap."""
    if until < played.makespan:
        return translate("Only the beginning is drawn: there are too many passes.")
    if not played.overlaps:
        return ""
    form = noted("First pass to last: {makespan}. Gray at the ends of a row belongs to the previous and the next step.")
    return translate(form, makespan=show(played.makespan, SECOND))


def summary(played: SimulatedSchedule) -> str:
    """Step time, ideal time and both bubbles in words."""
    step, ideal = (show(t, SECOND) for t in (played.step_time, played.ideal_time))
    return translate(
        "step {step}, ideal {ideal}; idle {bubble_ratio} of the ideal time, {bubble_fraction} of the step",
        step=step,
        ideal=ideal,
        bubble_ratio=axes.percent_text(played.bubble_ratio),
        bubble_fraction=axes.percent_text(played.bubble_fraction),
    )


def _pass_bars(played: SimulatedSchedule, own: Sequence[Slot], until: float) -> tuple[TimeBar, ...]:
    """The passes of a device; a letter tells the chunks apart, if it holds several."""
    devices, chunked = played.schedule.devices, played.schedule.depth > played.schedule.devices
    form = translate("{kind} of micro-batch {microbatch}{where}, {start} to {end}")
    said, code = {kind: translate(name) for kind, name in SAID.items()}, language()
    bars = []
    for _, kind, microbatch, stage, start, end in own:
        if start >= until:
            continue
        letter = ascii_lowercase[stage // devices % 26] if chunked else ""
        where = translate(", part {stage} of the model", stage=stage + 1) if chunked else ""
        at, until_then = _time(start, code), _time(end, code)
        says = form.format(kind=said[kind], microbatch=microbatch, where=where, start=at, end=until_then)
        bars.append(TimeBar(start, min(end, until), kind, f"{microbatch}{letter}", says))
    return tuple(bars)


@lru_cache(maxsize=16_384)  # one pass begins where another ends
def _time(seconds: float, code: str) -> str:
    text = show(round(seconds, _NOISE), SECOND)  # sums in different orders differ in their last bits
    return numeral_in(code, text[:])  # a plain text: thousands are put into sentences


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
        return tuple(self._placed_bar(line.y, bar) for line, row in self._rows() for bar in row.bars)

    def _placed_bar(self, y: float, bar: TimeBar) -> PlacedBar:
        long = (bar.end - bar.start) * self.scale
        x, width = round(self.left + bar.start * self.scale, 2), round(max(0.0, long - 1), 2)
        return PlacedBar(x=x, y=y, width=width, bar=bar, labeled=long >= axes.text_width(bar.label) + _AROUND)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The bars of each row."""
        return tuple(self._track(line.y, row) for line, row in self._rows())

    def _rows(self) -> Iterator[tuple[LaneLabel, Lane]]:
        return zip(self.lines, self.timeline.rows, strict=True)

    def _track(self, y: float, lane: Lane) -> Track:
        bars, (names, kinds, says) = lane.bars, lane.texts
        paths: dict[str, list[str]] = {kind: [] for kind in dict.fromkeys(kinds)}
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
            if long > _AROUND and long >= axes.text_width(label) + _AROUND:
                labels.append((round(place + width / 2, 2), kind, label))
        return Track(
            y=y,
            paths=tuple((kind, "".join(pieces)) for kind, pieces in paths.items()),
            labels=tuple(labels),
            traced="".join(traced),
            spans=",".join(spans),
            names=names,
            kinds=kinds,
            says=says,
        )


def timeline_picture(timeline: Timeline, paper: Paper = WIDE) -> TimelinePicture:
    """*timeline* in pixels."""
    left = round(axes.widest([row.name for row in timeline.rows])) + _BESIDE
    notes = [row.note for row in timeline.rows if row.note]
    right = paper.width - (round(axes.widest(notes)) + _BESIDE if notes else 2)
    row = next(height for most, height in _ROWS if len(timeline.rows) <= most)
    if paper is NARROW:
        row = min(row, 20)
    lines = tuple(LaneLabel(_TOP + place * (row + _GAP), one.name, one.note) for place, one in enumerate(timeline.rows))
    foot = _TOP + len(timeline.rows) * (row + _GAP)
    own = legend([(kind, says) for kind, says in timeline.kinds], left, paper.width)
    note = axes.wrap_text(timeline.note, paper.width)
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


_COLORS = {"F": "34", "B": "33", "I": "33", "W": "35"}
_IDLE = "."
_LONGEST_CELL = 6


def gantt(timeline: Timeline, width: int, color: bool = False) -> str:
    """*timeline* in at most *width* columns, to scale.

    A bar without room for its label shows the letter of its kind; one that is narrower than a column is left out.
    """
    names = max(len(row.name) for row in timeline.rows)
    notes = max(len(row.note) for row in timeline.rows)
    room = max(20, width - names - notes - 4)
    scale = min(room / timeline.end, _natural(timeline)) if timeline.end else 1.0
    lines = [f"{row.name:>{names}}  {_text_line(row, timeline.end, scale, color)}  {row.note}" for row in timeline.rows]
    kinds = [f"{_painted(kind, kind, color)} {says}" for kind, says in timeline.kinds]
    return "\n".join([*lines, "", "   ".join([*kinds, translate("{idle} idle", idle=_IDLE)])]) + "\n"


def _natural(timeline: Timeline) -> float:
    """Columns per second at which the shortest bar has room for the longest label."""
    bars = [bar for row in timeline.rows for bar in row.bars if bar.end > bar.start]
    shortest = min(bar.end - bar.start for bar in bars)
    longest = min(_LONGEST_CELL, max(len(bar.label) for bar in bars) + 2)
    return longest / shortest


def _text_line(row: Lane, end: float, scale: float, color: bool) -> str:
    pieces, at = [], 0
    for bar in row.bars:
        start, stop = round(bar.start * scale), round(bar.end * scale)
        pieces.append(_IDLE * (start - at))
        pieces.append(_painted(_timeline_cell(bar.kind, bar.label, stop - start), bar.kind, color))
        at = stop
    return "".join(pieces) + _IDLE * (round(end * scale) - at)


def _timeline_cell(kind: str, label: str, columns: int) -> str:
    text = f"{kind}{label}"
    if columns > len(text):
        return text + "-" * (columns - len(text) - 1) + " "
    return text if columns == len(text) else kind * columns


def _painted(text: str, kind: str, color: bool) -> str:
    return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if color and text else text
