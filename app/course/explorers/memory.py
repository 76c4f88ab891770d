"""Memory of the training state, and traffic of hybrid sharding."""

from collections.abc import Iterator, Mapping

from app.core.charts.axes import Axis, Tone
from app.core.charts.bars import Bar, Bars, Part
from app.core.formulas.checks import ZeroStage
from app.core.formulas.memory import hybrid_shard_state_bytes, hybrid_shard_traffic, zero_state_bytes
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, figures, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Select, Slider, log_slider
from app.course.explorers.words import counted_noun, figure_summary

_RECIPES = {"16": noted("16 bytes, Adam"), "18": noted("18, FP32 gradients"), "12": noted("12, no master copy")}
_SPLIT = {"16": (2.0, 2.0, 12.0), "18": (2.0, 4.0, 12.0), "12": (2.0, 2.0, 8.0)}
_MOMENT = 4.0  # bytes of each of Adam's two moments
_STAGES: Mapping[ZeroStage, str] = {
    0: noted("data parallel"),
    1: noted("ZeRO stage 1"),
    2: noted("ZeRO stage 2"),
    3: noted("ZeRO stage 3"),
}
_NODE = 8  # GPUs that NVLink connects
_INSIDE = (noted("in groups, NVLink"), noted("in groups, network"))
_LIMITS = 4  # times the memory of a GPU: what is longer is torn off
_BYTES = Axis(noted("bytes on each GPU"), BYTE)


def _memory_output(values: Values) -> ExplorerOutput:
    parameters, ranks = round(values.number("parameters")), values.count("ranks")
    memory, split = values.number("memory"), _SPLIT[values.word("recipe")]
    bars, fits = [], []
    for stage, name in _STAGES.items():
        whole = zero_state_bytes(parameters, ranks, stage, *split)
        parts = tuple(_state_parts(parameters, ranks, stage, split))
        bars.append(Bar(name, parts, show(whole, BYTE)))
        fits += [name] if whole <= memory else []
    verdict = (
        translate("The lowest stage that fits is **{fits}**.", fits=translate(fits[0]))
        if fits
        else translate("**None of them fits.**")
    )
    says = translate(
        "{parameters} billion parameters on {gpu} of {memory}. {verdict} Activations are not included.",
        parameters=figures(parameters / 1e9),
        gpu=counted_noun(ranks, "GPU"),
        memory=show(memory, BYTE),
        verdict=verdict,
    )
    facts = tuple(KeyFigure.quantity(bar.name, bar.value, BYTE) for bar in bars)
    chart = Bars(
        title=translate("Training state on each GPU"),
        summary=figure_summary(says),
        axis=_BYTES,
        bars=tuple(bars),
        limit=memory,
        limit_says=translate("{memory} of memory", memory=show(memory, BYTE)),
        end=_LIMITS * memory,
    )
    return ExplorerOutput(says, facts, (chart,))


def _state_parts(parameters: int, ranks: int, stage: ZeroStage, split: tuple[float, float, float]) -> Iterator[Part]:
    """The state on one GPU, the optimizer's state split into its parts."""
    weights, gradients, optimizer = (
        parameters * each / (ranks if stage >= sharded_from else 1)
        for each, sharded_from in zip(split, (3, 2, 1), strict=True)
    )
    yield Part(Tone.WEIGHTS, translate("weights"), weights)
    yield Part(Tone.GRADIENTS, translate("gradients"), gradients)
    moment = optimizer * _MOMENT / split[2]
    if master := optimizer - 2 * moment:
        yield Part(Tone.MASTER, translate("master"), master)
    yield Part(Tone.FIRST_MOMENT, "m", moment)
    yield Part(Tone.SECOND_MOMENT, "v", moment)


def _hybrid(values: Values) -> ExplorerOutput:
    weights, gpus = values.number("weights"), values.count("gpus")
    group = min(values.count("group"), gpus)
    groups = max(1, gpus // group)
    sizes = [2**power for power in range(gpus.bit_length()) if gpus % 2**power == 0]
    times = {size: _sending_seconds(values, size, gpus // size) for size in sizes}
    fastest = min(times, key=lambda size: sum(times[size]))
    own = hybrid_shard_traffic(weights, group, groups)
    inside, across = _sending_seconds(values, group, groups)
    state = hybrid_shard_state_bytes(round(weights / 2), group)
    says = translate(
        "In groups of **{group:,}**, a GPU sends {intra_bytes} inside its group and "
        "{inter_bytes} to {other_group}, which takes **{inside}**, and it holds "
        "{state} of state. Groups of {fastest:,} are fastest: {times}. A group that is "
        "larger than a node of {node} sends everything over the network.",
        group=group,
        intra_bytes=show(own.intra_bytes, BYTE),
        inter_bytes=show(own.inter_bytes, BYTE),
        other_group=counted_noun(groups - 1, "other group"),
        inside=show(inside + across, SECOND),
        state=show(state, BYTE),
        fastest=fastest,
        times=show(sum(times[fastest]), SECOND),
        node=_NODE,
    )
    facts = (
        KeyFigure.quantity(noted("inside"), own.intra_bytes, BYTE),
        KeyFigure.quantity(noted("across"), own.inter_bytes, BYTE),
        KeyFigure.quantity(noted("time inside"), inside, SECOND),
        KeyFigure.quantity(noted("time across"), across, SECOND),
        KeyFigure.quantity(noted("state on each GPU"), state, BYTE),
    )
    chart = Bars(
        title=translate("Time to send, by the size of a group"),
        summary=figure_summary(says),
        axis=Axis(translate("time"), SECOND),
        bars=tuple(
            Bar(
                translate("groups of {size:,}", size=size) + (" ◀" if size == group else ""),
                (
                    Part(Tone.NVLINK if size <= _NODE else Tone.NETWORK, _INSIDE[size > _NODE], ins),
                    Part(Tone.ACROSS_PODS, translate("across groups"), out),
                ),
            )
            for size, (ins, out) in times.items()
        ),
    )
    return ExplorerOutput(says, facts, (chart,))


def _sending_seconds(values: Values, group: int, groups: int) -> tuple[float, float]:
    """Seconds that a GPU sends inside its group, and to other groups."""
    sent = hybrid_shard_traffic(values.number("weights"), group, groups)
    across = values.number("across")
    inside = values.number("inside") if group <= _NODE else across
    return sent.intra_bytes / inside, sent.inter_bytes / across


def _not_stage_three(values: Values) -> Iterator[tuple[float, str]]:
    """Bytes that are taken for the state on a GPU at stage 3."""
    parameters, ranks = round(values.number("parameters")), values.count("ranks")
    split = _SPLIT[values.word("recipe")]
    yield (
        parameters * sum(split),
        translate("That is the whole state. Stage 3 shards all of it over the data-parallel GPUs."),
    )
    yield (
        parameters * split[0] / ranks,
        translate(
            "That is the weights alone. Stage 3 shards the gradients and the optimizer state as "
            "well, and each GPU holds its shard of all three."
        ),
    )
    for stage in (1, 2):
        says = translate("That is stage {stage}. Stage 3 shards the weights too.", stage=stage)
        yield zero_state_bytes(parameters, ranks, stage, *split), says


def _sharding_groups(values: Values) -> dict[str, float]:
    """The group size, the number of groups and the rest, as the exercise calls them."""
    group = min(values.count("group"), values.count("gpus"))
    return {
        "weights": values.number("weights"),
        "shard": group,
        "groups": values.count("gpus") // group,
        "inside": values.number("inside"),
        "across": values.number("across"),
    }


STATE = Explorer(
    name="memory",
    title=noted("What fits on a GPU?"),
    summary=noted("Weights, gradients and optimizer state per GPU at each ZeRO stage."),
    question=noted("70 billion parameters on 64 GPUs: how much state does each hold at ZeRO stage 3?"),
    predicts=noted("ZeRO stage 3"),
    chapter="memory",
    formulas=("memory.zero_state_bytes", "memory.state_bytes", "memory.zero_smallest_ranks"),
    controls=(
        log_slider("parameters", noted("Parameters"), (0.1, 2000), 70, "billion"),
        Slider("ranks", noted("Data-parallel GPUs"), (1, 16384), default=64, doubles=True),
        Slider("memory", noted("Memory per GPU"), (8, 288), default=80, unit="GB", log=True, aside=True),
        Select("recipe", noted("Bytes per parameter"), _RECIPES),
    ),
    explore=_memory_output,
    asks=noted("How much state does each GPU hold at ZeRO stage 3?"),
    foreseen=ExplainedMistakes(exercise="memory/stage-3", others=_not_stage_three),
)
HYBRID = Explorer(
    name="hybrid-sharding",
    title=noted("How large should a sharding group be?"),
    summary=noted("Hybrid sharding: the time to send inside groups and across them, and the state held."),
    question=noted("14 GB of weights, groups of 8: how much does a GPU send inside its group?"),
    predicts=noted("inside"),
    chapter="sharding",
    formulas=("memory.hybrid_shard_traffic", "memory.hybrid_shard_state_bytes"),
    controls=(
        log_slider("weights", noted("16-bit weights"), (1, 2000), 14, "GB"),
        Slider("gpus", noted("GPUs"), (2, 4096), default=64, doubles=True),
        Slider("group", noted("GPUs per group"), (1, 1024), default=8, doubles=True),
        log_slider("inside", noted("Bandwidth inside a node"), (25, 1800), 450, "GB/s", aside=True),
        log_slider("across", noted("Bandwidth between nodes"), (1, 400), 50, "GB/s", aside=True),
    ),
    explore=_hybrid,
    asks=noted("How much does a GPU send inside its group?"),
    foreseen=ExplainedMistakes(exercise="sharding/hybrid-traffic", answer="within", given=_sharding_groups),
)
