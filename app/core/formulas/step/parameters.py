"""Parameters on a rank of a stage, and the layers that the stage has."""

from functools import lru_cache
from typing import Any, NamedTuple

from app.core.formulas.parallelism.degrees import Degrees, Middle, mixture_layers, stage_layers
from app.core.formulas.parallelism.numbers import PLAIN, Numbers, Value

_PADDED = 128  # rows of the vocabulary: Megatron-LM, --make-vocab-size-divisible-by


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


class StageLayers(NamedTuple):
    """A stage: how many layers of each kind it has, and whether it is the first and the last.

    The layers of the modules that predict further tokens are on the last one.
    """

    dense: Value
    mixtures: Value
    first: Value
    last: Value

    @classmethod
    def of(cls, shape: Any, on: Degrees, middle: Middle, stage: Value, by: Numbers = PLAIN) -> "StageLayers":
        """The stage number *stage*, from 0."""
        held, before = stage_layers(shape.layers, on, middle, stage, by)
        first, last = stage == 0, stage == on.pipeline - 1
        further = shape.multi_token * last
        if not shape.experts:
            return cls(held + further, 0, first, last)
        mixtures = mixture_layers(shape, held, before, by)
        if shape.dense_layers == shape.layers:
            return cls(held - mixtures + further, mixtures, first, last)
        return cls(held - mixtures, mixtures + further, first, last)


def padded_vocabulary(shape: Any, tensor: Value, by: Numbers = PLAIN) -> Value:
    """Rows of the embedding: one more than the vocabulary, in equal multiples of 128 per rank."""
    return by.ceil((shape.vocabulary + 1) / (_PADDED * tensor)) * _PADDED * tensor


def end_parameters(shape: Any, on: Degrees, at: StageLayers, rows: Value, by: Numbers = PLAIN) -> Value:
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
