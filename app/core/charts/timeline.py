"""A Gantt chart: rows of bars over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import NamedTuple

from app.core.charts.axes import percent_text
from app.core.simulators.pipeline import Played, Slot
from app.core.translation import noted, plural, translate, translate_known
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


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the chart, such as a device."""

    name: str
    note: str
    bars: tuple[TimeBar, ...]


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


def schedule_timeline(played: Played, until: float = math.inf) -> Timeline:
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
                _bars(played, own, until),
            )
            for device, (own, held) in enumerate(zip(played.slots, played.in_flight, strict=True))
        ),
        end=min(played.makespan, until),
        kinds=tuple((kind, translate(says)) for kind, says in SAID.items() if kind in found),
        note=_note(played, until),
    )


def moment_when(every: Sequence[Played], most: int) -> float:
    """When *most* passes of all schedules have begun; infinite if there are fewer."""
    starts = sorted(slot.start for played in every for own in played.slots for slot in own)
    return starts[most] if len(starts) > most else math.inf


def _note(played: Played, until: float) -> str:
    """What is left out, or why the rows begin and end at different times, if steps overlap."""
    if until < played.makespan:
        return translate("Only the beginning is drawn: there are too many passes.")
    if not played.overlaps:
        return ""
    return translate(
        "First pass to last: {makespan}. Gray at the ends of a row belongs to the previous and the next step.",
        makespan=show(played.makespan, SECOND),
    )


def summary(played: Played) -> str:
    """Step time, ideal time and both bubbles in words."""
    step, ideal = (show(t, SECOND) for t in (played.step_time, played.ideal_time))
    return translate(
        "step {step}, ideal {ideal}; idle {bubble_ratio} of the ideal time, {bubble_fraction} of the step",
        step=step,
        ideal=ideal,
        bubble_ratio=percent_text(played.bubble_ratio),
        bubble_fraction=percent_text(played.bubble_fraction),
    )


def _bars(played: Played, own: Sequence[Slot], until: float) -> tuple[TimeBar, ...]:
    """The passes of a device; a letter tells the chunks apart, if it holds several."""
    devices, chunked = played.schedule.devices, played.schedule.depth > played.schedule.devices
    form = translate("{kind} of micro-batch {microbatch}{where}, {start} to {end}")
    said = {kind: translate(name) for kind, name in SAID.items()}
    bars = []
    for _, kind, microbatch, stage, start, end in own:
        if start >= until:
            continue
        letter = ascii_lowercase[stage // devices % 26] if chunked else ""
        where = translate(", part {stage} of the model", stage=stage + 1) if chunked else ""
        says = form.format(kind=said[kind], microbatch=microbatch, where=where, start=_time(start), end=_time(end))
        bars.append(TimeBar(start, min(end, until), kind, f"{microbatch}{letter}", says))
    return tuple(bars)


@lru_cache(maxsize=16_384)  # one pass begins where another ends
def _time(seconds: float) -> str:
    return show(round(seconds, _NOISE), SECOND)  # sums in different orders differ in their last bits
