"""A model laid out over a cluster: memory per GPU, traffic, step time."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from app.core.charts.axes import Axis, Tone, percent_text
from app.core.charts.bars import Bar, Bars, Part
from app.core.formulas.collectives import all_to_all_bytes, ring_all_gather_bytes
from app.core.formulas.layout import fits, projected_utilization, step_time
from app.core.formulas.memory import memory_budget, zero_traffic_bytes
from app.core.formulas.memory.budget import ParameterShare
from app.core.formulas.pipeline import bubble_fraction
from app.core.formulas.presets import MODELS as KNOWN_MODELS
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.formulas.sharding import tensor_all_reduce_size, tensor_traffic_bytes
from app.core.formulas.step.speeds import attention_kernels
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, Slider, in_group
from app.course.explorers.placements import (
    BATCH_CONTROLS,
    CARDS,
    MODELS,
    NETWORK_PER_GPU,
    RACKS,
    Placement,
    degree_controls,
    placement,
)
from app.course.explorers.published_runs import MFU, published_as
from app.course.explorers.words import counted_noun, figure_summary

_ELEMENT = 2.0  # bytes of an activation and of a weight


def traffic_bars(model: ModelShape, cluster: Cluster, layout: Layout) -> Bars:
    """Bytes that a GPU of the first stage sends in a step, for each kind of parallelism."""
    span, bars = 1, []
    for name, degree, sent in _sent(model, layout):
        if degree == 1:
            continue
        span *= degree  # ranks of a group are as close together as the order of the degrees allows
        inside = span <= cluster.gpus_per_node
        tone, link = (Tone.NVLINK, "NVLink") if inside else (Tone.NETWORK, translate("network"))
        bars.append(Bar(translate(name), (Part(tone, link, sent),), f"{show(sent, BYTE)}, {link}"))
    return Bars(
        title=translate("Sent by a GPU in a step"),
        summary="; ".join(f"{bar.name} {bar.note}" for bar in bars) or translate("A single GPU sends nothing"),
        axis=Axis(translate("bytes sent"), BYTE),
        bars=tuple(bars),
    )


def _sent(model: ModelShape, layout: Layout) -> Iterator[tuple[str, int, float]]:
    """Each kind of parallelism, its degree and the bytes that a GPU sends for it."""
    layers, micro = model.layers / layout.pipeline, layout.microbatches
    tokens = layout.micro_batch * layout.sequence // layout.context
    size = tensor_all_reduce_size(1, tokens, model.hidden, _ELEMENT)
    passes = 3 if layout.recompute == "full" else 2
    tensor = tensor_traffic_bytes(size, layers, layout.tensor, micro, passes)
    yield "tensor", layout.tensor, tensor
    yield "context", layout.context, 3 * layers * micro * _gathered(model, layout)
    yield "pipeline", layout.pipeline, 2 * micro * layout.virtual * size / layout.tensor
    mixtures = model.expert_layers / layout.pipeline if model.experts else 0.0
    dispatched = size / layout.tensor * max(1, model.active_experts)
    all_to_all = all_to_all_bytes(dispatched, layout.expert)
    yield "expert", layout.expert, 4 * mixtures * micro * all_to_all
    share = ParameterShare.of(model, layout, 0)
    weights = (share.dense + share.experts) * _ELEMENT
    yield "data", layout.shards, zero_traffic_bytes(weights, layout.shards, layout.zero_stage)


def _gathered(model: ModelShape, layout: Layout) -> float:
    """Bytes that a rank sends to gather the keys and values of a layer."""
    wide = 2 * model.key_value_heads * model.head_size // layout.tensor or 1
    size = layout.micro_batch * layout.sequence * wide * _ELEMENT
    return ring_all_gather_bytes(size, layout.context)


_MEMORY_TONES = {
    noted("weights"): Tone.WEIGHTS,
    noted("gradients"): Tone.GRADIENTS,
    noted("optimizer"): Tone.OPTIMIZER,
    noted("activations"): Tone.ACTIVATIONS,
    noted("buffers"): Tone.BUFFERS,
}  # buffers: logits, what a backward pass holds for a moment, workspaces
_TIME_TONES = {
    "products": Tone.COMPUTE,
    "attention": Tone.COMPUTE,
    "element_wise": Tone.COMPUTE,
    "head": Tone.COMPUTE,
    "recompute": Tone.RECOMPUTE,
    "launches": Tone.IDLE,
    "bubble": Tone.IDLE,
    "skew": Tone.IDLE,
    "optimizer": Tone.OPTIMIZER,
}  # the others are communication
PARTS = (  # of a step, and the kinds of parallelism that communicate
    noted("products"),
    noted("attention"),
    noted("element-wise"),
    noted("head"),
    noted("recompute"),
    noted("launches"),
    noted("bubble"),
    noted("skew"),
    noted("optimizer"),
    noted("tensor"),
    noted("pipeline"),
    noted("context"),
    noted("expert"),
    noted("data"),
    noted("messages"),
)
MORE_CARDS = (
    *("B300", *RACKS, "GH200", "H100 NVL", "H100 PCIe", "H20", "MI355X", "MI350X", "MI325X", "MI300X", "MI250X GCD"),
    *("A800", "A100 40GB", "A100 PCIe 80GB", "A100 PCIe 40GB", "V100", "V100 SXM2 16GB", "V100 PCIe"),
    *("RTX PRO 6000", "RTX 5090", "RTX 4090", "RTX 3090", "RTX 6000 Ada", "RTX A6000", "L40S", "L40", "L4"),
    *("A40", "A10G", "A10", "T4", "GB10"),
)
# Presets in the list after those that are asked for most; a shape is there once.
MORE_MODELS = tuple(
    name
    for name, shape in KNOWN_MODELS.items()
    if name == shape.name and name not in (*MODELS, "Llama-3.1-8B", "Llama-3.1-70B")
)
_NEIGHBORS = 3  # faster layouts that are named


def _explored(values: Values) -> ExplorerOutput:
    placed = placement(values)
    model, cluster, layout = placed.model, placed.cluster, placed.layout
    memory, times = placed.memory, step_time(model, cluster, layout)
    room, used = cluster.gpu.memory, projected_utilization(model, cluster, layout)
    largest = max(_MEMORY_TONES, key=lambda part: float(getattr(memory, part)))
    verdict = (
        translate("It **fits**, with {room} to spare.", room=show(room - memory.total, BYTE))
        if fits(model, cluster, layout)
        else translate(
            "It does **not fit**: {total} on a card of {room}, most of it {largest}.",
            total=show(memory.total, BYTE),
            room=show(room, BYTE),
            largest=translate(largest),
        )
    )
    says = translate(
        "{data_parallel_rank}, {micro_batch} each. {verdict} A step of {tokens:,} "
        "tokens takes {total}, **{used}** of the peak.{better}\n\n[How far to trust "
        "this](/trust): the same formulas against published runs.",
        data_parallel_rank=counted_noun(layout.data, "data-parallel rank"),
        micro_batch=counted_noun(layout.microbatches, "micro-batch", "micro-batches"),
        verdict=verdict,
        tokens=layout.tokens,
        total=show(times.total, SECOND),
        used=percent_text(used),
        better=_better(model, cluster, layout),
    )
    facts = (
        KeyFigure.plain(noted("data parallel"), layout.data),
        KeyFigure.quantity(noted("memory per GPU"), memory.total, BYTE),
        KeyFigure.quantity(noted("step"), times.total, SECOND),
        KeyFigure.share(noted("projected MFU"), used),
        KeyFigure.share(noted("bubble"), bubble_fraction(layout.pipeline, layout.microbatches, layout.virtual)),
        *_measured(placed),
    )
    figures = (
        memory_bars(model, cluster, layout, figure_summary(verdict)),
        _time_bars(model, cluster, layout),
        traffic_bars(model, cluster, layout),
    )
    return ExplorerOutput(says, facts, figures, notice=placed.notice)


def _measured(placed: Placement) -> Iterator[KeyFigure]:
    """The utilization that was measured with this very layout."""
    run = published_as(placed)
    for printed in run.printed if run else ():
        if printed.measure is MFU:
            yield KeyFigure.share(noted("measured, Llama 3 paper"), printed.value)


def memory_bars(model: ModelShape, cluster: Cluster, layout: Layout, summary: str) -> Bars:
    """The memory of the fullest GPU, against what there is."""
    kernels = attention_kernels(model, cluster.gpu)
    memory, room = memory_budget(model, layout, kernels=kernels), cluster.gpu.memory
    parts = tuple(Part(tone, name, float(getattr(memory, name))) for name, tone in _MEMORY_TONES.items())
    return Bars(
        title=translate("Memory of the fullest GPU"),
        summary=summary,
        axis=Axis(translate("bytes"), BYTE),
        bars=(Bar(translate("memory"), parts),),
        limit=room,
        limit_says=translate("{room} of memory", room=show(room, BYTE)),
    )


def _time_bars(model: ModelShape, cluster: Cluster, layout: Layout) -> Bars:
    times = step_time(model, cluster, layout)
    spent = {name: float(getattr(times, name)) for name in times._fields}
    return Bars(
        title=translate("Time of a step"),
        summary=translate("Where the time of a step goes"),
        axis=Axis(translate("time"), SECOND),
        bars=tuple(
            Bar(_words(name), (Part(_TIME_TONES.get(name, Tone.COMMUNICATION), _words(name), time),))
            for name, time in spent.items()
            if time
        ),
    )


def _words(part: str) -> str:
    return translate(part.replace("_", "-"))


def _better(model: ModelShape, cluster: Cluster, layout: Layout) -> str:
    """The best neighbors that fit, as a sentence."""
    own = projected_utilization(model, cluster, layout)
    found = []
    for name, other in _neighbors(layout):
        try:
            if fits(model, cluster, other):
                found.append((projected_utilization(model, cluster, other), name))
        except ValueError:
            continue
    found.sort(reverse=True)
    best = [f"{name} ({percent_text(used)})" for used, name in found[:_NEIGHBORS] if used > own]
    if not best:
        return translate(" No neighboring layout that fits is faster.")
    return translate(" Faster neighbors: {best}.", best=", ".join(best))


def _neighbors(layout: Layout) -> Iterator[tuple[str, Layout]]:
    """Layouts with one degree doubled or halved; data parallelism makes up for it."""
    sequences = layout.data * layout.microbatches
    for name in ("tensor", "pipeline", "context"):
        degree = getattr(layout, name)
        for changed in (degree * 2, degree // 2):
            copies = layout.data * degree
            if changed and copies % changed == 0 and sequences % (copies // changed) == 0:
                data = copies // changed
                degrees = {name: changed, "data": data, "microbatches": sequences // data}
                with suppress(ValueError):  # chunks that interleave go into fewer micro-batches
                    yield f"{translate(name)} {changed}", replace(layout, **degrees)


def _not_the_utilization(values: Values) -> Iterator[tuple[float, str]]:
    """Shares that are taken for the projected utilization."""
    placed = placement(values)
    layout = placed.layout
    bubble = bubble_fraction(layout.pipeline, layout.microbatches, layout.virtual)
    yield (
        1 - bubble,
        translate(
            "That counts the bubble alone. Communication that is not hidden and recomputation take "
            "time as well, and kernels do not reach the peak."
        ),
    )
    yield bubble, translate("That is the bubble: the share of the step in which a GPU waits.")
    times = step_time(placed.model, placed.cluster, layout)
    yield (
        times.compute / times.total,
        translate("That is the share of the step that computes; while it computes, a GPU does not reach its peak."),
    )


CONFIGURATOR = Explorer(
    name="layout",
    title=noted("Which parallel layout is fastest?"),
    summary=noted("Model, cluster and degrees: memory per GPU, step time, traffic, and faster neighbors."),
    question=noted("Llama 3.1 405B on 16,384 H100s, tensor 8, pipeline 16, 8 chunks: what MFU does it reach?"),
    predicts=noted("projected MFU"),
    chapter="meshes",
    formulas=("layout.step_time", "layout.projected_utilization", "layout.fits", "memory.memory_budget"),
    controls=(
        *in_group(
            noted("Model and machine"),
            Select("model", noted("Model"), {name: name for name in (*MODELS, *MORE_MODELS)}),
            Select("gpu", noted("GPU"), {name: name for name in (*CARDS, *MORE_CARDS)}),
            Slider("gpus", noted("GPUs"), (1, 16384), default=16384, doubles=True),
            NETWORK_PER_GPU,
        ),
        *degree_controls(32),
        *BATCH_CONTROLS,
    ),
    explore=_explored,
    asks=noted("What MFU does the layout reach?"),
    foreseen=ExplainedMistakes(others=_not_the_utilization),
    part_of="fit",
)
