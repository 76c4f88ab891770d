"""The comb of one step: a picture by stream, and the same as a table."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.measurements.trace.activity import COMMUNICATION, COMPUTE, COPY
from app.core.measurements.trace.comb import Comb, CombEvent
from app.core.translation import Numeral, noted, plural, translate
from app.core.units import SECOND, show, show_size

WIDTH = 10_000  # units of the picture for the whole step
LANE, GAP = 26, 6  # pixels
_NARROWEST = 6.0  # units: a kernel that is shorter is drawn so wide
_TICKS = 4
_MICRO = 1e-6  # what the table counts in
DOES = {COMPUTE: noted("computes"), COMMUNICATION: noted("communicates"), COPY: noted("copies")}
_CLASSES = {COMPUTE: "compute", COMMUNICATION: "communication", COPY: "copies"}
_INSET = {COMPUTE: 0, COMMUNICATION: 4, COPY: 8}  # pixels: sorts differ in height, too


@dataclass(frozen=True, slots=True)
class LaneView:
    """A stream: its name, and a path for each sort of work."""

    name: str
    y: int
    paths: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A kernel or copy as a row of the table; times in microseconds."""

    begin: str
    time: str
    stream: str
    does: str
    name: str
    size: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CombView:
    """One step."""

    title: str
    height: int
    span: float  # microseconds
    lanes: tuple[LaneView, ...]
    ticks: tuple[str, ...]
    rows: tuple[WorkRow, ...]
    left_out: str


def comb_view(comb: Comb) -> CombView:
    """The view of *comb*."""
    step = translate("Step {step}", step=comb.step) if comb.step else translate("Everything")
    left_out = ""
    if comb.left_out:
        left_out = translate(
            "{left_out:,} shorter ones are left out; together they take {left_out_time}.",
            left_out=comb.left_out,
            left_out_time=show(comb.left_out_time, SECOND, 3),
        )
    return CombView(
        title=translate(
            "{step}: {span} on {count}",
            step=step,
            span=show(comb.span, SECOND),
            count=plural("{number} stream", "{number} streams", len(comb.streams)),
        ),
        height=len(comb.streams) * (LANE + GAP),
        span=comb.span / _MICRO,
        lanes=tuple(_lane(comb, number) for number in range(len(comb.streams))),
        ticks=tuple(show(comb.span * tick / _TICKS, SECOND, 3) if tick else "0" for tick in range(_TICKS + 1)),
        rows=tuple(_comb_view_row(comb, work) for work in comb.works),
        left_out=left_out,
    )


def _lane(comb: Comb, number: int) -> LaneView:
    y = number * (LANE + GAP)
    paths = ((name, "".join(_boxes(comb, number, sort, y))) for sort, name in _CLASSES.items())
    return LaneView(
        translate("stream {streams}", streams=comb.streams[number]),
        y,
        tuple((name, path) for name, path in paths if path),
    )


def _boxes(comb: Comb, lane: int, sort: int, y: int) -> Iterator[str]:
    top, height = y + _INSET[sort], LANE - _INSET[sort]
    for work in comb.works:
        if work.stream == lane and work.sort == sort:
            scale = WIDTH / (comb.span or 1.0)
            x, width = scale * work.begin, max(scale * work.time, _NARROWEST)
            yield f"M{x:.1f} {top}h{width:.1f}v{height}h-{width:.1f}z"


def _comb_view_row(comb: Comb, work: CombEvent) -> WorkRow:
    return WorkRow(
        begin=Numeral(f"{work.begin / _MICRO:.1f}"),
        time=Numeral(f"{work.time / _MICRO:.1f}"),
        stream=comb.streams[work.stream],
        does=translate(DOES[work.sort]),
        name=comb.names[work.name],
        size=show_size(work.size) if work.size else "",
    )
