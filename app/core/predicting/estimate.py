"""From a line to a prediction, the formulas that make it, and what limits the step."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple, cast, get_args

from app.core.formulas.configurations import configuration_notes
from app.core.formulas.layout import same_gpus
from app.core.formulas.memory.budget import fits_together
from app.core.formulas.parallelism import PLAIN, Degrees, Numbers, Value, Whole
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares
from app.core.formulas.presets.stacks import LOGIT_BYTES, STACKS, Stack, stack_recipe
from app.core.formulas.step.layer import counted_flops, one_by_one, sequence_share
from app.core.formulas.step.memory import RankMemoryTerms, StageMemory, stage_bytes
from app.core.formulas.step.speeds import Side, peak_of, reduced_by, stack_speeds
from app.core.formulas.step.step import step_parts
from app.core.formulas.transformer import LayerParts, model_parameters
from app.core.translation import noted, value_error
from app.core.units import BYTE, SECOND, Bytes, PerSecond, Ratio, Seconds, show

_MEGATRON = Recipe.named("Megatron")
_HELD_BACK = 1.05  # as in card_memory
_SURE = 0.9  # of the memory that is predicted
_PLAIN = Layout()
_MOST_STAGES = 1024  # of a pipeline: each is a number in the result


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """What is predicted."""

    model: ModelShape
    cluster: Cluster
    layout: Layout
    recipe: Recipe = _MEGATRON
    shares: Shares = GIVEN
    stack: Stack = STACKS["Megatron"]
    is_named: bool = False  # whether the stack was given
    has_recipe: bool = False
    assumed: str = ""  # what was not said, in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A predicted step.

    *parts* are its exposed seconds; where a share has no source, the time is between *low* and
    *high*. *stages* are the bytes that are allocated at the peak on a GPU of each pipeline stage,
    *memory* the parts of the fullest; *reserved* is what the allocator then holds there.
    """

    parts: Mapping[str, Seconds]
    total: Seconds
    low: Seconds
    high: Seconds
    utilization: Ratio
    token_rate: PerSecond
    stages: tuple[Bytes, ...]
    memory: Mapping[str, Bytes]
    reserved: Bytes
    least: Bytes
    room: Bytes
    cluster: Cluster  # as it was understood
    leaner: str = ""  # what would need only the *least*
    unsaid: str = ""  # what the width of the range is for
    stack: Stack = STACKS["Megatron"]
    scores: str = ""  # what becomes of attention's scores if nothing is computed again
    doubts: tuple[str, ...] = ()  # what was assumed, not understood, or left out

    @property
    def allocated(self) -> Bytes:
        """Bytes on the fullest GPU."""
        return max(self.stages)

    @property
    def fits(self) -> bool:
        """Whether what is allocated fits on every GPU, or may fit: as what nobody said, or the error, needs less."""
        return _SURE * self.least <= self.room


class StepFigures(NamedTuple):
    """What formulas compute of a step: its parts on each side of what is usual, and the memory of each stage.

    *lean* is that of the fullest stage if what nobody said is what needs the least: *leaner*, as a clause.
    """

    times: Mapping[Side, Mapping[str, Seconds]]
    stages: Sequence[StageMemory]
    lean: Bytes
    leaner: str


def estimate(asked: PredictionRequest, figures: StepFigures | None = None) -> Estimate:
    """The predicted step, and its memory; *figures* of `figures_in_columns` where they are known.

    Raises:
        ValueError: the layout does not divide the model, or has another number of GPUs.
        ArithmeticError: a result is too large for a number.
    """
    layout, gpu = asked.layout, asked.cluster.gpu
    if layout.pipeline > _MOST_STAGES:
        form = noted("{name} must be at most {most} here, as each stage is listed, not {value}")
        raise value_error(form, name="pipeline", most=f"{_MOST_STAGES:,}", value=f"{layout.pipeline:,}")
    same_gpus(asked.cluster, layout)
    fits_together(asked.model, layout)
    figures = figures or _plain_figures(asked)
    times, slow = figures.times["middle"], figures.times["slow"]
    total = sum(times.values())
    low, high = _ends(asked, total, sum(figures.times["fast"].values()), sum(slow.values()))
    stages = tuple(map(sum, figures.stages))
    fullest = max(figures.stages, key=sum)
    flops = _token_flops(asked.model, layout.sequence) * layout.tokens
    found = Estimate(
        parts=times,
        total=total,
        low=low,
        high=high,
        utilization=flops / (layout.gpus * peak_of(gpu, layout.precision) * total),
        token_rate=layout.tokens / total / layout.gpus,
        stages=stages,
        memory={name: float(size) for name, size in fullest._asdict().items()},
        reserved=sum(fullest) * _HELD_BACK,
        least=min(max(stages), figures.lean),
        leaner=figures.leaner,
        unsaid=_unsaid(asked),
        stack=asked.stack,
        room=gpu.memory,
        cluster=asked.cluster,
        scores=_scores(asked),
        doubts=tuple(_doubts(asked, slow["launches"] / sum(slow.values()))),
    )
    if not all(map(isfinite, (*times.values(), found.utilization, found.token_rate, found.reserved))):
        raise OverflowError
    return found


class _Block(NamedTuple):
    """A step, or those of layouts that are as that of *asked* but for *columns*, which have a place for each."""

    asked: PredictionRequest
    by: Numbers = PLAIN
    columns: Mapping[str, Whole] = MappingProxyType({})

    def on(self, fused: bool = True) -> Degrees:
        """The layouts as numbers."""
        return self.asked.layout.degrees(fused)._replace(**self.columns)

    def without_recomputing(self) -> "_Block":
        """The same where nothing is computed again."""
        return self._replace(asked=replace(self.asked, layout=replace(self.asked.layout, recompute="none")))


def _plain_figures(asked: PredictionRequest) -> StepFigures:
    block, stages = _Block(asked), range(asked.layout.pipeline)
    lean, leaner = _lean(asked)
    fullest = max(map(sum, _stages(_Block(lean), stages)))
    return StepFigures({side: _times(block, side) for side in _SIDES}, _stages(block, stages), fullest, leaner)


_SIDES = get_args(Side)
_FEWEST = 8  # layouts of a block: fewer are computed sooner one by one
_DEEPEST = 64  # stages of a layout in columns, which have a place for each
_LARGEST = 1 << 31  # degree in columns, whose numbers are floats
_ALIKE = ("full", "selective", "operations")  # degrees that all layouts of a block have in common


def figures_in_columns(requests: Sequence[PredictionRequest]) -> list[StepFigures | None]:
    """The figures of those of *requests* that only differ in their layouts, computed at once; None for others."""
    blocks: dict[object, list[int]] = {}
    for place, asked in enumerate(requests):
        layout = asked.layout
        if layout.pipeline <= _DEEPEST and max(layout.degrees()) < _LARGEST:
            key = replace(asked, layout=_PLAIN, assumed=""), layout.recompute, layout.precision
            blocks.setdefault(key, []).append(place)
    found: list[StepFigures | None] = [None] * len(requests)
    for places in blocks.values():
        if len(places) >= _FEWEST:
            for place, figures in zip(places, _block_figures([requests[one] for one in places]), strict=True):
                found[place] = figures
    return found


def _block_figures(requests: Sequence[PredictionRequest]) -> Iterator[StepFigures]:
    import numpy
    from numpy.typing import NDArray

    from app.core.searching.columns import COLUMNS

    def listed(values: Iterable[Value], size: int) -> list[tuple[float, ...]]:
        return list(zip(*(numpy.broadcast_to(value, size).tolist() for value in values), strict=True))

    def block(asked: PredictionRequest, columns: Mapping[str, NDArray[numpy.float64]]) -> _Block:
        return _Block(asked, COLUMNS, cast(Mapping[str, Whole], columns))

    asked = requests[0]
    lean, leaner = _lean(asked)
    rows = zip(*(one.layout.degrees() for one in requests), strict=True)
    columns = {
        name: numpy.array(row, dtype=float)
        for name, row in zip(Degrees._fields, rows, strict=True)
        if name not in _ALIKE and len(set(row)) > 1
    }
    depths = numpy.array([one.layout.pipeline for one in requests])
    ends = depths.cumsum()
    number = numpy.arange(ends[-1], dtype=float) - numpy.repeat(ends - depths, depths)  # of each stage
    staged = {name: numpy.repeat(column, depths) for name, column in columns.items()}
    with numpy.errstate(all="ignore"):
        times = {side: _times(block(asked, columns), side) for side in _SIDES}
        stages, least = (_stages(block(one, staged), [cast(Whole, number)])[0] for one in (asked, lean))
        fullest = numpy.maximum.reduceat(numpy.broadcast_to(sum(least), len(number)), ends - depths)
    parts = {side: listed(some.values(), len(requests)) for side, some in times.items()}
    memory = list(map(StageMemory._make, listed(stages, len(number))))
    for place, (end, depth, most) in enumerate(zip(ends, depths, fullest.tolist(), strict=True)):
        each = {side: dict(zip(times[side], parts[side][place], strict=True)) for side in _SIDES}
        yield StepFigures(each, memory[end - depth : end], most, leaner)


_WAITING = 0.05  # of a step


def _doubts(asked: PredictionRequest, waiting: Ratio) -> Iterator[str]:
    """What was assumed, not understood, or left out, each in a sentence."""
    if asked.assumed:
        yield asked.assumed
    for name, record in (("model", asked.model), ("layout", asked.layout)):
        notes = configuration_notes(record.source)
        yield from (f"The {name}: {note}." for note in notes if not asked.assumed or "says no sequence" not in note)
    stack = asked.stack
    if not asked.is_named:
        hint = "recipe" if asked.has_recipe else "layout"
        yield f"The stack is not given: {stack.name} is taken, as the {hint} suggests."
    if asked.cluster.uneven:
        yield f"The cluster: {asked.cluster.uneven}; 3 nodes of 4 GPUs would be written 3x4."
    if waiting > _WAITING:
        yield (
            f"The GPU may wait for the host for {100 * waiting:.0f} % of the step: larger micro-batches, a"
            " compiler or CUDA graphs would change that; under a profiler, it waits several times as long."
        )
    if (gpu := asked.cluster.gpu).dies > 1:
        yield (
            f"PyTorch sees {gpu.dies} GPUs in one {gpu.name}, each with a part of its memory: this is for ranks that"
            f" have all of it. Count {gpu.name} GCD instead."
        )


def adapter_share(shape: ModelShape, stack: Stack) -> Ratio:
    """The parameters of a low-rank adapter on every product of a layer, over those of the model."""
    sides = (one.result.size + one.taken.size for one in one_by_one(shape, shape.feed_forward))
    return stack.adapter_rank * sum(sides) * shape.layers / model_parameters(shape)


def _times(block: _Block, side: Side) -> dict[str, Seconds]:
    """The parts of a step, on the *side* of what is usual where something is not known."""
    asked = block.asked
    found, every = _parts_with(block, side), asked.stack.recompute_every
    if every > 1 and asked.layout.recompute == "full":
        kept = _parts_with(block.without_recomputing(), side)
        found = {name: part / every + (1 - 1 / every) * kept[name] for name, part in found.items()}
    if asked.stack.adapter != "none":
        found = _adapted(block, found)
    if asked.stack.offload == "none":
        return found
    if asked.stack.offload != "parameters":  # then the host has the optimizer
        found["optimizer"] = 0.0
    return {**found, "offload": _offload_time(block) * _OFFLOAD[side]}


def _parts_with(block: _Block, side: Side) -> dict[str, Seconds]:
    asked = block.asked
    speeds = _speeds(asked.model, asked.cluster, asked.shares, asked.stack, asked.layout.precision, side)
    return step_parts(asked.model, speeds, block.on(speeds.fused), block.by, reduced_by(asked.recipe))._asdict()


_speeds = lru_cache(512)(stack_speeds)
_OFFLOAD = {"fast": 0.5, "middle": 1.0, "slow": 2.0}
_OF_ADAPTED = 2 / 3  # of the products, without those for the gradients of weights
_UNPACKED = 2.6  # bytes per weight of 4 bits that is read and written in 16, and 2 of each that are passed backward


def _adapted(block: _Block, parts: Mapping[str, Seconds]) -> dict[str, Seconds]:
    """The *parts* where only an adapter is trained: without gradients of weights, and with a small optimizer."""
    asked, on = block.asked, block.on()
    share = adapter_share(asked.model, asked.stack)
    found = {**parts, "products": parts["products"] * _OF_ADAPTED, "optimizer": parts["optimizer"] * share}
    found["data"] = parts["data"] * block.by.where(on.zero_stage >= _ALL, _OF_ADAPTED, share)
    if asked.stack.adapter == "QLoRA":
        held = model_parameters(asked.model) / on.tensor / on.pipeline
        passes = (2 + on.full) * on.microbatches
        found["element_wise"] = found["element_wise"] + _UNPACKED * held * passes / asked.cluster.gpu.memory_bandwidth
    return found


# Bytes per second and GPU of PCIe 4 and 5 with 16 lanes, and of a superchip; of a host's memory and NVMe, per node.
_PCIE, _PCIE_5, _SUPERCHIP, _HOST_MEMORY, _NVME = 25e9, 50e9, 400e9, 200e9, 6e9
_ON_HOST, _STATES = 28, 24  # bytes per parameter that Adam moves there, and that NVMe reads and writes


def _offload_time(block: _Block) -> Value:
    """Exposed seconds of a step in which offloaded states pass the wire to the host, and the host works on them."""
    stack, cluster, element = block.asked.stack, block.asked.cluster, block.asked.recipe.element_bytes
    on = block.on()
    shards = block.by.where(on.zero_stage > 0, on.context * on.data, 1)
    held = model_parameters(block.asked.model) / on.tensor / on.pipeline / shards
    wire = _SUPERCHIP if cluster.gpu.name.startswith(("GH", "GB")) else _PCIE_5 if cluster.gpu.year > _YEAR else _PCIE
    node = min(cluster.gpus_per_node, cluster.gpus)
    seconds: Value = 0.0
    if stack.offload in ("optimizer", "both"):
        seconds = held * (2 * element / wire + _ON_HOST * node / _HOST_MEMORY)
        seconds = seconds + (held * _STATES * node / _NVME if stack.offload_to == "NVMe" else 0.0)
    if stack.offload in ("parameters", "both"):
        passes = (2 + on.full) * on.microbatches
        rate = min(wire, _NVME / node) if stack.offload_to == "NVMe" else wire
        seconds = seconds + passes * held * element / rate / 2  # half is hidden behind computing: a prior
    return seconds


_YEAR = 2021  # the last in which GPUs had PCIe 4


# A step may be so much faster and slower than with all that is known: releases of a program and machines differ.
_FASTER, _SLOWER = 0.85, 1.22
_WIDEST, _WIDEST_UNNAMED = 1.8, 2.2  # high over low


def _ends(asked: PredictionRequest, total: Seconds, fast: Seconds, slow: Seconds) -> tuple[Seconds, Seconds]:
    """The shortest and the longest step that is plausible."""
    low = min(fast, _FASTER * total)
    high = max(slow, _SLOWER * total)
    most = _WIDEST if asked.is_named else _WIDEST_UNNAMED
    if high / low <= most:
        return low, high
    narrower = math.log(most) / math.log(high / low)
    return total * (low / total) ** narrower, total * (high / total) ** narrower


def _scores(asked: PredictionRequest) -> str:
    if asked.layout.recompute != "none":
        return ""
    if _is_fused(asked):
        return (
            "Attention is fused, as in FlashAttention, and stores no scores: recompute=none needs"
            " what recompute=selective does."
        )
    return "Attention is not fused here, so recompute=none stores its scores: recompute=selective computes them again."


def _is_fused(asked: PredictionRequest) -> bool:
    """Whether attention's scores stay on the chip: they do where nobody says otherwise."""
    if asked.shares.kernels == "as usual":
        return asked.stack.attention != "unfused"
    return asked.shares.kernels == "fused"


def _stages(block: _Block, stages: Iterable[Whole]) -> list[StageMemory]:
    """Bytes on a GPU of each of *stages*; where only every k-th layer is computed again, between all and none."""
    asked = block.asked
    found, every = _stages_with(block, stages), asked.stack.recompute_every
    if every == 1 or asked.layout.recompute != "full":
        return found
    return [
        one._replace(activations=one.activations / every + (1 - 1 / every) * other.activations)
        for one, other in zip(found, _stages_with(block.without_recomputing(), stages), strict=True)
    ]


_UNFUSED_NORM, _UNFUSED_GATE = 8, 2  # bytes of an element that eager RMSNorm and gates keep beside
_BUCKETS = 8 * 500_000_000  # bytes of DeepSpeed: two buckets to reduce and two to gather, of 5e8 numbers each


def _stages_with(block: _Block, stages: Iterable[Whole]) -> list[StageMemory]:
    asked, by = block.asked, block.by
    shape, stack, on = asked.model, asked.stack, block.on(_is_fused(asked))
    rank = RankMemoryTerms.of(shape, LayerParts.of(shape), asked.recipe, on, by)
    if stack.compiled == "no" and not on.operations:
        more = on.tokens * _unfused_bytes(shape, on, by)
        held = rank.held
        more_kept = 0 if on.full else more
        rank = rank._replace(
            held=held._replace(
                dense_kept=held.dense_kept + more_kept,
                mixed_kept=held.mixed_kept + more_kept,
                dense_working=held.dense_working + more,
                mixed_working=held.mixed_working + more,
            )
        )
    return [_with_stack(stack, on, by, stage_bytes(shape, on, rank, stage, by)) for stage in stages]


def _unfused_bytes(shape: ModelShape, on: Degrees, by: Numbers) -> Value:
    """Bytes of a token in a layer that eager kernels keep for the backward pass, beside what fused ones do."""
    inner = shape.feed_forward or shape.active_experts * shape.expert_feed_forward
    gate = _UNFUSED_GATE * inner / on.tensor if shape.gated else 0.0
    return gate + (_UNFUSED_NORM * shape.hidden * sequence_share(on, by) if shape.norm == "rms" else 0.0)


def _with_stack(stack: Stack, on: Degrees, by: Numbers, stage: StageMemory) -> StageMemory:
    """*stage*, without what is offloaded, and with the buckets of DeepSpeed."""
    if stack.name == "DeepSpeed":
        spread = by.where(on.zero_stage >= _ALL, on.context * on.data, 1)
        stage = stage._replace(workspace=stage.workspace + by.smaller(_BUCKETS, 4 * stage.weights * spread))
    if stack.offload in ("optimizer", "both"):
        stage = stage._replace(optimizer=0.0, gradients=by.where(on.zero_stage < _REDUCED, stage.gradients, 0.0))
    if stack.offload in ("parameters", "both"):
        stage = stage._replace(weights=0.0)
    return stage


_REDUCED, _ALL = 2, 3  # ZeRO stages that shard gradients, and weights


_ELEMENT_IN_FEW_BITS = 1.25


def _lean(asked: PredictionRequest) -> tuple[PredictionRequest, str]:
    """*asked* with all that nobody said as it needs the least memory, and a clause that says what that is."""
    stack, few, held = asked.stack, asked.layout.precision != "16-bit", not asked.has_recipe
    lean = {
        "loss": "fused" if stack.loss == "unknown" or not asked.is_named else "",
        "compiled": "yes" if stack.compiled == "unknown" or not asked.is_named else "",
        "gradients": "BF16" if held and stack.gradients == "unknown" else "",
        "weights": ("8-bit" if few else "BF16") if held and stack.weights == "unknown" and not stack.is_pytorch else "",
        "moments": "BF16" if held and few and stack.moments == "unknown" and stack.optimizer == "AdamW" else "",
    }
    lean = {name: value for name, value in lean.items() if value not in ("", getattr(stack, name))}
    changed = stack.changed(lean)
    recipe = (
        asked.recipe if stack.adapter != "none" else stack_recipe(changed, asked.recipe if asked.has_recipe else None)
    )
    if "loss" in lean:
        recipe = replace(recipe, logit_bytes=min(recipe.logit_bytes, LOGIT_BYTES["fused"]))
    if few and held:  # inputs of products are kept as these take them
        recipe = replace(recipe, element_bytes=_ELEMENT_IN_FEW_BITS)
    layout = asked.layout
    if layout.recompute == "selective" and stack.name == "Megatron":  # which modules it recomputes is a choice
        layout, lean = replace(layout, recompute="operations"), {**lean, "recompute": "operations"}
    says = ", ".join(f"{name}={value}" for name, value in lean.items())
    return replace(asked, layout=layout, recipe=recipe, stack=changed), says


def _unsaid(asked: PredictionRequest) -> str:
    """What of the stack nobody said, of which the time depends."""
    names = [name for name in ("compiled", "attention") if getattr(asked.stack, name) == "unknown"]
    if not asked.is_named:
        names.insert(0, "stack")
    return f"{listed_names(names)} {'is' if len(names) == 1 else 'are'} not given" if names else ""


def listed_names(names: Sequence[str]) -> str:
    """*names* as words of a sentence: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


_token_flops = lru_cache(512)(counted_flops)


# Of those whose name says too little; every other part is called by its name.
_CALLED = {
    "compute": "computation",
    "products": "matrix products",
    "element_wise": "element-wise kernels",
    "head": "the output head",
    "launches": "kernel launches",
    "recompute": "recomputation",
    "tensor": "tensor parallelism",
    "context": "context parallelism",
    "expert": "expert parallelism",
    "data": "data parallelism",
    "messages": "messages between stages",
    "bubble": "the pipeline bubble",
    "skew": "waiting for slower GPUs",
}
_NAMED = 1  # percent of the step: smaller parts limit nothing


def explain_estimate(found: Estimate) -> str:
    """What limits the step of *found*, and whether and where it fits."""
    texts = (_of_time(found), _of_interval(found), _of_memory(found), found.scores)
    return " ".join(text for text in texts if text)


def part_name(part: str) -> str:
    """The part of a step or of its memory, as a person calls it."""
    return _CALLED.get(part, part.replace("_", " "))


def _of_time(found: Estimate) -> str:
    first, second, *_ = sorted(found.parts, key=lambda part: -found.parts[part])
    shares = {part: 100 * found.parts[part] / found.total for part in (first, second)}
    then = f", then {part_name(second)} ({shares[second]:.3g} %)" if shares[second] >= _NAMED else ""
    return f"The largest part of the step is {part_name(first)} ({shares[first]:.3g} %){then}."


def _of_interval(found: Estimate) -> str:
    if found.low == found.high:
        return ""
    low, high = (show(seconds, SECOND, 3) for seconds in (found.low, found.high))
    return f"It takes {low} to {high}: {found.unsaid or 'runs with all of this differ by so much'}."


def _of_memory(found: Estimate) -> str:
    needs, has = (show(size, BYTE, 3) for size in (found.allocated, found.room))
    fullest = f"stage {found.stages.index(found.allocated)} of {len(found.stages)}, the fullest,"
    stage = fullest if len(found.stages) > 1 else "a GPU"
    if found.allocated <= found.room:
        return f"It fits: {stage} needs {needs} of {has}."
    lacking = show(found.allocated - found.room, BYTE, 3)
    largest = max(found.memory, key=lambda part: found.memory[part])
    verdict = "It may not fit" if found.fits else "It does not fit"
    return (
        f"{verdict}{_unless(found)}: {stage} needs {needs}, {lacking} more than the {has} available;"
        f" the largest part is {part_name(largest)} ({show(found.memory[largest], BYTE, 3)})."
    )


def _unless(found: Estimate) -> str:
    """What nobody said that would make room."""
    if not found.fits or found.least > found.room:
        return ", unless it needs a tenth less than predicted" if found.fits else ""
    return f", unless {found.leaner}: then {show(found.least, BYTE, 3)} are enough"
