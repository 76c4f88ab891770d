"""Bytes on a rank of a pipeline stage, part by part."""

from typing import Any, NamedTuple

from app.formulas.step.degrees import (
    Degrees,
    Middle,
    in_flight,
    mixture_layers,
    stage_layers,
    stage_of,
)
from app.formulas.step.numbers import PLAIN, Numbers, Value
from app.units import Bytes

WORKSPACE = 48 * 2**20  # 32 MiB of cuBLAS on Hopper and later, and small buffers
_PADDED = 128  # rows of the vocabulary: Megatron-LM, --make-vocab-size-divisible-by
_NORM, _SUM = 8, 4  # FP32 statistics: of both norms for a token, of a head's softmax for a token
_GATHERED = 2  # layers whose weights ZeRO 3 holds whole: the present one and the one that follows


class StageMemory(NamedTuple):
    """Bytes on a rank of a stage at its peak, by part; or columns of them.

    *transient* is what a backward pass holds for a moment, *workspace* what stays allocated.
    """

    weights: Bytes
    gradients: Bytes
    optimizer: Bytes
    activations: Bytes
    logits: Bytes
    transient: Bytes
    workspace: Bytes

    @property
    def total(self) -> Bytes:
        """What is allocated at the peak: the sum of all parts."""
        return sum(self)

    @property
    def buffers(self) -> Bytes:
        """Everything but state and activations."""
        return self.logits + self.transient + self.workspace


class LayerParameters(NamedTuple):
    """Parameters of a layer on a rank, before ZeRO divides them.

    Of a *dense* layer, of the part of a *mixed* layer that is not experts, and of its *experts*.
    """

    dense: Value
    mixed: Value
    experts: Value

    @classmethod
    def of(cls, shape: Any, parts: Any, on: Degrees) -> "LayerParameters":
        """The parameters of the layers of *shape*, whose whole layers have *parts*."""
        attention = parts.attention / on.tensor + parts.norms
        return cls(
            attention + parts.feed_forward / on.tensor,
            attention + parts.router + parts.shared / on.tensor,
            parts.expert * shape.experts / on.expert / on.expert_tensor,
        )


class Stage(NamedTuple):
    """A stage: how many layers of each kind it has, and whether it is the first and the last."""

    dense: Value
    mixtures: Value
    first: Value
    last: Value

    @classmethod
    def of(cls, shape: Any, on: Degrees, stage: Value, by: Numbers = PLAIN) -> "Stage":
        """The stage number *stage*, from 0."""
        held, before = stage_layers(shape.layers, on, stage, by)
        mixtures = mixture_layers(shape, held, before, by)
        return cls(held - mixtures, mixtures, stage == 0, stage == on.pipeline - 1)


def padded_vocabulary(shape: Any, tensor: Value, by: Numbers = PLAIN) -> Value:
    """Rows of the embedding: one more than the vocabulary, in equal multiples of 128 per rank."""
    return by.ceil((shape.vocabulary + 1) / (_PADDED * tensor)) * _PADDED * tensor


def end_parameters(shape: Any, on: Degrees, at: Stage, rows: Value, by: Numbers = PLAIN) -> Value:
    """Parameters outside the layers: the embedding first; last the norm and the output head."""
    table = rows * shape.hidden
    shared = shape.tied & (on.pipeline == 1)
    norm = shape.hidden * (1 if shape.norm == "rms" else 2)
    embedding = by.where(at.first, table + shape.positions * shape.hidden, 0)
    return embedding + by.where(at.last, norm + by.where(shared, 0, table), 0)


class LayerBytes(NamedTuple):
    """Bytes of a micro-batch in a dense and in a mixed layer.

    *kept* until the backward pass, and *working* while that backward pass runs.
    """

    dense_kept: Value
    mixed_kept: Value
    dense_working: Value
    mixed_working: Value

    @classmethod
    def of(cls, shape: Any, recipe: Any, on: Degrees, by: Numbers = PLAIN) -> "LayerBytes":
        """The bytes of the layers of *shape*."""
        tokens, size, wide = on.tokens, recipe.element_bytes, 2 if shape.gated else 1
        outside = shape.hidden * along(on, by)
        chosen, inner = shape.active_experts, shape.expert_feed_forward
        routed = chosen * shape.hidden * on.expert_tensor / on.tensor  # copies sent to experts
        attended = _attention(shape, on, size, by) + size * 4 * outside
        dense = attended + size * (wide + 1) * shape.feed_forward / on.tensor
        expert = (wide + 1) * (chosen + shape.shared) * inner / on.tensor
        mixed = attended + size * (expert + routed)
        back = size * (outside + wide * shape.feed_forward / on.tensor)
        mixed_back = size * (2 * routed + (wide + 1) * chosen * inner / on.tensor)
        return cls(
            tokens * by.where(on.full, size * outside, dense),
            tokens * by.where(on.full, size * outside, mixed),
            tokens * (back + by.where(on.full, dense, 0)),
            tokens * (mixed_back + by.where(on.full, mixed, 0)),
        )


def along(on: Degrees, by: Numbers = PLAIN) -> Value:
    """The share of the tokens that a rank has between attention and feed-forward."""
    return by.where(on.sequence_parallel, 1 / on.tensor, 1)


def _attention(shape: Any, on: Degrees, size: Value, by: Numbers) -> Value:
    """Bytes that attention keeps of a token, and statistics of softmax and norms."""
    found = shape.heads * shape.head_size
    elements = 2 * found + 2 * shape.heads * shape.rope
    elements = elements + 2 * shape.key_value_heads * shape.head_size
    exchanged = by.where((on.context > 1) & (on.exchanged > 0), found, 0)
    scores = by.where(on.full + on.selective < 1, 2 * shape.heads * on.sequence / on.context, 0)
    latent = 2 * shape.query_latent + 2 * shape.latent
    split = size * (elements + exchanged + scores) + _SUM * shape.heads
    return split / on.tensor + size * latent + _NORM


class Rank(NamedTuple):
    """What the stages of a layout have in common: a layer's parameters and bytes on a rank.

    *rows* of the embedding are on a rank; *kinds* are one weight of each shape, as elements: of
    attention, and more in a dense and in a mixed layer.
    """

    layer: LayerParameters
    held: LayerBytes
    rows: Value
    kinds: tuple[Value, Value, Value]

    @classmethod
    def of(cls, shape: Any, parts: Any, recipe: Any, on: Degrees, by: Numbers = PLAIN) -> "Rank":
        """A rank of a layout; *parts* are those of the shape's layers."""
        attention, dense, shared, expert, alike = weights_by_shape(shape)
        expert = expert - by.where(on.expert_tensor == on.tensor, alike, 0)
        return cls(
            LayerParameters.of(shape, parts, on),
            LayerBytes.of(shape, recipe, on, by),
            padded_vocabulary(shape, on.tensor, by) / on.tensor,
            (
                attention / on.tensor,
                dense / on.tensor,
                shared / on.tensor + expert / on.expert_tensor,
            ),
        )


def stage_bytes(
    shape: Any, recipe: Any, on: Degrees, rank: Rank, stage: Value, by: Numbers = PLAIN
) -> StageMemory:
    """Bytes on a rank of stage number *stage*, from 0."""
    at, layer, held = Stage.of(shape, on, stage, by), rank.layer, rank.held
    every = at.dense * layer.dense + at.mixtures * layer.mixed
    every = every + end_parameters(shape, on, at, rank.rows, by)
    experts = at.mixtures * layer.experts
    whole = every + experts
    shared = every / on.sharded + experts / by.larger(1, on.expert_shards)
    logits, transient = _peak(shape, recipe, on, at, rank, by)
    return StageMemory(
        by.where(on.zero_stage > 2, shared, whole) * recipe.weight_bytes,  # noqa: PLR2004
        by.where(on.zero_stage > 1, shared, whole) * recipe.gradient_bytes,
        by.where(on.zero_stage > 0, shared, whole) * recipe.optimizer_bytes,
        in_flight(on, stage, by) * (at.dense * held.dense_kept + at.mixtures * held.mixed_kept),
        logits,
        transient + _sharding(recipe, on, at, layer, by),
        WORKSPACE + recipe.element_bytes * _one_of_each(at, rank, by),
    )


def _peak(
    shape: Any, recipe: Any, on: Degrees, at: Stage, rank: Rank, by: Numbers
) -> tuple[Value, Value]:
    """Logits, and what the backward pass holds beside: of the head, or of a layer if larger."""
    logits = by.where(at.last, recipe.logit_bytes * on.tokens * rank.rows, 0)
    gathered = by.where((on.sequence_parallel > 0) & (on.tensor > 1), 2, 0)
    norm = 3 * along(on, by)  # in and out of the last norm, and its gradient
    head = rank.rows + on.tokens * (gathered + norm)
    head = by.where(at.last, recipe.element_bytes * shape.hidden * head, 0)
    layer = by.larger(
        by.where(at.dense > 0, rank.held.dense_working, 0),
        by.where(at.mixtures > 0, rank.held.mixed_working, 0),
    )
    in_layer = layer > logits + head
    return by.where(in_layer, 0, logits), by.where(in_layer, layer, head)


def _sharding(recipe: Any, on: Degrees, at: Stage, layer: LayerParameters, by: Numbers) -> Value:
    """Weights that ZeRO 3 gathers, and the gradients of a layer that ZeRO 2 and 3 reduce."""
    largest = by.larger(
        by.where(at.dense > 0, layer.dense, 0),
        by.where(at.mixtures > 0, layer.mixed + layer.experts, 0),
    )
    gathered = by.where(on.zero_stage > 2, _GATHERED * recipe.element_bytes, 0)  # noqa: PLR2004
    return largest * (gathered + by.where(on.zero_stage > 1, recipe.reduced_bytes, 0))


def _one_of_each(at: Stage, rank: Rank, by: Numbers) -> Value:
    """Elements of one weight of each shape on the rank."""
    attention, dense, mixed = rank.kinds
    return (
        by.where(at.dense + at.mixtures > 0, attention, 0)
        + by.where(at.dense > 0, dense, 0)
        + by.where(at.mixtures > 0, mixed, 0)
    )


def fullest_stages(shape: Any, on: Degrees, by: Numbers = PLAIN) -> tuple[Value, ...]:
    """Numbers of stages of which one is the fullest.

    An earlier stage holds more micro-batches, so of stages with the same layers the first is the
    fullest: the first stage, the first in the middle, the first that is longer; where the layers
    begin to have experts, that stage, the next, and the first after it that is longer; the last.
    """
    middle, last = Middle.of(shape.layers, on), on.pipeline - 1
    longer = middle.start + middle.low
    chosen: tuple[Value, ...] = (0 * last, by.smaller(middle.start, last), by.smaller(longer, last))
    if shape.experts and shape.dense_layers:
        turns = stage_of(shape.dense_layers - 1, on, middle, by)
        then = by.smaller(turns + 1, last)
        chosen += (by.smaller(turns, last), then, by.smaller(by.larger(then, longer), last))
    return (*chosen, last)


def most_memory(shape: Any, recipe: Any, on: Degrees, rank: Rank, by: Numbers = PLAIN) -> Value:
    """Bytes that are allocated on the fullest stage: the total alone, for a search."""
    most: Value = 0
    for stage in fullest_stages(shape, on, by):
        most = by.larger(most, stage_bytes(shape, recipe, on, rank, stage, by).total)
    return most


def weights_by_shape(shape: Any) -> tuple[int, int, int, int, int]:
    """Elements of one weight of each distinct shape, where all are split alike.

    In attention, in the feed-forward of a dense layer, in the shared experts, and in an expert; of
    those of an expert, the last are also among the others.
    """
    found, hidden = shape.heads * shape.head_size, shape.hidden
    sizes = {(found + 2 * shape.key_value_heads * shape.head_size, hidden), (hidden, found)}
    if shape.latent:
        sizes = {
            (shape.query_latent, hidden),
            (shape.heads * (shape.head_size + shape.rope), shape.query_latent or hidden),
            (shape.latent + shape.rope, hidden),
            (2 * found, shape.latent),
            (hidden, found),
        }
    dense = _up_and_down(shape, shape.feed_forward) - sizes
    shared = _up_and_down(shape, shape.shared * shape.expert_feed_forward) - sizes
    expert = _up_and_down(shape, shape.expert_feed_forward)
    alike = expert & (sizes | shared)
    return _area(sizes), _area(dense), _area(shared), _area(expert), _area(alike)


def _up_and_down(shape: Any, inner: int) -> set[tuple[int, int]]:
    return {((2 if shape.gated else 1) * inner, shape.hidden), (shape.hidden, inner)}


def _area(sizes: set[tuple[int, int]]) -> int:
    return sum(high * wide for high, wide in sizes)
