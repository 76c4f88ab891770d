"""Labels shared by the lab pages."""

from collections.abc import Mapping
from urllib.parse import urlencode

from app.db.run_state import State
from app.labs.results.report import Held, Report
from app.labs.spec import Lab

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
