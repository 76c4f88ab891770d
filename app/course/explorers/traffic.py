"""What a GPU of a layout sends in a step, over NVLink or over the network."""

from collections.abc import Iterator

from app.core.charts.axes import Axis
from app.core.charts.bars import Bar, Bars, Part
from app.core.charts.color import Tone
from app.core.formulas.collectives import all_to_all_bytes, ring_all_gather_bytes
from app.core.formulas.memory import zero_traffic_bytes
from app.core.formulas.memory.placement import ParameterShare
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.formulas.sharding import tensor_all_reduce_size, tensor_traffic_bytes
from app.core.translation import translate
from app.core.units import BYTE, show

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
