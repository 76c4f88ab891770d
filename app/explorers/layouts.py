"""A model laid out over a cluster: what it keeps, what it sends, how long a step takes."""

from collections.abc import Iterator
from dataclasses import replace

from app.charts.axes import Axis, percent_text
from app.charts.bars import Bar, Bars, Part
from app.explorers.base import Explored, Explorer, Values, plain, quantity, share
from app.explorers.controls import Select, Slider
from app.formulas.checks import Recompute, ZeroStage
from app.formulas.collectives import all_to_all_bytes, ring_all_gather_bytes
from app.formulas.layout import fits, projected_utilization, step_time
from app.formulas.memory import memory_budget, zero_traffic_bytes
from app.formulas.memory.placing import ParameterShare
from app.formulas.pipeline import bubble_fraction
from app.formulas.presets import GPUS, Cluster, Layout, ModelShape
from app.formulas.sharding import tensor_all_reduce_size, tensor_traffic_bytes
from app.units import BYTE, SECOND, show

_MODELS = (
    "Llama-3.1-405B", "Llama-3-8B", "Llama-3-70B", "Llama-2-7B", "Mixtral-8x7B", "DeepSeek-V3",
)  # fmt: skip
_NODE = 8
_ELEMENT = 2  # bytes of an activation and of a weight
_CARDS = ("H100", "A100", "B200")
_STAGES: tuple[ZeroStage, ...] = (1, 0, 2, 3)
_RECOMPUTE: tuple[Recompute, ...] = ("selective", "none", "full")
_MEMORY_KINDS = ("f", "b", "w", "c", "i")
_TIME_KINDS = {
    "compute": "f", "recompute": "b", "tensor": "c", "context": "c", "expert": "c",
    "messages": "c", "bubble": "i", "data": "w", "optimizer": "b",
}  # fmt: skip
_NEIGHBOURS = 3


def _layout(values: Values, sequences: int) -> Layout:
    """The layout that the controls say; the rest of the GPUs are data-parallel.

    Raises:
        ValueError: the degrees do not divide the GPUs, or the batch the data-parallel ranks.
    """
    gpus = values.count("gpus")
    tensor, stages, context = (values.count(name) for name in ("tensor", "pipeline", "context"))
    copy = tensor * stages * context
    if gpus % copy:
        shown = f"{tensor} · {stages} · {context} = {copy}"
        raise ValueError(f"a copy of the model takes {shown} GPUs, which do not divide {gpus}")
    data = gpus // copy
    if sequences % data:
        raise ValueError(f"a batch of {sequences} sequences does not divide over {data} data ranks")
    stage = next(known for known in _STAGES if str(known) == values.word("stage"))
    recompute = next(known for known in _RECOMPUTE if known == values.word("recompute"))
    return Layout(
        tensor=tensor,
        pipeline=stages,
        context=context,
        expert=values.count("expert"),
        data=data,
        virtual=values.count("virtual"),
        microbatches=sequences // data,
        sequence=values.count("sequence"),
        zero_stage=stage,
        recompute=recompute,
    )


def _explored(values: Values) -> Explored:
    model = ModelShape.named(values.word("model"))
    cluster = _cluster(values)
    layout = _layout(values, values.count("batch"))
    kept, times = memory_budget(model, layout), step_time(model, cluster, layout)
    room, fitting = cluster.gpu.memory, fits(model, cluster, layout)
    used = projected_utilization(model, cluster, layout)
    largest = max(kept._fields, key=lambda part: float(getattr(kept, part)))
    whole, card = show(kept.total, BYTE), show(room, BYTE)
    verdict = (
        f"It **fits**, with {show(room - kept.total, BYTE)} to spare."
        if fitting
        else f"It does **not fit**: {whole} on a card of {card}, most of it {largest}."
    )
    says = (
        f"{layout.data} data-parallel ranks, {layout.microbatches} micro-batches each. {verdict} "
        f"A step of {layout.tokens:,} tokens takes {show(times.total, SECOND)}, "
        f"**{percent_text(used)}** of the peak.{_better(model, cluster, layout)}"
    )
    facts = (
        plain("data parallel", layout.data),
        quantity("memory of a GPU", kept.total, BYTE),
        quantity("step", times.total, SECOND),
        share("projected MFU", used),
        share("bubble", bubble_fraction(layout.pipeline, layout.microbatches, layout.virtual)),
    )
    parts = tuple(
        Part(kind, name, float(size))
        for kind, name, size in zip(_MEMORY_KINDS, kept._fields, kept, strict=True)
    )
    spent = tuple(
        Part(_TIME_KINDS[name], name, float(getattr(times, name)))
        for name in times._fields
        if getattr(times, name)
    )
    bars = (Bar("memory", parts),)
    memory = Bars(
        "Memory of the fullest GPU",
        verdict.replace("*", ""),
        Axis("bytes", BYTE),
        bars,
        room,
        f"{card} of memory",
    )
    rows = tuple(Bar(part.name, (part,)) for part in spent)
    waiting = Bars("Time of a step", "What a step waits for", Axis("time", SECOND), rows)
    return Explored(says, facts, (memory, waiting, _traffic(model, cluster, layout)))


def _traffic(model: ModelShape, cluster: Cluster, layout: Layout) -> Bars:
    """What a GPU of the first stage sends in a step, over which link."""
    tokens = layout.micro_batch * layout.sequence // layout.context
    size = tensor_all_reduce_size(1, tokens, model.hidden, float(_ELEMENT))
    layers, micro = model.layers / layout.pipeline, layout.microbatches
    passes = 3 if layout.recompute == "full" else 2
    wide = 2 * model.key_value_heads * model.head_size // layout.tensor or 1
    gathered = layout.micro_batch * layout.sequence * wide * float(_ELEMENT)
    mixtures = model.expert_layers / layout.pipeline if model.experts else 0.0
    weights = ParameterShare.of(model, layout, 0)
    span = 1
    sent = []
    for name, degree, amount in (
        ("tensor", layout.tensor, tensor_traffic_bytes(size, layers, layout.tensor, micro, passes)),
        (
            "context",
            layout.context,
            3 * layers * micro * ring_all_gather_bytes(gathered, layout.context),
        ),
        ("pipeline", layout.pipeline, 2 * micro * layout.virtual * size / layout.tensor),
        (
            "expert",
            layout.expert,
            4 * mixtures * micro * all_to_all_bytes(
                size / layout.tensor * max(1, model.active_experts), layout.expert
            ),
        ),
        (
            "data",
            layout.shards,
            zero_traffic_bytes(
                (weights.dense + weights.experts) * _ELEMENT, layout.shards, layout.zero_stage
            ),
        ),
    ):  # fmt: skip
        if degree == 1:
            continue
        span *= degree
        inside = span <= cluster.gpus_per_node
        where = "NVLink" if inside else "network"
        sent.append(
            Bar(
                name,
                (Part("f" if inside else "c", where, amount),),
                f"{show(amount, BYTE)}, {where}",
            )
        )
    summary = "; ".join(f"{bar.name} {bar.note}" for bar in sent) or "One GPU sends nothing"
    return Bars("Sent by a GPU in a step", summary, Axis("bytes sent", BYTE), tuple(sent))


def _cluster(values: Values) -> Cluster:
    """GPUs in nodes of eight, each with a network card of its own."""
    card, count = GPUS[values.word("gpu")], values.count("gpus")
    return Cluster(
        name=f"{count} {card.name}",
        gpu=card,
        gpus=count,
        gpus_per_node=min(_NODE, count),
        intra_bandwidth=card.nvlink,
        inter_bandwidth=values.number("network"),
    )


def _better(model: ModelShape, cluster: Cluster, layout: Layout) -> str:
    """The best neighbours that fit, one degree doubled or halved, as a sentence."""
    own = projected_utilization(model, cluster, layout)
    found = []
    for name, other in _neighbours(layout):
        try:
            if fits(model, cluster, other):
                found.append((projected_utilization(model, cluster, other), name))
        except ValueError:
            continue
    found.sort(reverse=True)
    best = [f"{name} ({percent_text(used)})" for used, name in found[:_NEIGHBOURS] if used > own]
    return (
        f" Nearby and faster: {', '.join(best)}." if best else " No neighbour that fits is faster."
    )


def _neighbours(layout: Layout) -> Iterator[tuple[str, Layout]]:
    """Layouts with one degree doubled or halved, at the cost of data parallelism."""
    sequences = layout.data * layout.microbatches
    for name in ("tensor", "pipeline", "context"):
        degree = getattr(layout, name)
        for changed in (degree * 2, degree // 2):
            copies = layout.data * degree
            if changed and copies % changed == 0 and sequences % (copies // changed) == 0:
                data = copies // changed
                yield (
                    f"{name} {changed}",
                    replace(layout, **{name: changed}, data=data, microbatches=sequences // data),
                )


CONFIGURATOR = Explorer(
    "layout",
    "How should a model be laid out?",
    "Model, cluster and degrees: what a GPU keeps, what a step waits for, and three better ways.",
    "Llama 3.1 405B on 16,384 H100s, tensor 8, pipeline 16: which share of the peak does it reach?",
    "projected MFU",
    "meshes",
    ("layout.step_time", "layout.projected_utilization", "layout.fits", "memory.memory_budget"),
    (
        Select("model", "Model", {name: name for name in _MODELS}),
        Select("gpu", "GPU", {name: name for name in _CARDS}),
        Slider("gpus", "GPUs", 1, 16384, 16384, doubles=True),
        Slider("network", "Network card of a GPU", 1, 400, 50, "GB/s", log=True, whole=False),
        Slider("tensor", "Tensor parallelism", 1, 32, 8, doubles=True),
        Slider("pipeline", "Pipeline stages", 1, 32, 16, doubles=True),
        Slider("virtual", "Chunks on a GPU", 1, 8, 1),
        Slider("context", "Context parallelism", 1, 32, 1, doubles=True),
        Slider("expert", "Expert parallelism", 1, 256, 1, doubles=True),
        Slider("batch", "Sequences in a step", 1, 65536, 2048, doubles=True),
        Slider("sequence", "Tokens in a sequence", 512, 131072, 8192, doubles=True),
        Select("stage", "ZeRO stage", {str(stage): f"stage {stage}" for stage in _STAGES}),
        Select("recompute", "Recomputation", {name: name for name in _RECOMPUTE}),
    ),
    _explored,
    "Which share of the peak does the layout reach?",
)
