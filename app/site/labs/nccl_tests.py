"""Tests of nccl-tests as runs of the lab that measures the same, and beside one of its runs, size by size.

As runs, published tests and one's own are found, compared and judged by the rules that hold for runs of labs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from app.core.errors import input_error
from app.core.measurements.published import published_tests
from app.core.measurements.reports import CollectiveTest
from app.core.translation import noted, translate
from app.core.units import BYTE_PER_SECOND, SECOND, Bytes, Ratio, show, show_size
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import analyze_report
from app.labs.results.report import Measure, Report
from app.labs.spec import RANKS
from app.server.db.run_state import RunState
from app.site.labs.match import BORROWING

_BACKEND = "nccl"
_TIME, _BUS, _OPERATION = "time", "bus bandwidth", "operation"
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
        ranks=test.ranks,
        world=test.ranks,
        backend=_BACKEND,
        links="real",
        machine=MachineFacts(gpus=(hardware or test.hardware,), nodes=test.hosts),
        measures=tuple(Measure(name=_TIME, where={"size": row.size}, samples=(row.time,)) for row in test.rows),
        given={RANKS: str(test.ranks), _OPERATION: operation},
        nodes=test.hosts or 1,
    )
    return analyze_report(report, test.ranks, {"operation": operation, "sizes": sizes})


@cache
def nccl_tests_runs() -> Mapping[str, Report]:
    """The published tests of nccl-tests as runs, by the names of their pages."""
    found = {
        one.name: borrow_run(one.report, one.name, one.hardware)
        for one in published_tests().values()
        if isinstance(one.report, CollectiveTest)
    }
    return {name: report for name, report in found.items() if report}


_SAME = 0.01  # of a size: ranks round theirs to whole numbers of their own
_NEAR = 0.1  # of a time, between two measurements of the same
SIZE_COLUMNS = (
    noted("Size"),
    noted("Time"),
    noted("Time, nccl-tests"),
    noted("Bus bandwidth"),
    noted("Bus bandwidth, nccl-tests"),
    noted("Difference"),
)


@dataclass(frozen=True, slots=True)
class SizePair:
    """Both measurements of a *size*; of the lab, the median without launches."""

    size: Bytes
    ours: Measure
    theirs: Measure

    @property
    def ratio(self) -> Ratio:
        """The time of the lab over that of nccl-tests."""
        return self.ours.median / self.theirs.median

    def cells(self) -> tuple[str, ...]:
        """A row under `SIZE_COLUMNS`."""
        both = (self.ours, self.theirs)
        times = (show(one.median, SECOND, 3) for one in both)
        speeds = (show(one.derived[_BUS].value, BYTE_PER_SECOND, 3) for one in both)
        return (show_size(self.size), *times, *speeds, f"{100 * (self.ratio - 1):+.1f} %")


def compare_sizes(report: Report, test: CollectiveTest) -> Sequence[SizePair]:
    """The sizes that *report* and *test* have in common, the smallest first."""
    theirs = borrow_run(test, "")
    if report.lab != BORROWING or theirs is None:
        raise input_error("only runs of the lab {lab} can be put beside nccl-tests", lab=BORROWING)
    ours, others = _what(report), _what(theirs)
    if ours != others:
        raise input_error("the run is of {ours}, and nccl-tests of {others}", ours=ours, others=others)
    pairs = sorted(_pairs(_times(report), _times(theirs)), key=lambda one: one.size)
    if not pairs:
        raise input_error("the run and nccl-tests have no size in common")
    return pairs


def is_same_test(report: Report, test: CollectiveTest) -> bool:
    """Whether *test* is of the collective of *report*, on as many ranks."""
    theirs = borrow_run(test, "")
    return report.lab == BORROWING and theirs is not None and _what(report) == _what(theirs)


def difference_text(pairs: Sequence[SizePair]) -> str:
    """How far the two are from each other, and where most."""
    ratios = [one.ratio for one in pairs]
    says = translate(
        "At {count} sizes, the lab took {least} to {most} times as long as nccl-tests, and "
        "{median} times at the median.",
        count=len(pairs),
        least=f"{min(ratios):.3g}",
        most=f"{max(ratios):.3g}",
        median=f"{median(ratios):.3g}",
    )
    far = [show_size(one.size) for one in pairs if abs(one.ratio - 1) > _NEAR]
    if not far:
        return says
    return says + translate(" More than {near} apart at {sizes}.", near=f"{100 * _NEAR:.0f} %", sizes=", ".join(far))


def _what(report: Report) -> str:
    return f"{report.given[_OPERATION]}, {report.ranks} ranks"


def _times(report: Report) -> Sequence[Measure]:
    return [one for one in report.measures if one.name == _TIME and _BUS in one.derived]


def _pairs(ours: Sequence[Measure], theirs: Sequence[Measure]) -> Iterator[SizePair]:
    for one in ours:
        size = float(one.where["size"])
        near = [other for other in theirs if abs(float(other.where["size"]) / size - 1) < _SAME]
        if near:
            yield SizePair(size, one, min(near, key=lambda other: other.median))
