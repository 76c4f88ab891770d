"""What pages of labs call things."""

from collections.abc import Mapping
from urllib.parse import urlencode

from app.labs import Lab, Report

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
    "queued": "It waits for its turn",
    "running": "It runs",
    "done": "It is done",
    "failed": "It failed",
    "cancelled": "It was ended",
    "timeout": "It took too long",
    "lost": "It was lost",
}


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
