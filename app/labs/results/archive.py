"""Finished runs: those shipped with the project, and those of this machine."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from app.labs.results.analysis import report_of, revise
from app.labs.results.report import Report, read_report
from app.labs.run import LabRun
from app.labs.spec import known_labs
from app.server.db.run_state import RunState

RECORDED = Path(__file__).parents[1] / "recorded"
_RUN = re.compile(r"\d{8}-\d{6}-(?P<lab>.+)-[0-9a-f]+")  # as `new_name` has it
_NEWEST = 200  # runs of a folder that are read


@cache
def shipped_runs() -> tuple[Report, ...]:
    """The runs that are shipped with the project."""
    return tuple(revise(read_report(path.read_bytes())) for path in sorted(RECORDED.glob("*.json")))


def own_runs(folder: Path) -> Sequence[Report]:
    """The finished runs in *folder*, the newest first."""
    found = sorted((path.parent for path in folder.glob("*/outcome.json")), reverse=True)
    reports = (_finished(path) for path in found[:_NEWEST] if _is_known(path))
    return [report for report in reports if report.state is RunState.DONE]


@lru_cache(maxsize=2 * _NEWEST)
def _finished(folder: Path) -> Report:
    return report_of(LabRun(folder)).without_samples()  # a finished run does not change


def _is_known(folder: Path) -> bool:
    found = _RUN.fullmatch(folder.name)
    return found is not None and found["lab"] in known_labs()
