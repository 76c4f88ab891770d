"""Figures that move, for chapters, and for exercises whose figures play answers."""

from dataclasses import replace

from app.core.charts.motion import Motion
from app.core.formulas.checks import positive, whole
from app.core.motions.answers import MOST_STEPS, climbed_roof, covered_columns, memory_read, small_and_large_step
from app.core.motions.ranks import (
    failure_timeline,
    gather_beside_product,
    growing_caches,
    partial_sums,
    sharded_layers,
    straggler_timeline,
    tokens_to_experts,
)
from app.core.motions.rings import MOST_RANKS, ring_motion
from app.core.translation import say, translate
from app.core.units import BYTE, BYTE_PER_SECOND, FLOP_PER_SECOND, Bytes, BytesPerSecond, Count, FlopsPerSecond, show
from app.course.illustrations.base import Illustration


def _colored(ranks: int) -> int:
    if whole("ranks", ranks, 2) > MOST_RANKS:
        raise ValueError(say("ranks must be at most {most}, not {ranks}", most=MOST_RANKS, ranks=ranks))
    return ranks


def _ring(ranks: Count = 8, size: Bytes | None = None) -> Motion:
    if not size:
        return ring_motion(_colored(ranks))
    ring = ring_motion(_colored(ranks), (translate("{size} on each", size=show(size, BYTE)),))
    last = ring.frames[-1]
    too_much = tuple(piece._replace(paint="rs") for piece in last.pieces)
    says = translate("The sums are complete. What is sent beyond them is on every rank already.")
    return replace(ring, frames=(*ring.frames, replace(last, says=says, pieces=too_much)))


def _layers(layers: Count = 4) -> Motion:
    return sharded_layers(layers)


def _roof(peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> Motion:
    slope = show(positive("bandwidth", bandwidth), BYTE_PER_SECOND)
    return climbed_roof(show(positive("peak", peak), FLOP_PER_SECOND), slope)


def _steps(base: Count, batch: Count) -> Motion:
    if not 1 < batch // base <= MOST_STEPS:
        raise ValueError(say("a batch must be 2 to {most} times the base", most=MOST_STEPS))
    return small_and_large_step(base, batch)


def _memory(weights: Bytes, caches: Bytes) -> Motion:
    return memory_read(positive("weights", weights), positive("caches", caches))


def _columns(columns: Count, ranks: Count) -> Motion:
    return covered_columns(columns, _colored(ranks))


MOVING_RING = Illustration("moving-ring", "a ring all-reduce, chunk by chunk", _ring)
SHARDED_LAYERS = Illustration("sharded-layers", "layers gathered and freed", _layers)
PARTIAL_SUMS = Illustration("partial-sums", "an MLP split by columns, then by rows", partial_sums)
GATHER = Illustration("gather-beside-product", "an all-gather beside its matrix product", gather_beside_product)
EXPERTS = Illustration("tokens-to-experts", "tokens on their way to experts", tokens_to_experts)
CACHES = Illustration("growing-caches", "caches that grow token by token", growing_caches)
STRAGGLER = Illustration("straggler", "ranks that wait for a slow one", straggler_timeline)
FAILURE = Illustration("failure", "a checkpoint, a failure, and work that is lost", failure_timeline)
ROOF = Illustration("roof", "the roofline of a GPU, without numbers on its axes", _roof)
STEPS = Illustration("small-and-large-step", "how far a large batch goes beside small ones", _steps)
MEMORY_READ = Illustration("memory-read", "weights and caches that a decoding step reads", _memory)
COVERED = Illustration("covered-columns", "a matrix whose columns GPUs take", _columns)
