"""Tests of nccl-tests as runs of the lab that measures the same: published ones, or one's own.

So they are found, compared and judged by the rules that hold for runs of labs.
"""

from collections.abc import Mapping
from functools import cache

from app.core.measurements.published import published_tests
from app.core.measurements.reports import CollectiveTest
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import analyze_report
from app.labs.results.match import BORROWING
from app.labs.results.report import Measure, Report
from app.labs.spec import RANKS
from app.server.db.run_state import RunState

_BACKEND = "nccl"
_OPERATIONS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
}


def borrow_run(test: CollectiveTest, name: str, hardware: str = "") -> Report | None:
    """*test* as a run of the lab, called *name*; None if the lab has no such collective."""
    operation = _OPERATIONS.get(test.collective or "")
    if not operation or not test.ranks or not test.rows:
        return None
    sizes = tuple(row.size for row in test.rows)
    report = Report(
        id=name,
        lab=BORROWING,
        state=RunState.DONE,
        cause="",
        seconds=None,
        at="",
        command="",
        ranks=test.ranks,
        world=test.ranks,
        backend=_BACKEND,
        links="real",
        machine=MachineFacts(gpus=(hardware or test.hardware,), nodes=test.hosts),
        versions={},
        checks={},
        measures=tuple(_measure(row.size, row.time) for row in test.rows),
        line=None,
        notes=(),
        given={RANKS: str(test.ranks), "operation": operation},
        nodes=test.hosts or 1,
    )
    return analyze_report(report, test.ranks, {"operation": operation, "sizes": sizes})


def _measure(size: float, time: float) -> Measure:
    return Measure(
        name="time",
        where={"size": size},
        count=1,
        least=time,
        median=time,
        p90=time,
        samples=(time,),
        predicted=None,
        ratio=None,
        right=None,
        derived={},
        held=time,
    )


@cache
def nccl_tests_runs() -> Mapping[str, Report]:
    """The published tests of nccl-tests as runs, by the names of their pages."""
    found = {
        one.name: borrow_run(one.report, one.name, one.hardware)
        for one in published_tests().values()
        if isinstance(one.report, CollectiveTest)
    }
    return {name: report for name, report in found.items() if report}
