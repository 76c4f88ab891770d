"""What the pages show of each report, and a training log beside the prediction for its layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.core.charts.axes import percent_text
from app.core.errors import sentence
from app.core.formulas.presets import Cluster, Gpu, Layout, ModelShape
from app.core.measurements.file_reader import Report
from app.core.measurements.logs.families import family_title
from app.core.measurements.logs.layout import RECORDS, guesses_of, predicted_step, records_of
from app.core.measurements.memory_shortage import ShortageExplanation, explain_shortage, names_of
from app.core.measurements.pieces import ABOVE_THE_WIRE, Comparison, compare_test, median_error
from app.core.measurements.published import PublishedMeasurement
from app.core.measurements.reports import CollectiveTest, MemoryShortage, TrainingLog, UnreadFile
from app.core.measurements.trace.report import TraceReport
from app.core.translation import Numeral, localize, noted, plural, translate, translate_known
from app.core.units import BYTE_PER_SECOND, FLOP_PER_SECOND, RATIO, SECOND, Bytes, show, show_size
from app.course.explorers.states import state_of_records
from app.site.web.explore.figures import FigureView, figure_view
from app.site.web.frame.renderer import Hyperlink
from app.site.web.measured.figures import family, figures_of_test, neighbors
from app.site.web.measured.trace_view import TraceView, predicted_tolls, trace_view
from app.site.web.urls import erratum_url, explorer_url, formula_url

__all__ = ["RECORDS", "StepComparison", "predict_log"]
_FORMULA = "layout.step_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepComparison:
    """The step as predicted and as measured; *problem* if a record cannot be read."""

    parts: tuple[tuple[str, ...], ...] = ()
    says: str = ""
    href: str = ""
    explorer: str = ""  # the address of the layout explorer in that state
    records: str = ""  # as they were given, or as the log says
    guessed: str = ""  # what of the records the log does not print
    differs: str = ""  # what of it the explorer cannot show
    problem: str = ""


def predict_log(log: TrainingLog, fields: Mapping[str, str]) -> StepComparison | None:
    """The prediction for the model, cluster and layout in *fields*, else for those of the log."""
    try:
        found = predicted_step(log, fields)
    except ValueError as error:
        return StepComparison(problem=sentence(localize(str(error))))
    except ArithmeticError:
        return StepComparison(problem=translate("The predicted time is too large for a number."))
    if found is None:
        return None
    given = records_of(log, fields)
    there = state_of_records(found.model, found.cluster, found.layout)
    return StepComparison(
        parts=found.parts,
        says=found.says,
        href=f"{formula_url(_FORMULA)}?{urlencode(given)}",
        explorer=explorer_url("fit", there.state) if there else "",
        records=", ".join(given.values()),
        guessed=", ".join(guesses_of(log, fields)),
        differs=f"It shows {', '.join(there.differs)}." if there and there.differs else "",
    )


_CACHE = "transformer.key_value_cache_bytes"
_NETWORK = 50e9  # bytes per second of a GPU, where nothing is known: one card of 400 Gbit/s
_TENSORS = (noted("Tensor"), noted("Arithmetic"), noted("Agreement"), noted("Model"))
_CURES = (noted("What to change"), noted("If it is"), noted("Saves at most"))
_ACCOUNT = (noted("Memory of the GPU"), noted("Size"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """An error: what it says, three tables with their headers, and where to go on."""

    headline: str = ""
    says: str = ""
    doubts: tuple[str, ...] = ()
    account: tuple[tuple[str, ...], ...] = ()
    tensors: tuple[tuple[str, ...], ...] = ()
    cures: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    onward: Hyperlink | None = None
    assumed: str = ""  # of the state behind the link
    problem: str = ""


def memory_view(found: MemoryShortage, fields: Mapping[str, str]) -> MemoryView:
    """The view of *found*, for the model, cluster and layout that *fields* name."""
    doubts = tuple(map(sentence, found.doubts))
    try:
        told = explain_shortage(found, fields)
    except ValueError as error:
        return MemoryView(doubts=doubts, problem=sentence(localize(str(error))))
    except ArithmeticError:
        return MemoryView(doubts=doubts, problem=translate("A number of the model or the layout is too large."))
    tensors = tuple(
        (localize(one.name), localize(one.arithmetic), localize(one.match), localize(names_of(one)))
        for one in told.candidates
    )
    cures = tuple((localize(one.says), localize(one.of), _size(one.saves)) for one in told.cures)
    view = MemoryView(
        headline=localize(told.headline),
        says=localize(told.says),
        doubts=doubts,
        account=_with_header(_ACCOUNT, tuple((localize(name), _size(size)) for name, size in told.account)),
        tensors=_with_header(_TENSORS, tensors),
        cures=_with_header(_CURES, cures),
        notes=tuple(map(localize, told.notes)),
    )
    if found.tokens:
        return replace(view, onward=Hyperlink(formula_url(_CACHE), translate("Compute the size of a cache")))
    return _with_way_to_fit(view, found, told)


def _with_header(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return (tuple(map(translate, header)), *rows) if rows else ()


def _size(value: Bytes) -> str:
    return show_size(round(value), 4)


def _with_way_to_fit(view: MemoryView, found: MemoryShortage, told: ShortageExplanation) -> MemoryView:
    """*view* with the address of the layout explorer, in the state that is known of the run."""
    link, stage = translate("Will my run fit?"), 3 if found.zero_stage is None else found.zero_stage
    # By default, data parallelism over the ranks that were named, sharded as the traceback says, else over all.
    usual = Layout.of({"data": found.ranks, "zero_stage": stage if found.ranks > 1 else 1})
    layout = told.layout or usual
    if told.model is None:
        missing = translate("Name the model under “What it ran on”, and compare again, to have it filled in.")
        return replace(view, onward=Hyperlink(explorer_url("fit", {}), link), assumed=missing)
    states = (state_of_records(told.model, _machine(gpu, layout.gpus), layout) for gpu in told.gpus)
    there = next(filter(None, states), None)
    if there is None:
        return replace(view, onward=Hyperlink(explorer_url("fit", {}), link))
    values = {"model": told.model.name, "gpus": layout.gpus, "gpu": there.state["gpu"], "sequence": layout.sequence}
    text = translate(
        "Filled in: {model}, {gpus} × {gpu}, {sequence:,} tokens a sequence, ZeRO {stage}. Change what is not so.",
        stage=layout.zero_stage,
        **values,
    )
    return replace(view, onward=Hyperlink(explorer_url("fit", there.state), link), assumed=text)


def _machine(gpu: Gpu, gpus: int) -> Cluster:
    node = next(size for size in (8, 4, 2, 1) if gpus % size == 0)
    return Cluster(
        gpu=gpu, gpus=gpus, gpus_per_node=node, intra_bandwidth=gpu.nvlink or _NETWORK, inter_bandwidth=_NETWORK
    )


ADDRESS = "/measured"
NAMES = {
    "all_reduce": "All-reduce",
    "all_gather": "All-gather",
    "reduce_scatter": "Reduce-scatter",
    "alltoall": "All-to-all",
    "alltoallv": noted("All-to-all, uneven"),
    "sendrecv": noted("Send and receive"),
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "gather": "Gather",
    "scatter": "Scatter",
    "hypercube": "Hypercube",
}
_TABLE = (noted("Size"), noted("Time"), noted("Algorithm bandwidth"), noted("Bus bandwidth"))
_PIECES = (noted("Sizes"), noted("Alpha"), noted("Bandwidth"))
_A_COLLECTIVE = noted("A collective")
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
    erratum: Hyperlink | None = None  # which explains the headline
    doubts: tuple[str, ...] = ()
    figures: tuple[FigureView, ...] = ()
    downloads: bool = False
    pieces: tuple[tuple[str, ...], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    beside: tuple[tuple[Hyperlink, str], ...] = ()
    prediction: StepComparison | None = None
    onward: Hyperlink | None = None  # to what it should be
    memory: MemoryView | None = None
    problem: str = ""


def report_view(report: Report, fields: dict[str, str], cluster: Cluster | None) -> ReportView | TraceView:
    """The view of a report of a visitor, who may have named a cluster and a layout."""
    match report:
        case CollectiveTest():
            return view_of_test(report, cluster)
        case TrainingLog():
            return view_of_log(report, fields)
        case MemoryShortage():
            return view_of_shortage(report, fields)
        case TraceReport():
            return trace_view(report, report.name, predicted_tolls(fields))
        case UnreadFile(error):
            return ReportView(title=translate("Not read"), problem=f"{error}.")  # a file's name stays


def view_of_test(test: CollectiveTest, cluster: Cluster | None, name: str = "") -> ReportView:
    """The view of a test; *name* is that of a published one."""
    comparison, beside = compare_test(test, cluster), neighbors(test, name)
    base = f"{ADDRESS}/{name}" if name else ADDRESS
    figures = figures_of_test(test, comparison, beside)
    headline, says, good = _outcome(test, comparison, beside, name)
    title = translate_known(NAMES.get(test.collective or "", _A_COLLECTIVE))
    if test.ranks:
        title = plural(
            "{name} on {ranks:,} rank", "{name} on {ranks:,} ranks", test.ranks, name=title, ranks=test.ranks
        )
    pieces = [
        (
            translate("{low} to {high}", low=show_size(piece.first), high=show_size(piece.last)),
            show(piece.alpha, SECOND, 3),
            _speed(piece.bandwidth),
        )
        for piece in test.pieces
    ]
    rows = [
        (show_size(row.size), show(row.time, SECOND, 4), _speed(row.algbw), _speed(row.busbw))
        for row in test.rows[:: -(-len(test.rows) // _MOST_ROWS) or 1]
    ]
    return ReportView(
        title=title,
        hardware=test.hardware,
        facts=_facts(test, comparison),
        tone="success" if good else "notice",
        headline=headline,
        says=says,
        erratum=Hyperlink(erratum_url(ABOVE_THE_WIRE), ABOVE_THE_WIRE) if comparison and comparison.above else None,
        doubts=tuple(map(sentence, test.doubts)),
        figures=tuple(figure_view(figure, base, n) for n, figure in enumerate(figures)),
        downloads=bool(name),
        pieces=(tuple(map(translate, _PIECES)), *pieces),
        rows=(tuple(map(translate, _TABLE)), *rows),
        beside=tuple(
            (
                Hyperlink(f"{ADDRESS}/{one.name}", one.name),
                translate(
                    "{hardware}: up to {speed}",
                    hardware=one.hardware,
                    speed=_speed(max(row.busbw for row in one.report.rows)),
                ),
            )
            for one in beside
            if isinstance(one.report, CollectiveTest)
        ),
    )


def _outcome(
    test: CollectiveTest, comparison: Comparison | None, beside: Sequence[PublishedMeasurement], name: str
) -> tuple[str, str, bool]:
    """What the test reached, in a few words, what follows, and whether it is good."""
    if not test.rows:
        return "", "", False
    last = max(test.rows, key=lambda row: row.size)
    reached = translate("{speed} of bus bandwidth at {size}.", speed=_speed(last.busbw), size=show_size(last.size))
    if comparison is None:
        return reached, _among(test, beside) or ("" if name else translate(_NAME_IT)), False
    part = percent_text(comparison.share)
    share = translate(" {part} of {which}, {speed}.", part=part, which=comparison.which, speed=_speed(comparison.wire))
    if comparison.cause:
        cause = translate(" Likely cause: {cause}", cause=comparison.cause)
        return reached, share + cause, False
    if not comparison.above:
        return reached, share, True
    why = translate(" More than the wire: {why}", why=comparison.above)
    return reached, share + why, test.collective in _REDUCING


def _among(test: CollectiveTest, beside: Sequence[PublishedMeasurement]) -> str:
    """What others reached on as many ranks of the same GPU, if it is much more."""
    for one in beside:
        other = one.report
        if not isinstance(other, CollectiveTest) or other.ranks != test.ranks:
            continue
        best, own = (max(row.busbw for row in one.rows) for one in (other, test))
        if family(one.hardware) == family(test.hardware) != "" and best > _MUCH * own:
            return translate(
                " Others reached {speed} on as many ranks of the same GPU: {name}.", speed=_speed(best), name=one.name
            )
    return ""


_MUCH = 1.5
_NAME_IT = noted(
    " Name a cluster under “What it ran on” to compare with its links, such as"
    " “DGX-H100 inter_bandwidth=25GB/s”, and compare again."
)
_REDUCING = ("all_reduce", "reduce", "reduce_scatter", "broadcast", "all_gather")


def _facts(test: CollectiveTest, comparison: Comparison | None) -> tuple[tuple[str, str], ...]:
    facts = [(translate("Sizes"), f"{len(test.rows)}")]
    if test.pieces:
        facts.append((translate("Latency"), show(test.pieces[0].alpha, SECOND, 3)))
        facts.append((translate("Bandwidth"), _speed(test.pieces[-1].bandwidth)))
        misses = median_error([(row.size, row.time) for row in test.rows], test.pieces)
        facts.append((translate("Median error of the fit"), Numeral(f"{100 * misses:.1f} %")))
    if comparison and comparison.predicted is not None:
        size = show_size(comparison.row.size)
        facts.append((translate("Formula, {size}", size=size), show(comparison.predicted, SECOND, 3)))
        if comparison.in_switch is not None:
            facts.append((translate("Formula, sums in the switch"), show(comparison.in_switch, SECOND, 3)))
        facts.append((translate("Measured, {size}", size=size), show(comparison.row.time, SECOND, 3)))
    return tuple(facts)


def _speed(value: float) -> str:
    return show(value, BYTE_PER_SECOND, 3)


def view_of_log(log: TrainingLog, fields: dict[str, str]) -> ReportView:
    """The view of a training log, beside the prediction for the layout that *fields* name."""
    facts = [(translate("Steps"), f"{log.steps:,}")]
    if log.step_time is not None:
        facts.append((translate("Step, median"), show(log.step_time, SECOND)))
    if log.tokens_per_second_per_gpu is not None:
        facts.append((translate("Tokens/s per GPU"), show(log.tokens_per_second_per_gpu, RATIO)))
    if log.flops_per_gpu is not None:
        facts.append((translate("Per GPU"), show(log.flops_per_gpu, FLOP_PER_SECOND)))
    if log.mfu is not None:
        facts.append((translate("MFU, dense peak"), Numeral(f"{100 * log.mfu:.1f} %")))
    prediction = predict_log(log, fields)
    missing = ", ".join(log.missing)
    asks = translate(_NAME_THE_MODEL, printed=log.printed, missing=missing) if missing else translate(_NAME_IT_ALL)
    return ReportView(
        headline=_reached(log),
        says="" if prediction else asks,
        title=translate("Training log of {family}", family=family_title(log.family)),
        facts=tuple(facts),
        doubts=tuple(map(sentence, log.doubts)),
        prediction=prediction,
        onward=None if prediction else Hyperlink(explorer_url("fit", _run_state(log)), translate("What it should be")),
    )


def _run_state(log: TrainingLog) -> Mapping[str, str]:
    """What the log says of the model and the GPUs, as the explorer of a run takes them."""
    state = {"model": log.model} if ModelShape.has(log.model) else {}
    try:
        cluster = Cluster.read(log.cluster) if log.cluster else None
    except ValueError:
        cluster = None
    return state | ({"gpu": cluster.gpu.name, "gpus": str(cluster.gpus)} if cluster else {})


def view_of_shortage(found: MemoryShortage, fields: dict[str, str]) -> ReportView:
    """The view of an out-of-memory error."""
    memory = memory_view(found, fields)
    facts = ((translate("Printed"), translate("{times:,} times", times=found.times)),) if found.times > 1 else ()
    return ReportView(
        title=translate("Out of memory, by {program}", program=found.program),
        headline=memory.headline,
        says=f" {memory.says}" if memory.says else "",
        doubts=memory.doubts,
        memory=memory,
        facts=facts,
    )


def _reached(log: TrainingLog) -> str:
    """What the log says of a step, in a few words."""
    found = []
    if log.step_time is not None:
        found.append(translate("{time} a step", time=show(log.step_time, SECOND)))
    if log.mfu is not None:
        found.append(translate("{share:.1f} % of the dense peak", share=100 * log.mfu))
    elif log.flops_per_gpu is not None:
        found.append(translate("{rate} per GPU", rate=show(log.flops_per_gpu, FLOP_PER_SECOND)))
    return f"{', '.join(found)}." if found else ""


_NAME_IT_ALL = noted(
    " Name the model, the cluster and the layout under “What it ran on”, and compare again, to see"
    " which part of a step takes the time and what to try first."
)


_NAME_THE_MODEL = noted(
    " Name the model under “What it ran on” to see a prediction: the log prints “{printed}”, and a"
    " prediction also takes {missing}."
)
