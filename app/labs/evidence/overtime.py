"""Whether a run was too long by its own parameters, by what its ranks have reported."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json

_SURE = 0.9  # of the time left: samples that take more would not have ended


def read_event_lines(folder: Path) -> list[dict[str, Any]]:
    """What the ranks of the run in *folder* have reported, line by line."""
    path = folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [from_json(line) for line in lines if line.endswith(b"\n")]


def time_limit_in(folder: Path) -> float:
    """The seconds that the run in *folder* may take; 0 if that is not known."""
    try:
        return float(from_json((folder / "job.json").read_bytes()).get("seconds", 0.0))
    except FileNotFoundError:
        return 0.0


def overtime_in(events: Sequence[dict[str, Any]], limit: float) -> str:
    """That the last samples which were begun do not fit into the *limit*; empty if they do.

    Their number and length are those that the ranks had told when they began them.
    """
    ready = next((one for one in events if one["kind"] == "ready"), None)
    begun = [one for one in events if one["kind"] in ("timing", "measure")]
    if ready is None or not begun or begun[-1]["kind"] != "timing" or not limit:
        return ""
    last = begun[-1]
    left = limit - (last["at"] - ready["at"])
    needed = last["samples"] * last["each"]
    if needed < _SURE * left:
        return ""
    whole = limit - left + needed
    return (
        f"its parameters take about {whole:.0f} s or more: {last['samples']} samples of "
        f"{last['each']:.3g} s each were begun when {max(0.0, left):.0f} s were left. Take smaller "
        "or fewer sizes"
    )
