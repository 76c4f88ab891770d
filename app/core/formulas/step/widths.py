"""What a model's shape says of a layer: its products, and the bytes of its element-wise kernels."""

from functools import lru_cache
from typing import NamedTuple

from app.core.formulas.presets import ModelShape
from app.core.formulas.transformer.parameters import LayerParts


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
