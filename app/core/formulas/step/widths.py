"""What a model's shape says of a layer: its products, its FLOP, and the bytes that it keeps."""

from functools import lru_cache
from typing import Any, NamedTuple

from app.core.formulas.parallelism.degrees import PLAIN, Degrees, Numbers, Value, is_plain_zero
from app.core.formulas.presets import ModelShape
from app.core.formulas.transformer.flops import token_flops
from app.core.formulas.transformer.parameters import LayerParts, active_parameters
from app.core.units import Flops


class Width(NamedTuple):
    """One side of a weight; tensor parallelism divides it if it is *split*."""

    size: int
    split: bool = False


class Linear(NamedTuple):
    """A weight, by the width of its result and that of its input."""

    result: Width
    taken: Width


class Bytes(NamedTuple):
    """Bytes of a token that element-wise kernels move in a layer, forward and backward.

    Those of whole rows, which sequence parallelism divides, and those that tensor parallelism does.
    """

    whole_forward: float = 0.0
    whole_backward: float = 0.0
    split_forward: float = 0.0
    split_backward: float = 0.0


class Widths(NamedTuple):
    """The layers of a model, dense or mixtures of experts, as their kernels see them.

    *again_dense* and *again_mixture* are every second product, which some recompute.
    """

    attention: tuple[Linear, ...]
    dense: tuple[Linear, ...]
    shared: tuple[Linear, ...]
    expert: tuple[Linear, ...]
    again_dense: tuple[Linear, ...]
    again_mixture: tuple[Linear, ...]
    around: Bytes
    inside_dense: Bytes
    inside_shared: Bytes
    inside_expert: Bytes
    core: int  # query and key, then score and value: elements of all heads, added
    parts: LayerParts
    head: Linear
    dense_layers: int
    mixtures: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, shape: ModelShape) -> "Widths":
        """The widths of *shape*."""
        wide, mixtures = shape.hidden, shape.expert_layers
        return cls(
            attention=_attention(shape),
            dense=_feed_forward(shape, shape.feed_forward),
            shared=_feed_forward(shape, shape.shared * shape.expert_feed_forward),
            expert=_feed_forward(shape, shape.expert_feed_forward),
            again_dense=one_by_one(shape, shape.feed_forward)[1::2],
            again_mixture=one_by_one(shape, shape.shared * shape.expert_feed_forward)[1::2],
            around=_around(shape),
            inside_dense=_bent(shape, shape.feed_forward),
            inside_shared=_bent(shape, shape.shared * shape.expert_feed_forward),
            inside_expert=_bent(shape, shape.expert_feed_forward),
            core=shape.heads * (2 * shape.head_size + (shape.rope if shape.latent else 0)),
            parts=LayerParts.of(shape),
            head=Linear(Width(shape.vocabulary, split=True), Width(wide)),
            dense_layers=shape.layers - mixtures,
            mixtures=mixtures,
        )


def _attention(shape: ModelShape) -> tuple[Linear, ...]:
    wide, queries = Width(shape.hidden), shape.heads * shape.head_size
    out = Linear(wide, Width(queries, split=True))
    if not shape.latent:
        columns = queries + 2 * shape.key_value_heads * shape.head_size
        return Linear(Width(columns, split=True), wide), out
    turned = Width(shape.heads * (shape.head_size + shape.rope), split=True)
    keys = Linear(Width(shape.latent + shape.rope), wide)
    spread = Linear(Width(2 * queries, split=True), Width(shape.latent))
    if not shape.query_latent:
        return Linear(turned, wide), keys, spread, out
    squeezed = Width(shape.query_latent)
    return Linear(squeezed, wide), Linear(turned, squeezed), keys, spread, out


def one_by_one(shape: ModelShape, width: int) -> tuple[Linear, ...]:
    """The products of a layer in their order, where none are joined; *width* of feed-forward."""
    wide, found = Width(shape.hidden), Width(shape.heads * shape.head_size, split=True)
    keys = Linear(Width(shape.key_value_heads * shape.head_size, split=True), wide)
    heads = (Linear(found, wide), keys, keys, Linear(wide, found))
    up = Linear(Width(width, split=True), wide)
    ups = (up, up) if shape.gated else (up,)
    bent = (*ups, Linear(wide, up.result)) if width else ()
    return (*(_attention(shape) if shape.latent else heads), *bent)


def _feed_forward(shape: ModelShape, width: int) -> tuple[Linear, ...]:
    if not width:
        return ()
    up = (2 if shape.gated else 1) * width
    return (Linear(Width(up, split=True), Width(shape.hidden)), Linear(Width(shape.hidden), Width(width, split=True)))


def _around(shape: ModelShape) -> Bytes:
    """Norms, residuals and attention, operation by operation, in 16 bits.

    Forward: two norms (read and write: 8), two residual additions (read two, write one: 12; with
    bias and dropout also a mask: 14). Backward: norms 20, gradients of both residuals 12, dropout
    and the gradient of the bias 14. Queries, keys and values: bias 4, turned or transposed 4,
    gathered backward 4, and their bias's gradient 2.
    """
    wide, bias = shape.hidden, shape.biases == "all"
    queries, keys = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
    columns = queries + 2 * keys
    forward = (4 * columns if shape.biases != "none" else 0) + 4 * queries
    backward = (2 * columns if shape.biases != "none" else 0) + 4 * columns + 4 * queries
    if shape.query_key_norm:
        forward, backward = forward + 4 * (queries + keys), backward + 10 * (queries + keys)
    return Bytes((22 if bias else 20) * wide, (46 if bias else 32) * wide, forward, backward)


def _bent(shape: ModelShape, width: int) -> Bytes:
    """The activation function: reads and writes its width, twice as much of it with a gate."""
    bias = 2 if shape.biases == "all" else 0
    forward, backward = (6, 10) if shape.gated else (4, 6 + bias)
    return Bytes(split_forward=forward * width, split_backward=backward * width)


def counted_flops(shape: ModelShape, sequence: int) -> Flops:
    """FLOP per token of a training step with a causal mask, as `transformer.token_flops` has them.

    A module that predicts a further token has a layer, and runs the output head once more.
    """
    again = shape.multi_token * shape.vocabulary * shape.hidden
    return token_flops(
        active_parameters(shape) + again,
        shape.layers + shape.multi_token,
        shape.heads,
        shape.head_size,
        sequence,
        causal=True,
        rope=shape.rope if shape.latent else 0,
    )


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
        attended = _layer_bytes_attention(shape, on, size, by) + size * 4 * outside
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


def _layer_bytes_attention(shape: Any, on: Degrees, size: Value, by: Numbers) -> Value:
    """Bytes that attention keeps of a token, and statistics of softmax and norms."""
    found = shape.heads * shape.head_size
    elements = 2 * found + 2 * shape.heads * shape.rope
    elements = elements + 2 * shape.key_value_heads * shape.head_size
    exchanged = by.where((on.context > 1) & (on.exchanged > 0), found, 0)
    scores = by.where(on.full + on.selective + on.operations < 1, 2 * shape.heads * on.sequence / on.context, 0)
    latent = 2 * shape.query_latent + 2 * shape.latent
    split = size * (elements + exchanged + scores) + _SUM * shape.heads
    return split / on.tensor + size * latent + _NORM
