"""What training state takes, and what hybrid sharding sends."""

from collections.abc import Iterator, Mapping

from app.charts.axes import Axis
from app.charts.bars import Bar, Bars, Part
from app.explorers.base import Explored, Explorer, Values, quantity
from app.explorers.controls import Select, Slider
from app.formulas.checks import ZeroStage
from app.formulas.memory import (
    hybrid_shard_state_bytes,
    hybrid_shard_traffic,
    zero_state_bytes,
    zero_traffic_bytes,
)
from app.units import BYTE, SECOND, show

_RECIPES = {"16": "16 bytes, Adam", "18": "18, FP32 gradients", "12": "12, no master copy"}
_SPLIT = {"16": (2.0, 2.0, 12.0), "18": (2.0, 4.0, 12.0), "12": (2.0, 2.0, 8.0)}
_MOMENT = 4.0  # bytes of each of Adam's two moments
_STAGES: Mapping[ZeroStage, str] = {
    0: "data parallel",
    1: "ZeRO stage 1",
    2: "ZeRO stage 2",
    3: "ZeRO stage 3",
}
_BYTES = Axis("bytes on each GPU", BYTE)


def _state(values: Values) -> Explored:
    parameters, ranks = round(values.number("parameters")), values.count("ranks")
    memory, split = values.number("memory"), _SPLIT[values.word("recipe")]
    bars, fits = [], []
    for stage, name in _STAGES.items():
        whole = zero_state_bytes(parameters, ranks, stage, *split)
        parts = tuple(_parts(parameters, ranks, stage, split))
        bars.append(Bar(name, parts, show(whole, BYTE)))
        fits += [name] if whole <= memory else []
    verdict = f"The mildest that fits is **{fits[0]}**." if fits else "**None of them fits.**"
    says = (
        f"{parameters / 1e9:g} billion parameters on {ranks} GPUs of {show(memory, BYTE)}. "
        f"{verdict} Activations come on top."
    )
    facts = tuple(quantity(bar.name, bar.value, BYTE) for bar in bars)
    chart = Bars(
        "Training state on each GPU",
        says.replace("*", ""),
        _BYTES,
        tuple(bars),
        memory,
        f"{show(memory, BYTE)} of memory",
    )
    return Explored(says, facts, (chart,))


def _parts(
    parameters: int, ranks: int, stage: ZeroStage, split: tuple[float, float, float]
) -> Iterator[Part]:
    """What a GPU keeps, with the optimizer's state told apart."""
    weights, gradients, optimizer = (
        parameters * each / (ranks if stage >= sharded_from else 1)
        for each, sharded_from in zip(split, (3, 2, 1), strict=True)
    )
    yield Part("f", "weights", weights)
    yield Part("b", "gradients", gradients)
    moment = optimizer * _MOMENT / split[2]
    if master := optimizer - 2 * moment:
        yield Part("w", "master", master)
    yield Part("w", "m", moment)
    yield Part("w", "v", moment)


def _hybrid(values: Values) -> Explored:
    weights, gpus = values.number("weights"), values.count("gpus")
    inside, across = values.number("inside"), values.number("across")
    group = min(values.count("group"), gpus)
    groups = max(1, gpus // group)
    bars = []
    for size in (2**power for power in range(gpus.bit_length()) if gpus % 2**power == 0):
        sent = hybrid_shard_traffic(weights, size, gpus // size)
        parts = (Part("f", "in groups", sent.intra_bytes), Part("c", "across", sent.inter_bytes))
        bars.append(Bar(f"groups of {size}" + (" ◀" if size == group else ""), parts))
    own = hybrid_shard_traffic(weights, group, groups)
    state = hybrid_shard_state_bytes(round(weights / 2), group)
    flat = zero_traffic_bytes(weights, gpus, 3)
    says = (
        f"In groups of **{group}**, a GPU sends {show(own.intra_bytes, BYTE)} inside its group and "
        f"{show(own.inter_bytes, BYTE)} to {groups - 1} other groups, and keeps "
        f"{show(state, BYTE)} of state. Sharded over all {gpus} at once it would send "
        f"{show(flat, BYTE)}, all of it at the speed of the slowest link."
    )
    facts = (
        quantity("inside", own.intra_bytes, BYTE),
        quantity("across", own.inter_bytes, BYTE),
        quantity("time inside", own.intra_bytes / inside, SECOND),
        quantity("time across", own.inter_bytes / across, SECOND),
        quantity("state on each GPU", state, BYTE),
    )
    chart = Bars(
        "Sent by each GPU in a step", says.replace("*", ""), Axis("bytes sent", BYTE), tuple(bars)
    )
    return Explored(says, facts, (chart,))


STATE = Explorer(
    "memory",
    "What fits on a GPU?",
    "Weights, gradients and optimizer state under each stage of ZeRO, against a card's memory.",
    "405 billion parameters on 64 GPUs: how much does each keep under stage 3 of ZeRO?",
    "ZeRO stage 3",
    "memory",
    ("memory.zero_state_bytes", "memory.state_bytes", "memory.zero_smallest_ranks"),
    (
        Slider("parameters", "Parameters", 0.1, 2000, 405, "billion", log=True, whole=False),
        Slider("ranks", "Data-parallel GPUs", 1, 16384, 64, doubles=True),
        Slider("memory", "Memory of a card", 8, 288, 80, "GB", log=True, aside=True),
        Select("recipe", "State of a parameter", _RECIPES),
    ),
    _state,
    "How much does each GPU keep under stage 3 of ZeRO?",
)
HYBRID = Explorer(
    "hybrid-sharding",
    "How large should a group be?",
    "Hybrid sharding: what is sent inside groups and across them, and the state that it costs.",
    "14 GB of weights, groups of 8: how much does a GPU send inside its group?",
    "inside",
    "sharding",
    ("memory.hybrid_shard_traffic", "memory.hybrid_shard_state_bytes"),
    (
        Slider("weights", "Weights in 16 bits", 1, 2000, 14, "GB", log=True, whole=False),
        Slider("gpus", "GPUs", 2, 4096, 64, doubles=True),
        Slider("group", "GPUs in a group", 1, 1024, 8, doubles=True),
        Slider(
            "inside",
            "Bandwidth inside a group",
            25,
            1800,
            450,
            "GB/s",
            log=True,
            whole=False,
            aside=True,
        ),
        Slider("across", "Bandwidth across", 1, 400, 50, "GB/s", log=True, whole=False, aside=True),
    ),
    _hybrid,
    "How much does a GPU send inside its group?",
)
