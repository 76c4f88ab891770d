"""Bytes on a rank of a pipeline stage, part by part, and the parameters behind them."""

from functools import lru_cache
from typing import NamedTuple

from app.core.formulas import parallelism
from app.core.formulas.parallelism import PLAIN, Degrees, Middle, Numbers, Value, Whole
from app.core.formulas.presets import ModelShape, Recipe
from app.core.formulas.step.layer import LayerBytes, sequence_share
from app.core.formulas.transformer import LayerParts
from app.core.units import Bytes

_PADDED = 128  # rows of the vocabulary: Megatron-LM, --make-vocab-size-divisible-by


class LayerParameters(NamedTuple):
    """Parameters of a layer on a rank, before ZeRO divides them.

    Of a *dense* layer, of the part of a *mixed* layer that is not experts, and of its *experts*.
    """

    dense: Value
    mixed: Value
    experts: Value

    @classmethod
    def of(cls, shape: ModelShape, parts: LayerParts, on: Degrees) -> "LayerParameters":
        """The parameters of the layers of *shape*, whose whole layers have *parts*."""
        attention = parts.attention / on.tensor + parts.norms
        return cls(
            attention + parts.feed_forward / on.tensor,
            attention + parts.router + parts.shared / on.tensor,
            parts.expert * shape.experts / on.expert / on.expert_tensor,
        )


class StageLayers(NamedTuple):
    """A stage: how many layers of each kind it has, and whether it is the first and the last.

    The layers of the modules that predict further tokens are on the last one.
    """

    dense: Whole
    mixtures: Whole
    first: bool
    last: bool

    @classmethod
    def of(cls, shape: ModelShape, on: Degrees, middle: Middle, stage: Whole, by: Numbers = PLAIN) -> "StageLayers":
        """The stage number *stage*, from 0."""
        held, before = parallelism.stage_layers(shape.layers, on, middle, stage, by)
        first, last = stage == 0, stage == on.pipeline - 1
        further = shape.multi_token * last
        if not shape.experts:
            return cls(held + further, 0, first, last)
        mixtures = parallelism.mixture_layers(shape, held, before, by)
        if shape.dense_layers == shape.layers:
            return cls(held - mixtures + further, mixtures, first, last)
        return cls(held - mixtures, mixtures + further, first, last)


def padded_vocabulary(shape: ModelShape, tensor: Whole, by: Numbers = PLAIN) -> Whole:
    """Rows of the embedding: one more than the vocabulary, in equal multiples of 128 per rank."""
    return by.ceil((shape.vocabulary + 1) / (_PADDED * tensor)) * _PADDED * tensor


def end_parameters(shape: ModelShape, on: Degrees, at: StageLayers, rows: Value, by: Numbers = PLAIN) -> Value:
    """Parameters outside the layers: the embedding first; last the norm and the output head."""
    table = rows * shape.hidden
    shared = shape.tied & (on.pipeline == 1)
    norm = shape.hidden * (1 if shape.norm == "rms" else 2)
    joined = 2 * shape.hidden**2 / on.tensor + 3 * norm  # projection and norms of a module
    closing = norm + shape.multi_token * joined
    embedding = by.where(at.first, table + shape.positions * shape.hidden, 0)
    copied = by.where(on.pipeline > 1, table, 0) if shape.multi_token else 0
    return embedding + by.where(at.last, closing + copied + by.where(shared, 0, table), 0)


@lru_cache(maxsize=256)
def weights_by_shape(shape: ModelShape) -> tuple[int, int, int, int, int]:
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


def _up_and_down(shape: ModelShape, inner: int) -> set[tuple[int, int]]:
    return {((2 if shape.gated else 1) * inner, shape.hidden), (shape.hidden, inner)}


def _area(sizes: set[tuple[int, int]]) -> int:
    return sum(high * wide for high, wide in sizes)


WORKSPACE = 48 * 2**20  # 32 MiB of cuBLAS on Hopper and later, and small buffers
# Elements of a module per hidden one: inputs of two norms, and their results, joined; recomputed, the second input.
_JOINED, _JOINED_AGAIN = 4, 1
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


class States(NamedTuple):
    """Bytes of weights, gradients and optimizer state that a rank holds of one of its parameters.

    Of a parameter that all ranks of a replica have, or of a parameter of an expert.
    """

    weights: Value
    gradients: Value
    optimizer: Value

    @classmethod
    def of(cls, recipe: Recipe, on: Degrees, shards: Value, by: Numbers) -> "States":
        """The bytes where ZeRO shards over *shards* ranks."""
        share = 1 / shards
        return cls(
            recipe.weight_bytes * by.where(on.zero_stage > 2, share, 1),  # noqa: PLR2004
            recipe.gradient_bytes * by.where(on.zero_stage > 1, share, 1),
            recipe.optimizer_bytes * by.where(on.zero_stage > 0, share, 1),
        )


class RankMemoryTerms(NamedTuple):
    """What the stages of a layout have in common: a layer's parameters and bytes on a rank.

    *rows* of the embedding are on a rank. *logits* and *head* are there while the output head runs
    its backward pass, *sharding* for every parameter of the largest layer. *kinds* are one weight
    of each shape, as bytes: of attention, and what a dense and a mixed layer have beside. *joined*
    are a module's: what it keeps of a micro-batch beside its layer, and the projection as bytes.
    """

    middle: Middle
    layer: LayerParameters
    held: LayerBytes
    states: States
    expert_states: States
    rows: Value
    logits: Value
    head: Value
    sharding: Value
    kinds: tuple[Value, Value, Value]
    joined: tuple[Value, Value]

    @classmethod
    def of(
        cls, shape: ModelShape, parts: LayerParts, recipe: Recipe, on: Degrees, by: Numbers = PLAIN
    ) -> "RankMemoryTerms":
        """A rank of a layout; *parts* are those of the shape's layers."""
        size, rows = recipe.element_bytes, padded_vocabulary(shape, on.tensor, by) / on.tensor
        gathered = by.where((on.sequence_parallel > 0) & (on.tensor > 1), 2, 0)
        norm = 3 * sequence_share(on, by)  # in and out of the last norm, and its gradient
        weights = by.where(on.zero_stage > 2, _GATHERED * size, 0)  # noqa: PLR2004
        attention, dense, shared, expert, alike = weights_by_shape(shape)
        expert = expert - by.where(on.expert_tensor == on.tensor, alike, 0)
        mixed = shared / on.tensor + expert / on.expert_tensor
        return cls(
            middle=Middle.of(shape.layers, on),
            layer=LayerParameters.of(shape, parts, on),
            held=LayerBytes.of(shape, recipe, on, by),
            states=States.of(recipe, on, on.sharded, by),
            expert_states=States.of(recipe, on, by.larger(1, on.expert_shards), by),
            rows=rows,
            logits=recipe.logit_bytes * on.tokens * rows * (1 + shape.multi_token),
            head=size * shape.hidden * (rows + on.tokens * (gathered + norm)),
            sharding=weights + by.where(on.zero_stage > 1, recipe.reduced_bytes, 0),
            kinds=(size * attention / on.tensor, size * dense / on.tensor, size * mixed),
            joined=(
                by.where(on.full, _JOINED_AGAIN, _JOINED) * (size * on.tokens * shape.hidden * sequence_share(on, by)),
                size * 2 * shape.hidden**2 / on.tensor,
            ),
        )


class StateBytes(NamedTuple):
    """Bytes on a rank that depend on its parameters and the ZeRO stage.

    *sharding* are weights that ZeRO gathers, and gradients that it reduces.
    """

    weights: Value
    gradients: Value
    optimizer: Value
    sharding: Value

    @classmethod
    def of(cls, shape: ModelShape, on: Degrees, rank: RankMemoryTerms, at: StageLayers, by: Numbers) -> "StateBytes":
        """Those of the stage *at*."""
        layer = rank.layer
        every = at.dense * layer.dense + end_parameters(shape, on, at, rank.rows, by)
        experts: Value = 0 * at.mixtures
        if shape.experts:
            every = every + at.mixtures * layer.mixed
            experts = at.mixtures * layer.experts
        largest = _larger(shape, at, layer.dense, layer.mixed + layer.experts, by)
        weights, gradients, optimizer = (
            every * one + experts * other for one, other in zip(rank.states, rank.expert_states, strict=True)
        )
        return cls(weights, gradients, optimizer, largest * rank.sharding)


class PassBytes(NamedTuple):
    """Bytes on a rank that depend on the micro-batch and the layers of the stage.

    *kept* by each micro-batch in flight; *logits* and *transient* at the peak of a backward pass.
    """

    kept: Value
    logits: Value
    transient: Value
    workspace: Value

    @classmethod
    def of(cls, shape: ModelShape, rank: RankMemoryTerms, at: StageLayers, by: Numbers) -> "PassBytes":
        """Those of the stage *at*."""
        kept = at.dense * rank.held.dense_kept
        if shape.multi_token:
            kept = kept + by.where(at.last, shape.multi_token * rank.joined[0], 0)
        if shape.experts:
            kept = kept + at.mixtures * rank.held.mixed_kept
        attention, dense, mixed = rank.kinds
        workspace = WORKSPACE + _larger(shape, at, attention, attention, by)
        workspace = workspace + by.where(at.dense > 0, dense, 0)
        if shape.experts:
            workspace = workspace + by.where(at.mixtures > 0, mixed, 0)
        if shape.multi_token:
            workspace = workspace + by.where(at.last, rank.joined[1], 0)
        return cls(kept, *_peak(shape, at, rank, by), workspace)


def stage_bytes(
    shape: ModelShape, on: Degrees, rank: RankMemoryTerms, stage: Whole, by: Numbers = PLAIN
) -> StageMemory:
    """Bytes on a rank of stage number *stage*, from 0."""
    at = StageLayers.of(shape, on, rank.middle, stage, by)
    state = StateBytes.of(shape, on, rank, at, by)
    passing = PassBytes.of(shape, rank, at, by)
    return StageMemory(
        weights=state.weights,
        gradients=state.gradients,
        optimizer=state.optimizer,
        activations=parallelism.in_flight(on, stage, by) * passing.kept,
        logits=passing.logits,
        transient=passing.transient + state.sharding,
        workspace=passing.workspace,
    )


def _peak(shape: ModelShape, at: StageLayers, rank: RankMemoryTerms, by: Numbers) -> tuple[Value, Value]:
    """Logits, and what the backward pass holds beside: of the head, or of a layer if larger."""
    logits, head = by.where(at.last, rank.logits, 0), by.where(at.last, rank.head, 0)
    layer = _larger(shape, at, rank.held.dense_working, rank.held.mixed_working, by)
    in_layer = layer > logits + head
    return by.where(in_layer, 0, logits), by.where(in_layer, layer, head)


def _larger(shape: ModelShape, at: StageLayers, dense: Value, mixed: Value, by: Numbers) -> Value:
    """The larger of two values, of those kinds of layers that the stage has."""
    plain = by.where(at.dense > 0, dense, 0)
    if not shape.experts:
        return plain
    return by.larger(plain, by.where(at.mixtures > 0, mixed, 0))


def fullest_stages(shape: ModelShape, on: Degrees, middle: Middle, by: Numbers = PLAIN) -> tuple[Whole, ...]:
    """Numbers of stages of which one is the fullest.

    An earlier stage holds more micro-batches, so of stages with the same layers the first is the
    fullest: the first stage, the first in the middle, the first that is longer; where the layers
    begin to have experts, that stage, the next, and the first after it that is longer; the last.
    """
    last, longer = on.pipeline - 1, middle.start + middle.low
    chosen: tuple[Whole, ...] = (0, by.smaller(longer, last))
    if not parallelism.is_plain_zero(on.first):
        chosen += (by.smaller(middle.start, last),)
    if shape.experts and shape.dense_layers:
        turns = parallelism.stage_of(shape.dense_layers - 1, on, middle, by)
        then = by.smaller(turns + 1, last)
        chosen += (by.smaller(turns, last), then, by.smaller(by.larger(then, longer), last))
    return (*chosen, last)


def most_memory(shape: ModelShape, on: Degrees, rank: RankMemoryTerms, by: Numbers = PLAIN) -> Value:
    """Bytes that are allocated on the fullest stage: the total alone, for a search."""
    most: Value = 0
    for stage in fullest_stages(shape, on, rank.middle, by):
        most = by.larger(most, stage_bytes(shape, on, rank, stage, by).total)
    return most
