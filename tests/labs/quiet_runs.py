"""Recorded runs as they would be on a machine that does nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from app.labs.results.analysis import analyze_report, shipped_runs
from app.labs.results.report import Measure, Report
from app.labs.spec import lab_called, read_job

_SPREAD = 1.2  # of the slowest sample over the fastest


@cache
def quiet_run(lab: str, word: str = "") -> Report:
    """The first recorded run of *lab* with *word* in its command: no noise, and no median falls."""
    found = next(one for one in shipped_runs() if one.lab == lab and word in one.command)
    machine = replace(found.machine, load=0.5)
    quiet = replace(found, machine=machine, measures=tuple(_quiet(found.measures)), doubts=())
    job = read_job(lab_called(lab).run_over(found.backend), found.given)
    report = analyze_report(quiet, found.ranks, job.values)
    if report.doubts:
        raise AssertionError(report.doubts)
    return report


def _quiet(measures: Sequence[Measure]) -> list[Measure]:
    found: list[Measure] = []
    for one in measures:
        before = [other.median for other in found if other.name == one.name]
        middle, count = max([one.median, *before]), max(1, one.count - 1)
        steps = (1 / _SPREAD + n / count * (_SPREAD - 1 / _SPREAD) for n in range(one.count))
        found.append(replace(one, median=middle, samples=tuple(middle * step for step in steps)))
    return found
