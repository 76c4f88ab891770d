"""One prediction, and the formulas that make it; no other module of this room calls them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.parallelism.degrees import Degrees
from app.core.formulas.parallelism.numbers import PLAIN
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares
from app.core.formulas.step.cluster_speeds import Side, is_fused, peak_of, reduced_by, speeds_of
from app.core.formulas.step.memory import RankMemoryTerms, StageMemory, stage_bytes
from app.core.formulas.step.model_flops import counted_flops
from app.core.formulas.step.step import step_parts
from app.core.formulas.transformer.parameters import LayerParts
from app.core.translation import say
from app.core.units import Bytes, PerSecond, Ratio, Seconds

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
