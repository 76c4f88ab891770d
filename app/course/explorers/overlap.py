"""Communication overlapped with computation."""

from collections.abc import Iterable, Iterator

from app.core.charts.axes import percent_text
from app.core.charts.timeline import Lane, TimeBar, Timeline
from app.core.formulas.overlap import exposed_gather_time
from app.core.simulators.links import Span, buckets, gathers
from app.core.translation import noted, translate
from app.core.units import SECOND, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, Slider, log_slider
from app.course.explorers.words import counted_noun, relative_text, remainder

_BACKWARD = (("B", noted("backward pass of a layer")), ("C", noted("all-reduce of a bucket's gradients")))
_FORWARD = (("F", noted("forward pass of a layer")), ("C", noted("all-gather of a layer's weights")))


_SENT = {"gradients": noted("gradients, in buckets"), "weights": noted("weights, prefetched")}


def _overlap(values: Values) -> ExplorerOutput:
    return _gradients(values) if values.word("what") == "gradients" else _weights(values)


def _gradients(values: Values) -> ExplorerOutput:
    layers, bucket = values.count("layers"), values.count("bucket")
    compute, message = values.number("compute"), values.number("reduce")
    latency = values.number("latency")
    asked, bucket = bucket, min(bucket, layers)
    sent = buckets(layers, bucket, compute, message, latency)
    backward, talk = layers * compute, sum(end - start for start, end in sent)
    names = [
        f"{layers - at}" if bucket == 1 else f"{max(1, layers - at - bucket + 1)}–{layers - at}"
        for at in range(0, layers, bucket)
    ]
    spans = [(at * compute, (at + 1) * compute) for at in range(layers)]
    works = _bars("B", spans, [str(layers - at) for at in range(layers)], translate("backward pass of layer"))
    reduced = translate("all-reduce of layers") if bucket > 1 else translate("all-reduce of layer")
    sends = _bars("C", sent, names, reduced)
    exposed = remainder(sent[-1][1], backward)
    says = _overlap_sentence(exposed, talk, backward, noted("backward")) + (
        translate("A bucket takes less time to reduce than the next one to compute, so only the last one is exposed.")
        if latency + bucket * message <= bucket * compute
        else translate("A bucket takes longer to reduce than the next one to compute, so buckets queue up.")
    )
    if asked > layers:
        says += translate(" There are {layer}, so a single bucket holds them all.", layer=counted_noun(layers, "layer"))
    rows = (Lane(translate("compute"), "", works), Lane(translate("network"), "", sends))
    return _shown_overlap(says, translate("A backward pass"), rows, sent[-1][1], exposed, talk, backward, _BACKWARD)


def _weights(values: Values) -> ExplorerOutput:
    layers, ahead = values.count("layers"), values.count("ahead")
    compute, gather = values.number("compute"), values.number("reduce") + values.number("latency")
    fetched, worked = gathers(layers, ahead, compute, gather)
    forward, talk = layers * compute, layers * gather
    exposed = remainder(worked[-1][1], forward)
    names = [str(layer + 1) for layer in range(layers)]
    works = _bars("F", worked, names, translate("forward pass of layer"))
    sends = _bars("C", fetched, names, translate("all-gather of layer"))
    steady = exposed_gather_time(gather, compute)
    says = _overlap_sentence(exposed, talk, forward, noted("forward")) + (
        translate("Nothing is prefetched, so every all-gather is exposed.")
        if ahead == 0
        else translate(
            "Prefetching {ahead}, {steady} of each later all-gather is exposed.",
            ahead=ahead,
            steady=show(steady, SECOND),
        )
    )
    rows = (Lane(translate("compute"), "", works), Lane(translate("network"), "", sends))
    end = worked[-1][1]
    return _shown_overlap(says, translate("A forward pass"), rows, end, exposed, talk, forward, _FORWARD)


def _overlap_sentence(exposed: float, talk: float, work: float, which: str) -> str:
    hidden, shown, pass_of = percent_text(1 - exposed / talk), show(exposed, SECOND), translate(which)
    if exposed > work:
        return translate(
            "**{exposed}** of the communication is hidden; {exposed_2} are exposed, {exposed_3} the {which} pass. ",
            exposed=hidden,
            exposed_2=shown,
            exposed_3=relative_text(exposed / work),
            which=pass_of,
        )
    return translate(
        "**{exposed}** of the communication is hidden; {exposed_2} are exposed, {exposed_3} of the {which} pass. ",
        exposed=hidden,
        exposed_2=shown,
        exposed_3=percent_text(exposed / work),
        which=pass_of,
    )


def _shown_overlap(
    says: str,
    title: str,
    rows: tuple[Lane, ...],
    end: float,
    exposed: float,
    talk: float,
    work: float,
    kinds: tuple[tuple[str, str], ...],
) -> ExplorerOutput:
    hidden = 1 - exposed / talk
    facts = (
        KeyFigure.share(noted("hidden"), hidden),
        KeyFigure.quantity(noted("exposed"), exposed, SECOND),
        KeyFigure.relative(noted("added to the pass"), exposed / work),
        KeyFigure.quantity(noted("without overlap"), talk, SECOND),
    )
    summary = translate(
        "{hidden} hidden, {exposed} exposed", hidden=percent_text(hidden), exposed=show(exposed, SECOND)
    )
    said = tuple((kind, translate(name)) for kind, name in kinds)
    timeline = Timeline(title=title, summary=summary, rows=rows, end=end, kinds=said)
    return ExplorerOutput(says, facts, (timeline,))


def _bars(kind: str, spans: Iterable[Span], names: list[str], what: str) -> tuple[TimeBar, ...]:
    return tuple(
        TimeBar(
            start,
            end,
            kind,
            name,
            translate(
                "{what} {name}, {start} to {end}",
                what=what,
                name=name,
                start=show(start, SECOND),
                end=show(end, SECOND),
            ),
        )
        for (start, end), name in zip(spans, names, strict=True)
    )


def _not_hidden(values: Values) -> Iterator[tuple[float, str]]:
    """Shares that are taken for that of the hidden communication."""
    compute, message = values.number("compute"), values.number("reduce")
    if message > compute:
        yield (
            compute / message,
            translate(
                "That is what one layer hides of the next one's communication. Messages queue up, "
                "and the last one has nothing to hide behind."
            ),
        )
    yield 0.0, translate("Each message but the last can run while the next layer is computed.")


OVERLAP = Explorer(
    name="overlap",
    title=noted("How much communication is hidden?"),
    summary=noted("Gradient buckets in a backward pass, or weights prefetched in a forward pass."),
    question=noted("16 layers of 5 ms, 6 ms of all-reduce each: what share of communication is hidden?"),
    predicts=noted("hidden"),
    chapter="overlap",
    formulas=("overlap.overlapped_fraction", "overlap.exposed_communication_time", "overlap.exposed_gather_time"),
    controls=(
        Select("what", noted("What is sent"), _SENT),
        Slider("layers", noted("Layers"), (2, 128), default=16),
        log_slider("compute", noted("Computation per layer"), (0.1, 100), 5, "ms"),
        log_slider("reduce", noted("Communication per layer"), (0.1, 100), 6, "ms"),
        Slider("bucket", noted("Layers per bucket (gradients)"), (1, 128), default=1, log=True),
        Slider("ahead", noted("Layers prefetched (weights)"), (0, 4), default=1),
        Slider("latency", noted("Latency per collective"), (0, 20), default=0, unit="ms", whole=False),
    ),
    explore=_overlap,
    asks=noted("What share of the communication is hidden?"),
    foreseen=ExplainedMistakes(exercise="overlap/buckets", answer="hidden", others=_not_hidden),
)
