"""Find the runs that answer a question, and the numbers in them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from app.core.errors import InputError
from app.labs.results.analysis import report_of
from app.labs.results.report import Held, Report, held_in
from app.labs.run import LabRun
from app.labs.spec import LabJob, known_labs, lab_called
from app.server.db.run_state import RunState

BORROWING = "all-reduce"  # the lab that times collectives as nccl-tests does
FITTED = ("fitted latency", "fitted bandwidth")  # after the measure that the lab's line fits


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedResult:
    """What a run measured at one place, in base units; its spread is from *least* to *p90*.

    *value* is the number to compare with a prediction; *held* says which one it is.
    """

    value: float
    least: float
    p90: float
    count: int
    predicted: float | None
    held: Held


def is_of(report: Report, job: LabJob) -> bool:
    """Whether *report* is of the lab of *job*, with the same parameters.

    Parameters with several values may differ: each value has its own samples. So may the number of
    nodes, unless *job* names one.
    """
    if report.lab != job.lab.name or report.ranks != job.ranks:
        return False
    if job.nodes not in (None, report.nodes) or report.links != job.lab.links:
        return False  # on GPUs, a lab with an emulated link, or one that counts, is another one
    single = {name: one for name, one in job.lab.parameters.items() if not one.several}
    try:
        return all(
            one.read(name, report.given.get(name, str(one.start))) == job.values[name] for name, one in single.items()
        )
    except InputError:
        return False  # recorded by another version


def is_same_job(report: Report, job: LabJob, *, any_ranks: bool) -> bool:
    """Whether *report*, which `borrowed` made, is of what *job* runs, on as many ranks."""
    if report.lab != job.lab.name or not (any_ranks or report.ranks == job.ranks):
        return False
    return job.lab.links == report.links and report.given["operation"] == job.values["operation"]


def find_result(report: Report, measured: str, at: Mapping[str, str], over: Mapping[str, str]) -> MatchedResult | None:
    """The result of *report* for *measured*, MEASURE or MEASURE/DERIVED; None if it has none.

    It is the result at the place *at*, divided by the one at the place *over* if that is given.
    One that is `FITTED` belongs to the line through all sizes.
    """
    above, below = _at(report, measured, at), _at(report, measured, over) if over else None
    if not over or above is None:
        return above
    if below is None or not below.least:
        return None
    ratio = above.value / below.value
    low, high = above.least / below.p90, above.p90 / below.least
    return MatchedResult(value=ratio, least=low, p90=high, count=above.count, predicted=None, held=above.held)


def _at(report: Report, measured: str, at: Mapping[str, str]) -> MatchedResult | None:
    name, _, derived = measured.partition("/")
    lab = lab_called(report.lab).run_over(report.backend)
    if derived in FITTED:
        return _fitted(report, derived) if name == lab.fits else None
    place = {key: parameter.read(key, text) for key, text in at.items() if (parameter := lab.parameter_of(key))}
    places = {key: value[0] if isinstance(value, tuple) else value for key, value in place.items()}
    fitting = [
        one for one in report.measures if one.name == name and all(one.where.get(key) == places[key] for key in places)
    ]
    if not fitting or (derived and derived not in fitting[-1].derived):
        return None
    one = fitting[-1]
    if derived:
        value = one.derived[derived].value
        return MatchedResult(value=value, least=value, p90=value, count=one.count, predicted=None, held="median")
    return MatchedResult(
        value=one.held,
        least=one.least,
        p90=one.p90,
        count=one.count,
        predicted=one.predicted,
        held=held_in(lab, one.name),
    )


def _fitted(report: Report, name: str) -> MatchedResult | None:
    """What the line says that fits all sizes; None where two or three lines fit better."""
    if report.line is None:
        return None
    value = report.line.latency if name == FITTED[0] else report.line.bandwidth
    fitted = lab_called(report.lab).run_over(report.backend).fits
    count = sum(one.name == fitted for one in report.measures)
    return MatchedResult(value=value, least=value, p90=value, count=count, predicted=None, held="median")


_RUN = re.compile(r"\d{8}-\d{6}-(?P<lab>.+)-[0-9a-f]+")  # as `new_name` has it
_NEWEST = 200  # runs of a folder that are read


def own_runs(folder: Path) -> Sequence[Report]:
    """The finished runs in *folder*, the newest first."""
    found = sorted((path.parent for path in folder.glob("*/outcome.json")), reverse=True)
    known = [path for path in found[:_NEWEST] if (run := _RUN.fullmatch(path.name)) and run["lab"] in known_labs()]
    reports = map(_finished, known)
    return [report for report in reports if report.state is RunState.DONE]


@lru_cache(maxsize=2 * _NEWEST)
def _finished(folder: Path) -> Report:
    return report_of(LabRun(folder)).without_samples()  # a finished run does not change
