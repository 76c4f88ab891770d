"""What the pages show of each report."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.charts.axes import percent_text
from app.errors import sentence
from app.formulas.presets import Cluster
from app.measurements.comparing import Comparison, compared
from app.measurements.pieces import median_error
from app.measurements.published import PublishedMeasurement
from app.measurements.reading import Report
from app.measurements.reports import CollectiveTest, SizeRow, TrainingLog, Unread
from app.measurements.trace.report import TraceReport
from app.units import BYTE_PER_SECOND, FLOP_PER_SECOND, RATIO, SECOND, show, show_size
from app.web.explore.figures import FigureView, figure_view
from app.web.frame.rendering import Hyperlink
from app.web.measured.figures import family, figures_of, neighbors
from app.web.measured.predicted import Prediction, predicted
from app.web.measured.trace_view import TraceView, predicted_tolls, trace_view

ADDRESS = "/measured"
NAMES = {
    "all_reduce": "All-reduce", "all_gather": "All-gather", "reduce_scatter": "Reduce-scatter",
    "alltoall": "All-to-all", "alltoallv": "All-to-all, uneven", "sendrecv": "Send and receive",
    "broadcast": "Broadcast", "reduce": "Reduce", "gather": "Gather", "scatter": "Scatter",
    "hypercube": "Hypercube",
}  # fmt: skip
_TABLE = ("Size", "Time", "Algorithm bandwidth", "Bus bandwidth")
_PIECES = ("Sizes", "Alpha", "Bandwidth")
_MOST_ROWS = 200  # of a table on the page


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """A report: what it is, what follows from it, and everything that was read."""

    title: str
    hardware: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    tone: str = "notice"
    headline: str = ""
    says: str = ""
    doubts: tuple[str, ...] = ()
    figures: tuple[FigureView, ...] = ()
    downloads: bool = False
    pieces: tuple[tuple[str, ...], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    beside: tuple[tuple[Hyperlink, str], ...] = ()
    prediction: Prediction | None = None
    problem: str = ""


def view_of(
    report: Report, fields: dict[str, str], cluster: Cluster | None
) -> ReportView | TraceView:
    """The view of a report of a visitor, who may have named a cluster and a layout."""
    match report:
        case CollectiveTest():
            return view_of_test(report, cluster)
        case TrainingLog():
            return view_of_log(report, fields)
        case TraceReport():
            return trace_view(report, report.name, predicted_tolls(fields))
        case Unread(error):
            return ReportView(title="Not read", problem=f"{error}.")  # a file's name stays


def view_of_test(test: CollectiveTest, cluster: Cluster | None, name: str = "") -> ReportView:
    """The view of a test; *name* is that of a published one."""
    comparison, beside = compared(test, cluster), neighbors(test, name)
    base = f"{ADDRESS}/{name}" if name else ADDRESS
    figures = figures_of(test, comparison, beside)
    headline, says, good = _outcome(test, comparison, beside, name)
    return ReportView(
        title=_title(test),
        hardware=test.hardware,
        facts=_facts(test, comparison),
        tone="success" if good else "notice",
        headline=headline,
        says=says,
        doubts=tuple(map(sentence, test.doubts)),
        figures=tuple(figure_view(figure, base, n) for n, figure in enumerate(figures)),
        downloads=bool(name),
        pieces=(_PIECES, *map(_piece_cells, range(len(test.pieces)), [test] * len(test.pieces))),
        rows=(_TABLE, *map(_cells, _some(test.rows))),
        beside=tuple(
            (Hyperlink(f"{ADDRESS}/{one.name}", one.name), _summary(one)) for one in beside
        ),
    )


def _title(test: CollectiveTest) -> str:
    ranks = f" on {test.ranks:,} {'rank' if test.ranks == 1 else 'ranks'}" if test.ranks else ""
    return f"{NAMES.get(test.collective or '', 'A collective')}{ranks}"


def _outcome(
    test: CollectiveTest,
    comparison: Comparison | None,
    beside: Sequence[PublishedMeasurement],
    name: str,
) -> tuple[str, str, bool]:
    """What the test reached, in a few words, what follows, and whether it is good."""
    if not test.rows:
        return "", "", False
    last = max(test.rows, key=lambda row: row.size)
    reached = f"{_speed(last.busbw)} of bus bandwidth at {show_size(last.size)}."
    if comparison is None:
        return reached, _among(test, beside) or ("" if name else _NAME_IT), False
    part = percent_text(comparison.share)
    share = f" {part} of {comparison.which}, {_speed(comparison.wire)}."
    if comparison.cause:
        return reached, f"{share} Likely cause: {comparison.cause}", False
    if comparison.share <= 1:
        return reached, share, True
    expected = test.collective in _REDUCING
    return reached, share + (_ABOVE if expected else _TOO_MUCH), expected


def _among(test: CollectiveTest, beside: Sequence[PublishedMeasurement]) -> str:
    """What others reached on as many ranks of the same GPU, if it is much more."""
    for one in beside:
        other = one.report
        if not isinstance(other, CollectiveTest) or other.ranks != test.ranks:
            continue
        best, own = (max(row.busbw for row in one.rows) for one in (other, test))
        if family(one.hardware) == family(test.hardware) != "" and best > _MUCH * own:
            return f" Others reached {_speed(best)} on as many ranks of the same GPU: {one.name}."
    return ""


_MUCH = 1.5
_NAME_IT = (
    " Name a cluster under “What it ran on” to compare with its links, such as"
    " “DGX-H100 inter_bandwidth=25GB/s”, and compare again."
)
_REDUCING = ("all_reduce", "reduce", "reduce_scatter", "broadcast", "all_gather")
_ABOVE = " A tree, or a switch that computes, sends less than the ring that bus bandwidth assumes."
_TOO_MUCH = " That is more than the wire carries: is the hardware that of another cluster?"


def _facts(test: CollectiveTest, comparison: Comparison | None) -> tuple[tuple[str, str], ...]:
    facts = [("Sizes", f"{len(test.rows)}")]
    if test.pieces:
        facts.append(("Latency", show(test.pieces[0].alpha, SECOND, 3)))
        facts.append(("Bandwidth", _speed(test.pieces[-1].bandwidth)))
        misses = median_error([(row.size, row.time) for row in test.rows], test.pieces)
        facts.append(("Median error of the fit", f"{100 * misses:.1f} %"))
    if comparison and comparison.predicted is not None:
        size = show_size(comparison.row.size)
        facts.append((f"Formula, {size}", show(comparison.predicted, SECOND, 3)))
        facts.append((f"Measured, {size}", show(comparison.row.time, SECOND, 3)))
    return tuple(facts)


def _piece_cells(number: int, test: CollectiveTest) -> tuple[str, ...]:
    piece = test.pieces[number]
    sizes = f"{show_size(piece.first)} to {show_size(piece.last)}"
    return (sizes, show(piece.alpha, SECOND, 3), _speed(piece.bandwidth))


def _some(rows: Sequence[SizeRow]) -> Sequence[SizeRow]:
    stride = -(-len(rows) // _MOST_ROWS)
    return rows[:: stride or 1]


def _cells(row: SizeRow) -> tuple[str, ...]:
    return (show_size(row.size), show(row.time, SECOND, 4), _speed(row.algbw), _speed(row.busbw))


def _speed(value: float) -> str:
    return show(value, BYTE_PER_SECOND, 3)


def _summary(one: PublishedMeasurement) -> str:
    if not isinstance(one.report, CollectiveTest) or not one.report.rows:
        return one.hardware
    best = max(row.busbw for row in one.report.rows)
    return f"{one.hardware}: up to {_speed(best)}"


def view_of_log(log: TrainingLog, fields: dict[str, str]) -> ReportView:
    """The view of a training log, beside the prediction for the layout that *fields* name."""
    facts = [("Steps", f"{log.steps:,}")]
    if log.step_time is not None:
        facts.append(("Step, median", show(log.step_time, SECOND)))
    if log.tokens_per_second_per_gpu is not None:
        facts.append(("Tokens/s per GPU", show(log.tokens_per_second_per_gpu, RATIO)))
    if log.flops_per_gpu is not None:
        facts.append(("Per GPU", show(log.flops_per_gpu, FLOP_PER_SECOND)))
    if log.mfu is not None:
        facts.append(("MFU, dense peak", f"{100 * log.mfu:.1f} %"))
    prediction = predicted(log, fields)
    return ReportView(
        headline=_reached(log),
        says="" if prediction else _NAME_IT_ALL,
        title=f"Training log of {_FAMILIES.get(log.family, log.family)}",
        facts=tuple(facts),
        doubts=tuple(map(sentence, log.doubts)),
        prediction=prediction,
    )


def _reached(log: TrainingLog) -> str:
    """What the log says of a step, in a few words."""
    found = []
    if log.step_time is not None:
        found.append(f"{show(log.step_time, SECOND)} a step")
    if log.mfu is not None:
        found.append(f"{100 * log.mfu:.1f} % of the dense peak")
    elif log.flops_per_gpu is not None:
        found.append(f"{show(log.flops_per_gpu, FLOP_PER_SECOND)} per GPU")
    return f"{', '.join(found)}." if found else ""


_NAME_IT_ALL = (
    " Name the model, the cluster and the layout under “What it ran on”, and compare again, to see"
    " which part of a step takes the time and what to try first."
)


_FAMILIES = {
    "megatron": "Megatron", "deepspeed": "DeepSpeed", "maxtext": "MaxText",
}  # fmt: skip
