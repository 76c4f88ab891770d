"""Labels shared by the lab pages."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from app.charts.axes import Axis
from app.db.run_state import State
from app.labs.results.report import Held, Measure, Report
from app.labs.spec import Lab
from app.units import BYTE, Unit, show_size

KINDS = {
    "real": "real links",
    "emulated": "an emulated link",
    "counted": "counted",
}
LINKS_SAY = {
    "real": "This machine's own links, timed, with the spread of the samples.",
    "emulated": "Real messages between real processes, each delayed by latency + bytes / "
    "bandwidth: the timing of links that this machine does not have.",
    "counted": "Counted, not timed: on any machine the count must equal the formula.",
}
STATES = {
    State.QUEUED: "Waiting in the queue",
    State.RUNNING: "Running",
    State.DONE: "Finished",
    State.FAILED: "Failed",
    State.CANCELED: "Canceled",
    State.TIMEOUT: "Timed out",
    State.LOST: "Lost",
}
HELD: Mapping[Held, str] = {"min": "Min", "median": "Median"}


CURES = {
    State.FAILED: "The cause is above, and what the processes printed is below. If the cause is a "
    "parameter, change it; if it is the machine, running it again may be enough.",
    State.TIMEOUT: "Nothing is wrong with your prediction: the run did not finish in time. Use "
    "fewer or smaller values, or fewer processes.",
    State.LOST: "Your parameters are fine: start it again.",
    State.CANCELED: "Your parameters are still there: start it again, or change them.",
}
_CLOSE, _TWICE = 0.05, 2.0


def gap(lab: Lab, one: Measure) -> str:
    """How far a measurement is from its formula; empty if it has none."""
    if not one.ratio or one.ratio < 0:
        return ""
    if one.right:
        return "exactly the formula"
    if abs(one.ratio - 1) < _CLOSE:
        return f"within {100 * _CLOSE:g} % of the formula"
    slower = lab.measures[one.name].unit == "s"
    if slower and one.ratio > 1:
        return f"{one.ratio:.2g}× slower than the formula"
    if slower:
        return f"{1 / one.ratio:.2g}× faster than the formula"
    return f"{one.ratio:.2g}× what the formula says"


def guess_verdict(guess: float, held: float) -> str:
    """How far a prediction was from what was measured."""
    if held == guess:
        return "Spot on: your prediction is exactly what was measured."
    if not (held > 0 and guess > 0):
        return ""
    off = guess / held
    if abs(off - 1) < _CLOSE:
        return f"Well predicted: within {100 * _CLOSE:g} % of what was measured."
    if off >= _TWICE or off <= 1 / _TWICE:
        return f"Your prediction was {max(off, 1 / off):.2g}× too {'high' if off > 1 else 'low'}."
    return f"Your prediction was {100 * abs(off - 1):.0f} % too {'high' if off > 1 else 'low'}."


def held_over(held: Held, other: str) -> str:
    """The heading of a ratio: the two columns that it compares."""
    return f"{HELD[held]} / {other}"


def place_of(report: Report) -> str:
    """The machine of a run, in a few words."""
    machine = report.machine
    if machine.gpus and report.gpus:
        return report.gpus
    return f"{machine.processor}, {machine.cores} cores"


def gpus_in_words(count: int) -> str:
    """*count* GPUs, in words."""
    return f"{count} {'GPU' if count == 1 else 'GPUs'}"


def guess_label(lab: Lab, measure: str) -> str:
    """The label of a prediction: the measure, at the last of several values."""
    several = [name for name, one in lab.parameters.items() if one.several]
    at = f", at the last of the {several[0]}" if several else ""
    return f"{lab.measures[measure].says}{at}"


def query_of(given: Mapping[str, str]) -> str:
    """Parameters as a query string."""
    return urlencode(dict(given))


def axis_of(says: str, unit: Unit, values: Iterable[float], *, log: bool = False) -> Axis:
    """An axis for *values*, with sizes in the unit that they have in texts and tables."""
    binary = unit is BYTE and any("iB" in show_size(value) for value in values)
    return Axis(says, unit, log=log, base=2 if binary else 10)
