"""The runs that answer a question, measured here or by nccl-tests, and the numbers in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from app.core.errors import InputError
from app.core.measurements.published import published_tests
from app.core.measurements.reports import CollectiveTest
from app.core.translation import noted, translate
from app.core.units import BYTE_PER_SECOND, SECOND, Bytes, Ratio, show, show_size
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import analyzed
from app.labs.results.report import Held, Measure, Report, held_in
from app.labs.spec import RANKS, LabJob, lab_called
from app.server.db.columns import RunState

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

    Raises:
        InputError: a place cannot be read.
    """
    above, below = _at(report, measured, at), _at(report, measured, over) if over else None
    if not over or above is None:
        return above
    if below is None:
        return None
    if not below.least:
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
    return _derived(fitting[-1], derived) if derived else _plain(report, fitting[-1])


def _fitted(report: Report, name: str) -> MatchedResult | None:
    """What the line says that fits all sizes; None where two or three lines fit better."""
    if report.line is None:
        return None
    value = report.line.latency if name == FITTED[0] else report.line.bandwidth
    fitted = lab_called(report.lab).run_over(report.backend).fits
    count = sum(one.name == fitted for one in report.measures)
    return MatchedResult(value=value, least=value, p90=value, count=count, predicted=None, held="median")


def _derived(one: Measure, name: str) -> MatchedResult:
    value = one.derived[name].value
    return MatchedResult(value=value, least=value, p90=value, count=one.count, predicted=None, held="median")


def _plain(report: Report, one: Measure) -> MatchedResult:
    which = held_in(lab_called(report.lab).run_over(report.backend), one.name)
    return MatchedResult(
        value=one.held, least=one.least, p90=one.p90, count=one.count, predicted=one.predicted, held=which
    )


_BACKEND = "nccl"
_OPERATIONS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
}


def borrowed(test: CollectiveTest, name: str, hardware: str = "") -> Report | None:
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
    return analyzed(report, test.ranks, {"operation": operation, "sizes": sizes})


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
        one.name: borrowed(one.report, one.name, one.hardware)
        for one in published_tests().values()
        if isinstance(one.report, CollectiveTest)
    }
    return {name: report for name, report in found.items() if report}


_TIME, _BUS, _OPERATION = "time", "bus bandwidth", "operation"
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
        speeds = (show(bus_of(one), BYTE_PER_SECOND, 3) for one in both)
        return (show_size(self.size), *times, *speeds, f"{100 * (self.ratio - 1):+.1f} %")


def bus_of(one: Measure) -> float:
    """The bus bandwidth of a measure of the lab."""
    return one.derived[_BUS].value


def compare_sizes(report: Report, test: CollectiveTest) -> Sequence[SizePair]:
    """The sizes that *report* and *test* have in common, the smallest first.

    Raises:
        InputError: they measured different things, or no size in common.
    """
    theirs = borrowed(test, "")
    if report.lab != BORROWING or theirs is None:
        raise InputError(translate("only runs of the lab {lab} can be put beside nccl-tests", lab=BORROWING))
    ours, others = _what(report), _what(theirs)
    if ours != others:
        raise InputError(translate("the run is of {ours}, and nccl-tests of {others}", ours=ours, others=others))
    pairs = sorted(_pairs(_times(report), _times(theirs)), key=lambda one: one.size)
    if not pairs:
        raise InputError(translate("the run and nccl-tests have no size in common"))
    return pairs


def is_same_test(report: Report, test: CollectiveTest) -> bool:
    """Whether *test* is of the collective of *report*, on as many ranks."""
    theirs = borrowed(test, "")
    return report.lab == BORROWING and theirs is not None and _what(report) == _what(theirs)


def latest_of_test(test: CollectiveTest, runs: Iterable[Report]) -> Report | None:
    """The first of *runs* that can be put beside *test*, over NCCL and on the same GPU."""
    for report in runs:
        is_near = any(_is_named(test, str(name)) for name in report.machine.gpus)
        if report.backend == "nccl" and is_near and is_same_test(report, test):
            return report
    return None


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


def _is_named(test: CollectiveTest, gpu: str) -> bool:
    """Whether *gpu* may be that of *test*; nccl-tests prints names as the driver does."""
    return not test.hardware or gpu in test.hardware or test.hardware in gpu
