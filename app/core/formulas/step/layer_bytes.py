"""Bytes that a micro-batch keeps in a layer, and that the layer's backward pass holds."""

from typing import Any, NamedTuple

from app.core.formulas.parallelism.degrees import Degrees, is_plain_zero
from app.core.formulas.parallelism.numbers import PLAIN, Numbers, Value
from app.core.formulas.step.widths import one_by_one

_NORM, _SUM = 8, 4  # FP32 statistics: of both norms for a token, of a head's softmax for a token


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
        kept = by.where(on.full, size * outside, dense)
        mixed_kept = by.where(on.full, size * outside, mixed)
        if not is_plain_zero(on.operations):
            some = _every_second(shape, shape.feed_forward, on, size, by)
            kept = by.where(on.operations, some, kept)
            some = _every_second(shape, shape.shared * inner, on, size, by)
            mixed_kept = by.where(on.operations, some, mixed_kept)
        return cls(
            tokens * kept,
            tokens * mixed_kept,
            tokens * (back + by.where(on.full, dense, dense - kept)),
            tokens * (mixed_back + by.where(on.full, mixed, mixed - mixed_kept)),
        )


def _every_second(shape: Any, width: int, on: Degrees, size: Value, by: Numbers) -> Value:
    """Bytes of a token where results of attention and every second product are kept.

    With them the input of the layer and, with tensor parallelism, what reduce-scatters return.
    """
    results = [linear.result for linear in one_by_one(shape, width)[::2]]
    kept = sum(one.size / on.tensor if one.split else one.size for one in results)
    found = shape.heads * shape.head_size / on.tensor
    reduced = by.where((on.tensor > 1) & (on.sequence_parallel > 0), 2 * shape.hidden / on.tensor, 0)
    kept = kept + found + reduced + shape.hidden * along(on, by)
    return size * kept + _SUM * shape.heads / on.tensor


def along(on: Degrees, by: Numbers = PLAIN) -> Value:
    """The share of the tokens that a rank has between attention and feed-forward."""
    return by.where(on.sequence_parallel, 1 / on.tensor, 1)


def _attention(shape: Any, on: Degrees, size: Value, by: Numbers) -> Value:
    """Bytes that attention keeps of a token, and statistics of softmax and norms."""
    found = shape.heads * shape.head_size
    elements = 2 * found + 2 * shape.heads * shape.rope
    elements = elements + 2 * shape.key_value_heads * shape.head_size
    exchanged = by.where((on.context > 1) & (on.exchanged > 0), found, 0)
    scores = by.where(on.full + on.selective + on.operations < 1, 2 * shape.heads * on.sequence / on.context, 0)
    latent = 2 * shape.query_latent + 2 * shape.latent
    split = size * (elements + exchanged + scores) + _SUM * shape.heads
    return split / on.tensor + size * latent + _NORM
