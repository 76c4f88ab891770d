"""One prediction, the formulas that make it, and what limits the step."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.parallelism.degrees import PLAIN, Degrees
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares
from app.core.formulas.step.memory import RankMemoryTerms, StageMemory, stage_bytes
from app.core.formulas.step.speeds import Side, is_fused, peak_of, reduced_by, speeds_of
from app.core.formulas.step.step import step_parts
from app.core.formulas.step.widths import counted_flops
from app.core.formulas.transformer.parameters import LayerParts
from app.core.translation import say
from app.core.units import BYTE, SECOND, Bytes, PerSecond, Ratio, Seconds, show

RECIPE = Recipe.named("Megatron")
_HELD_BACK = 1.05  # as in card_memory
_MOST_STAGES = 1024  # of a pipeline: each is a number in the result


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """What is predicted."""

    model: ModelShape
    cluster: Cluster
    layout: Layout
    recipe: Recipe = RECIPE
    shares: Shares = GIVEN


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
    room: Bytes
    scores: str = ""  # what becomes of attention's scores if nothing is computed again

    @property
    def allocated(self) -> Bytes:
        """Bytes on the fullest GPU."""
        return max(self.stages)

    @property
    def fits(self) -> bool:
        """Whether what is allocated fits on the GPUs of every stage."""
        return self.allocated <= self.room


def estimate(asked: PredictionRequest) -> Estimate:
    """The predicted step, and its memory.

    Raises:
        ValueError: the layout does not divide the model, or has another number of GPUs.
        ArithmeticError: a result is too large for a number.
    """
    layout, gpu = asked.layout, asked.cluster.gpu
    peak = peak_of(gpu, layout.precision)
    if layout.pipeline > _MOST_STAGES:
        raise ValueError(
            say(
                "{name} must be at most {most} here, as each stage is listed, not {value}",
                name="pipeline",
                most=f"{_MOST_STAGES:,}",
                value=f"{layout.pipeline:,}",
            )
        )
    times = step_time(asked.model, asked.cluster, layout, asked.shares, asked.recipe)
    low, high = _ends(asked, times)
    stages = _stages(asked)
    fullest = max(stages, key=sum)
    found = Estimate(
        parts=times._asdict(),
        total=times.total,
        low=low,
        high=high,
        utilization=_flops(asked) / (layout.gpus * peak * times.total),
        token_rate=layout.tokens / times.total / layout.gpus,
        stages=tuple(map(sum, stages)),
        memory=fullest._asdict(),
        reserved=sum(fullest) * _HELD_BACK,
        room=gpu.memory,
        scores=_scores(asked),
    )
    if not all(map(isfinite, (*times, found.utilization, found.token_rate, found.reserved))):
        raise OverflowError
    return found


def _ends(asked: PredictionRequest, times: StepTime) -> tuple[Seconds, Seconds]:
    """The shortest and the longest step that is plausible, as in step_time_range."""
    layout, precision = asked.layout, asked.layout.precision
    sides: tuple[Side, ...] = ("fast", "slow")
    fast, slow = (speeds_of(asked.model, asked.cluster, asked.shares, precision, side) for side in sides)
    if fast == slow:  # every share has a source
        return times.total, times.total
    degrees, sent = Degrees.of(layout, fast.fused), reduced_by(asked.recipe)
    low, high = (sum(step_parts(asked.model, speeds, degrees, PLAIN, sent)) for speeds in (fast, slow))
    return low, high


def _scores(asked: PredictionRequest) -> str:
    if asked.layout.recompute != "none":
        return ""
    if is_fused(asked.model, asked.cluster.gpu, asked.shares):
        return (
            "Attention is fused, as in FlashAttention, and stores no scores: recompute=none needs"
            " what recompute=selective does."
        )
    return (
        "Attention is not fused here, so recompute=none stores its scores: recompute=selective"
        " computes them again, and kernels=fused among the shares is FlashAttention."
    )


def _stages(asked: PredictionRequest) -> list[StageMemory]:
    on = Degrees.of(asked.layout, is_fused(asked.model, asked.cluster.gpu, asked.shares))
    rank = RankMemoryTerms.of(asked.model, LayerParts.of(asked.model), asked.recipe, on)
    stages = range(asked.layout.pipeline)
    return [stage_bytes(asked.model, on, rank, stage) for stage in stages]


def _flops(asked: PredictionRequest) -> float:
    """FLOP of the model in a step, with a causal mask."""
    shape, layout = asked.model, asked.layout
    return counted_flops(shape, layout.sequence) * layout.tokens


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
_NAMED = 0.01  # of the step: smaller parts limit nothing


def why(found: Estimate) -> str:
    """What limits the step of *found*, and whether and where it fits."""
    return " ".join(text for text in (_of_time(found), _of_interval(found), _of_memory(found), found.scores) if text)


def called(part: str) -> str:
    """The part of a step or of its memory, as a person calls it."""
    return _CALLED.get(part, part.replace("_", " "))


def _of_time(found: Estimate) -> str:
    first, *others = _largest(found.parts, found.total)
    then = f", then {others[0]}" if others else ""
    return f"The largest part of the step is {first}{then}."


def _largest(parts: Mapping[str, float], total: float) -> list[str]:
    """The largest *parts* that count, with their shares of *total*."""
    order = sorted(parts, key=lambda part: -parts[part])
    counts = [part for part in order[1:] if parts[part] >= _NAMED * total]
    return [f"{called(part)} ({100 * parts[part] / total:.3g} %)" for part in (order[0], *counts)]


def _of_interval(found: Estimate) -> str:
    if found.low == found.high:
        return ""
    low, high = (show(seconds, SECOND, 3) for seconds in (found.low, found.high))
    return (
        f"It takes {low} to {high}: not every share of the hardware's peak that it depends on has a"
        " published source. Measure yours, and give them under shares."
    )


def _of_memory(found: Estimate) -> str:
    needs, has = (show(size, BYTE, 3) for size in (found.allocated, found.room))
    stage = _stage(found)
    if found.fits:
        return f"It fits: {stage} needs {needs} of {has}."
    lacking = show(found.allocated - found.room, BYTE, 3)
    largest = max(found.memory, key=lambda part: found.memory[part])
    return (
        f"It does not fit: {stage} needs {needs}, {lacking} more than the {has} available;"
        f" the largest part is {called(largest)} ({show(found.memory[largest], BYTE, 3)})."
    )


def _stage(found: Estimate) -> str:
    if len(found.stages) == 1:
        return "a GPU"
    return f"stage {found.stages.index(found.allocated)} of {len(found.stages)}, the fullest,"
