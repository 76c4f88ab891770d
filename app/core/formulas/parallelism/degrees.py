"""The degrees of a layout as numbers or as columns of them, and the layers on each of its stages."""

import math
from typing import Any, NamedTuple, Protocol

Value = Any  # a float, or a column of floats


class Numbers(Protocol):
    """Choices and rounding; both sides of a choice are computed, whichever is taken."""

    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        """*yes* where *condition* holds, otherwise *no*."""

    def larger(self, one: Value, other: Value) -> Value:
        """The larger of two."""

    def smaller(self, one: Value, other: Value) -> Value:
        """The smaller of two."""

    def ceil(self, value: Value) -> Value:
        """The next whole number that is not below *value*."""


class _Plain:
    """Python's own."""

    larger = staticmethod(max)
    smaller = staticmethod(min)
    ceil = staticmethod(math.ceil)

    @staticmethod
    def where(condition: Value, yes: Value, no: Value) -> Value:
        return yes if condition else no


PLAIN: Numbers = _Plain()


def columns() -> Numbers:
    """Those of NumPy, which is imported now.

    Raises:
        ImportError: NumPy is not installed.
    """
    import numpy

    class _Columns:
        where = staticmethod(numpy.where)
        larger = staticmethod(numpy.maximum)
        smaller = staticmethod(numpy.minimum)
        ceil = staticmethod(numpy.ceil)

    return _Columns()


class CoreShape(Protocol):
    """What the core reads of a model's shape, which is always one: never a column."""

    @property
    def layers(self) -> int:
        """Layers of the model."""

    @property
    def heads(self) -> int:
        """Attention heads."""

    @property
    def experts(self) -> int:
        """Experts of a layer; 0 in a dense model."""

    @property
    def expert_feed_forward(self) -> int:
        """Inner size of an expert."""

    @property
    def dense_layers(self) -> int:
        """Layers at the start of a mixture model that have no experts."""


def expert_split(given: int, tensor: Value, shards: Value, expert: Value, by: Numbers = PLAIN) -> Value:
    """Ranks that share an expert, of *shards* ranks that hold the same of everything else.

    Where none are *given*: *tensor* ranks, or one if the experts must be spread over the tensor
    parallel ranks to have enough of them.
    """
    spread = (shards % expert != 0) & (shards * tensor % expert == 0)
    return given or by.where(spread, 1, tensor)


class Degrees(NamedTuple):
    """A layout as numbers; *full*, *selective* or *operations* is 1 where that is recomputed.

    Each is a plain number or a column. *expert_tensor* is the number of ranks that share an expert,
    *sharded* that over which ZeRO shards; *first* and *last* are the layers of the end stages, 0
    where they are as even as possible; *exchanged* is 1 where context parallelism exchanges heads
    by all-to-all, and 0 where it gathers keys and values.
    """

    tensor: Value = 1
    pipeline: Value = 1
    context: Value = 1
    expert: Value = 1
    data: Value = 1
    virtual: Value = 1
    microbatches: Value = 1
    micro_batch: Value = 1
    sequence: Value = 8192
    zero_stage: Value = 1
    full: Value = 0
    selective: Value = 1
    sequence_parallel: Value = 1
    expert_tensor: Value = 1
    sharded: Value = 1
    first: Value = 0
    last: Value = 0
    exchanged: Value = 1
    operations: Value = 0

    @classmethod
    def of(cls, layout: Any, fused: bool = True) -> "Degrees":
        """The numbers of a single *layout*.

        *fused* attention computes its scores again without being told to, as selective
        recomputation does.
        """
        selective = layout.recompute == "selective" or (fused and layout.recompute == "none")
        return cls(
            layout.tensor,
            layout.pipeline,
            layout.context,
            layout.expert,
            layout.data,
            layout.virtual,
            layout.microbatches,
            layout.micro_batch,
            layout.sequence,
            layout.zero_stage,
            full=1 if layout.recompute == "full" else 0,
            selective=1 if selective else 0,
            sequence_parallel=1 if layout.sequence_parallel else 0,
            expert_tensor=layout.expert_split,
            sharded=layout.shard_ranks or layout.data * layout.context,
            first=layout.first_layers,
            last=layout.last_layers,
            exchanged=1 if layout.context_by == "all-to-all" else 0,
            operations=1 if layout.recompute == "operations" else 0,
        )

    @property
    def tokens(self) -> Value:
        """Tokens of a micro-batch on a rank."""
        return self.micro_batch * self.sequence / self.context

    @property
    def expert_shards(self) -> Value:
        """Ranks over which ZeRO shards an expert: those of a shard group that have the same."""
        return self.sharded * self.tensor / (self.expert * self.expert_tensor)


class Middle(NamedTuple):
    """The stages whose layers are not given: the first of them, how many, and what they have.

    Those from *low* to before *high* have *fewer* layers and *more* (0 or 1), the others *fewer*.
    """

    start: Value
    stages: Value
    layers: Value
    fewer: Value
    more: Value
    low: Value
    high: Value

    @classmethod
    def of(cls, layers: Value, on: Degrees) -> "Middle":
        """The middle of a pipeline over *layers* layers."""
        start, end = (on.first > 0) * 1, (on.last > 0) * 1
        stages = on.pipeline - start - end
        left = layers - on.first - on.last
        divided = stages + (stages < 1) * (1 - stages)  # no division by zero where none are left
        short = -left % divided
        low = (short + end * (1 - start)) // 2
        fewer = left // divided
        return cls(start, stages, left, fewer, (short > 0) * 1, low, divided - (short - low))


def stage_layers(layers: Value, on: Degrees, middle: Middle, stage: Value, by: Numbers = PLAIN) -> tuple[Value, Value]:
    """The layers on pipeline stage *stage*, and the layers before it."""
    place = stage - middle.start
    longer = (place >= middle.low) & (place < middle.high)
    held = middle.fewer + middle.more * longer
    passed = by.smaller(place, middle.high) - by.smaller(place, middle.low)
    before = on.first + middle.fewer * place + middle.more * passed
    if is_plain_zero(on.first) and is_plain_zero(on.last):
        return held, before
    first = (stage == 0) & (on.first > 0)
    last = (stage == on.pipeline - 1) & (on.last > 0)
    held = by.where(first, on.first, by.where(last, on.last, held))
    before = by.where(first, 0, by.where(last, layers - on.last, before))
    return held, before


def is_plain_zero(value: Value) -> bool:
    """Whether it is 0 in every layout: a plain number, not a column."""
    return isinstance(value, int) and value == 0


def stage_of(layer: Value, on: Degrees, middle: Middle, by: Numbers = PLAIN) -> Value:
    """The stage that has layer number *layer*, from 0."""
    place = layer - on.first
    short, long = by.larger(1, middle.fewer), middle.fewer + middle.more
    before, upto = middle.low * middle.fewer, (middle.high - middle.low) * long
    within = middle.low + (place - before) // by.larger(1, long)
    after = middle.high + (place - before - upto) // short
    found = by.where(place < before + upto, within, after)
    found = by.where(place < before, place // short, found)
    return by.where(place < 0, 0, by.smaller(middle.start + found, on.pipeline - 1))


def mixture_layers(shape: CoreShape, held: Value, before: Value, by: Numbers = PLAIN) -> Value:
    """How many of the *held* layers of a stage, after *before* others, have experts."""
    dense = shape.dense_layers if shape.experts else shape.layers
    return held - by.larger(0, by.smaller(held, dense - before))


def in_flight(on: Degrees, stage: Value, by: Numbers = PLAIN) -> Value:
    """Most micro-batches whose activations a stage holds under 1F1B, interleaved or not."""
    behind = on.pipeline - stage - 1
    chunks = (2 * behind + (on.virtual - 1) * on.pipeline + 1) / on.virtual
    return by.smaller(on.microbatches, by.where(on.virtual > 1, chunks, behind + 1))
