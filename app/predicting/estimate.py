"""One prediction, and the formulas that make it; no other module of this room calls them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from app.formulas.checks import fraction
from app.formulas.layout import step_time
from app.formulas.memory.budget import Budget, _of_stage
from app.formulas.presets import Cluster, Layout, ModelShape, Recipe
from app.formulas.records import Record
from app.formulas.transformer import active_parameters, token_flops
from app.units import Bytes, PerSecond, Ratio, Seconds

RECIPE = Recipe.named("mixed, FP32 gradients")
_HELD_BACK = (
    1.05  # reserved over allocated memory: PyTorch's allocator, 1.03 to 1.09 in measured runs
)
_MOST_STAGES = 1024  # of a pipeline: each is a number in the result


@dataclass(frozen=True, kw_only=True)
class Shares(Record):
    """Shares of the hardware's peak that a run reaches.

    *product* is the share of the GPU's peak that kernels reach while they compute.
    """

    what: ClassVar[str] = "set of shares"

    product: Ratio = 0.6  # as in step_time

    def __post_init__(self) -> None:
        fraction("product", self.product)


GIVEN = Shares()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
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

    @property
    def allocated(self) -> Bytes:
        """Bytes on the fullest GPU."""
        return max(self.stages)

    @property
    def fits(self) -> bool:
        """Whether what is allocated fits on the GPUs of every stage."""
        return self.allocated <= self.room


def estimate(asked: Asked) -> Estimate:
    """The predicted step, and its memory.

    Raises:
        ValueError: the layout does not divide the model, or has another number of GPUs.
        ArithmeticError: a result is too large for a number.
    """
    layout, gpu = asked.layout, asked.cluster.gpu
    if layout.pipeline > _MOST_STAGES:
        raise ValueError(
            f"pipeline must be at most {_MOST_STAGES:,} here, as each stage is listed, not"
            f" {layout.pipeline:,}"
        )
    times = step_time(asked.model, asked.cluster, layout, asked.shares.product)
    stages = _stages(asked)
    fullest = max(stages, key=sum)
    found = Estimate(
        parts=times._asdict(),
        total=times.total,
        low=times.total,
        high=times.total,
        utilization=_flops(asked) / (layout.gpus * gpu.peak * times.total),
        token_rate=layout.tokens / times.total / layout.gpus,
        stages=tuple(map(sum, stages)),
        memory=fullest._asdict(),
        reserved=sum(fullest) * _HELD_BACK,
        room=gpu.memory,
    )
    if not all(map(isfinite, (*times, found.utilization, found.token_rate, found.reserved))):
        raise OverflowError
    return found


def _stages(asked: Asked) -> list[Budget]:
    stages = range(asked.layout.pipeline)
    return [_of_stage(asked.model, asked.layout, asked.recipe, stage) for stage in stages]


def _flops(asked: Asked) -> float:
    """FLOP of the model in a step, with a causal mask."""
    shape, layout = asked.model, asked.layout
    per_token = token_flops(
        active_parameters(shape), shape.layers, shape.heads, shape.head_size, layout.sequence,
        causal=True,
    )  # fmt: skip
    return per_token * layout.tokens
