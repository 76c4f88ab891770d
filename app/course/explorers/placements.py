"""The layout that the controls describe, or the nearest one that exists."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import get_args

from app.core.errors import sentence
from app.core.formulas.checks import ZeroStage
from app.core.formulas.layout import step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import GPUS, Cluster, Layout, ModelShape
from app.core.formulas.presets.layouts import Again, Precision
from app.core.formulas.step.memory import StageMemory
from app.core.formulas.step.speeds import attention_kernels
from app.core.translation import localize, noted, translate
from app.core.units import BytesPerSecond, figures
from app.course.explorers.base import Values
from app.course.explorers.controls import Control, Select, Slider, in_group, log_slider

MODELS = ("Llama-3.1-405B", "Llama-3-8B", "Llama-3-70B", "Llama-2-7B", "Mixtral-8x7B", "DeepSeek-V3", "GPT-3 175B")
CARDS = ("H100", "A100", "B200", "H800", "H200", "H100 96GB HBM2e 500 W")
RACKS = {"GB200": 72, "GB300": 72}  # GPUs that share NVLink, where that is more than a node
MOST_SEQUENCES = 65536  # per step
STAGES: Sequence[ZeroStage] = (2, 0, 1, 3)
PRECISIONS: Sequence[Precision] = ("16-bit", "8-bit", "4-bit")
RECOMPUTE: Mapping[str, str] = {
    "selective": noted("selective: of attention scores, as FlashAttention does by itself"),
    "none": noted("none: with FlashAttention the same as selective, without it scores are stored"),
    "operations": noted("operations: all but attention and every second product"),
    "full": noted("full: of whole layers"),
}
_NODE = 8
_DEGREES = tuple(2**power for power in range(6))  # of tensor, pipeline and context parallelism
DEGREE_NAMES = {  # what may be left out is 1
    "tensor": noted("tensor parallelism"),
    "pipeline": noted("pipeline stages"),
    "context": noted("context parallelism"),
    "expert": noted("expert parallelism"),
    "virtual": noted("pipeline chunks per GPU"),
    "micro": noted("sequences per micro-batch"),
    "batch": noted("sequences per step"),
}

LAYOUT_CONTROLS: Mapping[str, str] = {  # the field of a layout that each control is
    "tensor": "tensor",
    "pipeline": "pipeline",
    "virtual": "virtual",
    "context": "context",
    "expert": "expert",
    "micro": "micro_batch",
    "sequence": "sequence",
    "stage": "zero_stage",
    "recompute": "recompute",
}
_NOT_OF_A_SHAPE = {"name", "source"}

NETWORK_PER_GPU = log_slider("network", noted("Network per GPU"), (1, 400), 50, "GB/s")

BATCH_CONTROLS = in_group(
    noted("Batch and recomputation"),
    Slider("micro", noted("Sequences per micro-batch"), (1, 64), default=1, doubles=True),
    Slider("batch", noted("Sequences per step"), (1, MOST_SEQUENCES), default=2048, doubles=True),
    Slider("sequence", noted("Tokens per sequence"), (512, 131072), default=8192, doubles=True),
    Select("recompute", noted("Recomputation"), dict(RECOMPUTE)),
    Select("precision", noted("Products in"), {name: name for name in PRECISIONS}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A model laid out over a cluster; *notice* says what differs from what was asked for."""

    model: ModelShape
    cluster: Cluster
    layout: Layout
    notice: str = ""

    @property
    def memory(self) -> StageMemory:
        """The memory of the fullest GPU, with the attention kernels of such a GPU."""
        kernels = attention_kernels(self.model, self.cluster.gpu)
        return memory_budget(self.model, self.layout, kernels=kernels)


def layout_state(layout: Layout) -> dict[str, str]:
    """The controls as *layout* sets them, without the number of GPUs."""
    state = {control: str(getattr(layout, field)) for control, field in LAYOUT_CONTROLS.items()}
    return {**state, "batch": str(layout.data * layout.microbatches * layout.micro_batch)}


def model_value(text: str) -> str:
    """The value of a control for the model that *text* says: a known name, or its fields.

    Raises:
        ValueError: it says none.
    """
    shape = ModelShape.read(text)
    if ModelShape.known().get(shape.name) == shape:
        return shape.name
    pairs = (
        (one.name, getattr(shape, one.name))
        for one in fields(shape)
        if one.name not in _NOT_OF_A_SHAPE and getattr(shape, one.name) != one.default
    )
    return " ".join(f"{name}={value}" for name, value in pairs)


def placement(values: Values) -> Placement:
    """The layout that the controls describe, or the nearest one that exists.

    Raises:
        ValueError: there is none; the message says what is wrong with the one asked for.
    """
    try:
        placed = exact_placement(values)
        _refuse(placed.model, placed.cluster, placed.layout)
    except ValueError as error:
        why = error
    else:
        return placed
    model, cluster, asked = ModelShape.read(values.word("model")), _cluster(values), _asked_degrees(values)
    for other in _alternatives(asked, cluster.gpus):
        try:
            layout = _layout(values, other)
            _refuse(model, cluster, layout)
        except ValueError:
            continue
        notice = translate(
            "{problem} Shown with {changes}.", problem=sentence(localize(str(why))), changes=_changes(asked, other)
        )
        return Placement(model=model, cluster=cluster, layout=layout, notice=notice)
    raise why


def exact_placement(values: Values) -> Placement:
    """The very layout that the controls describe; whether it divides the model is not looked at.

    Raises:
        ValueError: it does not divide the GPUs, or the batch.
    """
    model, cluster = ModelShape.read(values.word("model")), _cluster(values)
    layout = _layout(values, _asked_degrees(values))
    return Placement(model=model, cluster=cluster, layout=layout)


def _asked_degrees(values: Values) -> Mapping[str, int]:
    return {name: values.count(name) if name in values else 1 for name in DEGREE_NAMES}


def _layout(values: Values, degrees: Mapping[str, int]) -> Layout:
    """The layout with these *degrees*; the remaining degree is data parallelism.

    Raises:
        ValueError: the degrees do not divide the GPUs, or the data-parallel ranks the batch.
    """
    gpus, sequences = values.count("gpus"), degrees["batch"]
    tensor, stages, context = (degrees[name] for name in ("tensor", "pipeline", "context"))
    copy = tensor * stages * context
    if gpus % copy:
        shown = f"{tensor} · {stages} · {context} = {figures(copy)}"
        raise ValueError(
            translate("a copy of the model takes {shown} GPUs, which do not divide {gpus:,}", shown=shown, gpus=gpus)
        )
    data, micro = gpus // copy, degrees["micro"]
    if sequences % (data * micro):
        each = translate(" in micro-batches of {micro:,}", micro=micro) if micro > 1 else ""
        raise ValueError(
            translate(
                "a batch of {sequences:,} sequences does not divide over {data:,} data-parallel ranks{each}",
                sequences=sequences,
                data=data,
                each=each,
            )
        )
    chosen = values.word("precision") if "precision" in values else PRECISIONS[0]
    return Layout(
        tensor=tensor,
        pipeline=stages,
        context=context,
        expert=degrees["expert"],
        data=data,
        virtual=degrees["virtual"],
        microbatches=sequences // (data * micro),
        micro_batch=micro,
        sequence=values.count("sequence"),
        zero_stage=next(known for known in STAGES if str(known) == values.word("stage")),
        recompute=next(known for known in get_args(Again) if known == values.word("recompute")),
        context_by="all-gather",
        precision=next(known for known in PRECISIONS if known == chosen),
    )


def _refuse(model: ModelShape, cluster: Cluster, layout: Layout) -> None:
    """Refuse a *layout* that cannot divide *model*."""
    memory_budget(model, layout)
    step_time(model, cluster, layout)


def _alternatives(asked: Mapping[str, int], gpus: int) -> Iterator[Mapping[str, int]]:
    """Other degrees: those that change the size of a copy least first, then the batch."""
    copies = [
        dict(zip(("tensor", "pipeline", "context"), degrees, strict=True))
        for degrees in product(*(dict.fromkeys((asked[name], *_DEGREES)) for name in ("tensor", "pipeline", "context")))
        if gpus % math.prod(degrees) == 0
    ]
    copies.sort(key=lambda copy: sum(abs(math.log2(copy[name] / asked[name])) for name in copy))
    for copy in copies:
        data = gpus // math.prod(copy.values())
        # the largest power of two that divides the copies and is not above the degree
        common = min(data & -data, 1 << (asked["expert"].bit_length() - 1))
        for expert in dict.fromkeys((asked["expert"], common, 1)):
            for virtual, micro in product(*(dict.fromkeys((asked[name], 1)) for name in ("virtual", "micro"))):
                whole = data * micro * (copy["pipeline"] if virtual > 1 else 1)
                for batch in _batches(asked["batch"], whole):
                    yield {**copy, "expert": expert, "virtual": virtual, "micro": micro, "batch": batch}


def _batches(asked: int, whole: int) -> Sequence[int]:
    """The batch asked for, and the nearest multiple of *whole* that a control can be set to."""
    up, down = -(-asked // whole) * whole, asked // whole * whole
    near = up if up <= MOST_SEQUENCES else down
    return tuple(dict.fromkeys((asked, near or asked)))


def _changes(asked: Mapping[str, int], chosen: Mapping[str, int]) -> str:
    changed = [
        f"{translate(what)} {chosen[name]:,}" for name, what in DEGREE_NAMES.items() if chosen[name] != asked[name]
    ]
    return (
        translate("{changed} and {changed_2}", changed=", ".join(changed[:-1]), changed_2=changed[-1])
        if changed[1:]
        else changed[0]
    )


def _cluster(values: Values) -> Cluster:
    return named_cluster(values.word("gpu"), values.count("gpus"), values.number("network"))


def named_cluster(name: str, count: int, network: BytesPerSecond) -> Cluster:
    """GPUs with a network card each, in the nodes or racks that are sold most, or smaller ones that divide them."""
    card = GPUS[name]
    node = Cluster.node_of(card)
    return Cluster(
        name=f"{count} {card.name}",
        gpu=card,
        gpus=count,
        gpus_per_node=RACKS.get(name) or math.gcd(node.gpus_per_node if node else _NODE, count),
        intra_bandwidth=node.intra_bandwidth if node else card.nvlink,
        inter_bandwidth=network,
    )


def degree_controls(stages: int) -> tuple[Control, ...]:
    """The controls of how a model is split, over at most *stages* pipeline stages."""
    return in_group(
        noted("Parallelism"),
        Slider("tensor", noted("Tensor parallelism"), (1, 32), default=8, doubles=True),
        Slider("pipeline", noted("Pipeline stages"), (1, stages), default=16, doubles=True),
        Slider("virtual", noted("Pipeline chunks per GPU"), (1, 64), default=8),
        Slider("context", noted("Context parallelism"), (1, 32), default=1, doubles=True),
        Slider("expert", noted("Expert parallelism"), (1, 256), default=1, doubles=True),
        Select(
            "stage",
            noted("ZeRO stage"),
            {"2": noted("stage 2"), "0": noted("stage 0"), "1": noted("stage 1"), "3": noted("stage 3")},
        ),
    )
