"""Labels shared by the lab pages."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from app.core.charts.axes import Axis
from app.core.translation import noted, plural, translate
from app.core.units import BYTE, Unit, show_size
from app.labs.results.report import Held, Measure, Report
from app.labs.spec import Lab
from app.server.db.run_state import RunState

BACKEND = "backend"  # the field of a form for a run
KINDS = {"real": noted("real links"), "emulated": noted("an emulated link"), "counted": noted("counted")}
LINKS_SAY = {
    "real": noted("This machine's own links, timed, with the spread of the samples."),
    "emulated": noted(
        "Real messages between real processes, each delayed by latency + bytes / "
        "bandwidth: the timing of links that this machine does not have."
    ),
    "counted": noted("Counted, not timed: on any machine the count must equal the formula."),
}
STATES = {
    RunState.QUEUED: noted("Waiting in the queue"),
    RunState.RUNNING: noted("Running"),
    RunState.DONE: noted("Finished"),
    RunState.FAILED: noted("Failed"),
    RunState.CANCELED: noted("Canceled"),
    RunState.TIMEOUT: noted("Timed out"),
    RunState.LOST: noted("Lost"),
}
HELD: Mapping[Held, str] = {"min": noted("Min"), "median": noted("Median")}


CURES = {
    RunState.FAILED: noted(
        "The cause is above, and what the processes printed is below. If the cause is a "
        "parameter, change it; if it is the machine, running it again may be enough."
    ),
    RunState.TIMEOUT: noted(
        "Nothing is wrong with your prediction: the run did not finish in time. Use fewer "
        "or smaller values, or fewer processes."
    ),
    RunState.LOST: noted("Your parameters are fine: start it again."),
    RunState.CANCELED: noted("Your parameters are still there: start it again, or change them."),
}
_CLOSE, _TWICE = 0.05, 2.0
_OFF = {  # by whether it was too high, and far
    (True, True): noted("Your prediction was {times:.2g}× too high."),
    (False, True): noted("Your prediction was {times:.2g}× too low."),
    (True, False): noted("Your prediction was {percent:.0f} % too high."),
    (False, False): noted("Your prediction was {percent:.0f} % too low."),
}


def gap(lab: Lab, one: Measure) -> str:
    """How far a measurement is from its formula; empty if it has none."""
    if not one.ratio or one.ratio < 0:
        return ""
    if one.right:
        return translate("exactly the formula")
    if abs(one.ratio - 1) < _CLOSE:
        return translate("within {percent:g} % of the formula", percent=100 * _CLOSE)
    slower = lab.measures[one.name].unit == "s"
    if slower and one.ratio > 1:
        return translate("{ratio:.2g}× slower than the formula", ratio=one.ratio)
    if slower:
        return translate("{ratio:.2g}× faster than the formula", ratio=1 / one.ratio)
    return translate("{ratio:.2g}× what the formula says", ratio=one.ratio)


def guess_verdict(guess: float, held: float) -> str:
    """How far a prediction was from what was measured."""
    if held == guess:
        return translate("Spot on: your prediction is exactly what was measured.")
    if not (held > 0 and guess > 0):
        return ""
    off = guess / held
    if abs(off - 1) < _CLOSE:
        return translate("Well predicted: within {percent:g} % of what was measured.", percent=100 * _CLOSE)
    form = _OFF[off > 1, off >= _TWICE or off <= 1 / _TWICE]
    return translate(form, times=max(off, 1 / off), percent=100 * abs(off - 1))


def held_over(held: Held, other: str) -> str:
    """The heading of a ratio: the two columns that it compares."""
    return f"{translate(HELD[held])} / {translate(other)}"


def machine_of(report: Report) -> str:
    """The machine of a run, in a few words."""
    machine = report.machine
    if machine.gpus and report.gpus:
        return report.gpus
    return translate("{processor}, {cores} cores", processor=machine.processor, cores=machine.cores)


def size_label(report: Report) -> str:
    """The number of ranks, and of nodes if there are several, in words."""
    ranks = plural("{number} rank", "{number} ranks", report.ranks)
    if report.nodes == 1:
        return ranks
    return translate("{ranks} on {nodes} nodes", ranks=ranks, nodes=report.nodes)


def gpus_in_words(count: int) -> str:
    """*count* GPUs, in words."""
    return plural("{number} GPU", "{number} GPUs", count)


def guess_label(lab: Lab, measure: str) -> str:
    """The label of a prediction: the measure, at the last of several values."""
    several = [name for name, one in lab.parameters.items() if one.several]
    says = lab.measures[measure].says
    if not several:
        return says
    return translate("{says}, at the last of the {values}", says=says, values=several[0])


def query_of(given: Mapping[str, str]) -> str:
    """Parameters as a query string."""
    return urlencode(dict(given))


def axis_of(says: str, unit: Unit, values: Iterable[float], *, log: bool = False) -> Axis:
    """An axis for *values*, with sizes in the unit that they have in texts and tables."""
    binary = unit is BYTE and any("iB" in show_size(value) for value in values)
    return Axis(says, unit, log=log, base=2 if binary else 10)


def measured_in_words(lab: Lab, given: Mapping[str, str]) -> str:
    """What a run measures, and in which unit."""
    try:
        says = lab.measures[lab.asked_of({**lab.starts, **given})]
    except (KeyError, ValueError):  # of a version that had other measures
        return ""
    unit = translate("in {unit}", unit=says.unit) if says.unit else translate("a number without a unit")
    return translate("Measured: {says}, {unit}.", says=says.says, unit=unit)
