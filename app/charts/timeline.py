"""Who does what when: rows of bars over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import NamedTuple

from app.charts.axes import percent_text, time_text
from app.simulators.pipeline import Played, Slot
from app.units import SECOND, show

_NOISE = 12  # decimals of a second
SAID = {
    "F": "forward",
    "B": "backward",
    "I": "backward, input gradient",
    "W": "backward, weight gradient",
}


class Bar(NamedTuple):
    """Something that takes a while: *kind* decides its color, *label* stands in it."""

    start: float
    end: float
    kind: str
    label: str
    says: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the chart."""

    name: str
    note: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A chart over time, from 0 to *end* seconds; *note* explains what it shows."""

    title: str
    summary: str
    rows: tuple[Row, ...]
    end: float
    kinds: tuple[tuple[str, str], ...]
    traced: str = ""  # the label of the bars that stand out
    note: str = ""

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The same in words: a heading, then a line a row."""
        lines = [
            (row.name, row.note, " ".join(f"{bar.kind}{bar.label}" for bar in row.bars))
            for row in self.rows
        ]
        return (("Device", "Keeps", "In order"), *lines)


def schedule_timeline(played: Played) -> Timeline:
    """The chart of a pipeline schedule."""
    schedule = played.schedule
    shape = f"{schedule.devices} stages, {schedule.microbatches} micro-batches"
    found = {slot.kind for own in played.slots for slot in own}
    return Timeline(
        f"{schedule.name}, {shape}",
        summary(played),
        tuple(
            Row(f"GPU {device}", f"{kept:g} kept", _bars(played, own))
            for device, (own, kept) in enumerate(zip(played.slots, played.in_flight, strict=True))
        ),
        played.makespan,
        tuple((kind, says) for kind, says in SAID.items() if kind in found),
        note=_note(played),
    )


def _note(played: Played) -> str:
    """Why the rows do not begin and end together, where the next step may begin earlier."""
    if not played.overlaps:
        return ""
    return (
        f"First pass to last: {show(played.makespan, SECOND)}. Gray at the ends of a row belongs "
        "to the steps before and after."
    )


def summary(played: Played) -> str:
    """Times and both bubbles, in a sentence."""
    step, ideal = (show(t, SECOND) for t in (played.step_time, played.ideal_time))
    return (
        f"step {step}, ideal {ideal}; idle {percent_text(played.bubble_ratio)} of the ideal time, "
        f"{percent_text(played.bubble_fraction)} of the step"
    )


def _bars(played: Played, own: Sequence[Slot]) -> tuple[Bar, ...]:
    chunked = played.schedule.depth > played.schedule.devices
    return tuple(
        Bar(slot.start, slot.end, slot.kind, _label(played, slot, chunked), _says(slot, chunked))
        for slot in own
    )


def _label(played: Played, slot: Slot, chunked: bool) -> str:
    """The micro-batch, and with several chunks on a device a letter for which."""
    part = ascii_lowercase[slot.stage // played.schedule.devices % 26] if chunked else ""
    return f"{slot.microbatch}{part}"


def _says(slot: Slot, chunked: bool) -> str:
    where = f", part {slot.stage + 1} of the model" if chunked else ""
    return (
        f"{SAID[slot.kind]} of micro-batch {slot.microbatch}{where}, "
        f"{_time(slot.start)} to {_time(slot.end)}"
    )


def _time(seconds: float) -> str:
    return time_text(round(seconds, _NOISE))  # sums in another order differ in their last bits
