"""Labels shared by the pages of labs."""

from collections.abc import Mapping
from urllib.parse import urlencode

from app.labs import Lab, Report
from app.labs.report import Held

KINDS = {
    "real": "real links",
    "emulated": "an emulated link",
    "counted": "counted",
}
LINKS_SAY = {
    "real": "What this machine's links really do, with the spread of the samples.",
    "emulated": "Real messages between real processes, each held for latency + bytes over "
    "bandwidth: the timing of links that this machine need not have.",
    "counted": "Counted, not timed: it must be what the formula says, on any machine.",
}
STATES = {
    "queued": "In the queue",
    "running": "Running",
    "done": "Finished",
    "failed": "Failed",
    "cancelled": "Stopped",
    "timeout": "It took too long",
    "lost": "Lost",
}
HELD: Mapping[Held, str] = {"fastest": "Fastest", "median": "Median"}


def held_over(held: Held, other: str) -> str:
    """The heading of a ratio, which names the two columns that it compares."""
    return f"{HELD[held]} / {other}"


def place_of(report: Report) -> str:
    """The machine of a run, in a few words."""
    gpus = report.machine.get("gpus")
    if report.backend == "nccl" and isinstance(gpus, list) and gpus:
        return f"{report.ranks} × {gpus[0]}"
    return f"{report.machine.get('processor')}, {report.machine.get('cores')} cores"


def guess_label(lab: Lab, measure: str) -> str:
    """What is predicted: the measure, at the last of several values."""
    several = [name for name, one in lab.parameters.items() if one.several]
    at = f", at the last of the {several[0]}" if several else ""
    return f"{lab.measures[measure].says}{at}"


def query_of(given: Mapping[str, str]) -> str:
    """Parameters as the query of an address."""
    return urlencode(dict(given))
