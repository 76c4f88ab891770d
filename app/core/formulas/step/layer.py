"""A micro-batch through one layer, kernel by kernel: its products, FLOP and bytes."""

from functools import lru_cache
from operator import add
from typing import NamedTuple

from app.core.formulas.parallelism import PLAIN, Degrees, Numbers, Value, is_plain_zero
from app.core.formulas.presets import ModelShape, Recipe
from app.core.formulas.step.speeds import Speeds, exchange, ring
from app.core.formulas.transformer import LayerParts, active_parameters, token_flops
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
    unfused: Bytes
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
            attention=_attention_linears(shape),
            dense=_feed_forward(shape, shape.feed_forward),
            shared=_feed_forward(shape, shape.shared * shape.expert_feed_forward),
            expert=_feed_forward(shape, shape.expert_feed_forward),
            again_dense=one_by_one(shape, shape.feed_forward)[1::2],
            again_mixture=one_by_one(shape, shape.shared * shape.expert_feed_forward)[1::2],
            around=_around(shape),
            unfused=_unfused(shape),
            inside_dense=_bent(shape, shape.feed_forward),
            inside_shared=_bent(shape, shape.shared * shape.expert_feed_forward),
            inside_expert=_bent(shape, shape.expert_feed_forward),
            core=shape.heads * (2 * shape.head_size + (shape.rope if shape.latent else 0)),
            parts=LayerParts.of(shape),
            head=Linear(Width(shape.vocabulary, split=True), Width(wide)),
            dense_layers=shape.layers - mixtures,
            mixtures=mixtures,
        )


def _attention_linears(shape: ModelShape) -> tuple[Linear, ...]:
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
    return (*(_attention_linears(shape) if shape.latent else heads), *bent)


def _feed_forward(shape: ModelShape, width: int) -> tuple[Linear, ...]:
    if not width:
        return ()
    up = (2 if shape.gated else 1) * width
    return (Linear(Width(up, split=True), Width(shape.hidden)), Linear(Width(shape.hidden), Width(width, split=True)))


def _around(shape: ModelShape) -> Bytes:
    """Norms, residuals and attention, operation by operation, in 16 bits.

    Forward: two norms (read and write: 8), two residual additions (read two, write one: 12; with bias and dropout also
    a mask: 14). Backward: norms 20, gradients of both residuals 12, dropout and the gradient of the bias 14. Queries,
    keys and values: bias 4, turned or transposed 4, gathered backward 4, and their bias's gradient 2.
    """
    wide, bias = shape.hidden, shape.biases == "all"
    queries, keys = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
    columns = queries + 2 * keys
    forward = (4 * columns if shape.biases != "none" else 0) + 4 * queries
    backward = (2 * columns if shape.biases != "none" else 0) + 4 * columns + 4 * queries
    if shape.query_key_norm:
        forward, backward = forward + 4 * (queries + keys), backward + 10 * (queries + keys)
    return Bytes((22 if bias else 20) * wide, (46 if bias else 32) * wide, forward, backward)


def _unfused(shape: ModelShape) -> Bytes:
    """What eager kernels move beside, of norms and of rotated queries and keys.

    RMSNorm, as Hugging Face writes it: to FP32, squared, averaged, scaled, back to 16 bits, and times the weight, 36
    bytes for the 4 of one kernel, and 80 for 10 backward. LayerNorm is one kernel, but for its weight's gradient.
    Queries and keys: each times the cosine and, turned, times the sine, and added.
    """
    turned = 16 * (shape.heads + shape.key_value_heads) * shape.head_size
    if shape.norm == "layer":
        return Bytes(0.0, 8 * shape.hidden, 0.0 if shape.positions else turned, 0.0 if shape.positions else turned)
    normed = (32 * turned / 16, 70 * turned / 16) if shape.query_key_norm else (0.0, 0.0)
    return Bytes(64 * shape.hidden, 140 * shape.hidden, turned + normed[0], turned + normed[1])


_BENT = 0.75  # of what a gate moves, more where it and the activation function are two kernels


def _bent(shape: ModelShape, width: int) -> Bytes:
    """The activation function: reads and writes its width, twice as much of it with a gate."""
    bias = 2 if shape.biases == "all" else 0
    forward, backward = (6, 10) if shape.gated else (4, 6 + bias)
    return Bytes(split_forward=forward * width, split_backward=backward * width)


def counted_flops(shape: ModelShape, sequence: int) -> Flops:
    """FLOP per token of a training step with a causal mask, as `transformer.token_flops` has them.

    A module that predicts a further token has a layer, and runs the output head once more. Layers with a window count
    what is inside it.
    """
    again = shape.multi_token * shape.vocabulary * shape.hidden
    return token_flops(
        active_parameters(shape) + again,
        shape.layers + shape.multi_token,
        shape.heads,
        shape.head_size,
        round(shape.keys(sequence)),
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
    def of(cls, shape: ModelShape, recipe: Recipe, on: Degrees, by: Numbers = PLAIN) -> "LayerBytes":
        """The bytes of the layers of *shape*."""
        tokens, size, wide = on.tokens, recipe.element_bytes, 2 if shape.gated else 1
        outside = shape.hidden * sequence_share(on, by)
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


def _every_second(shape: ModelShape, width: int, on: Degrees, size: Value, by: Numbers) -> Value:
    """Bytes of a token where results of attention and every second product are kept.

    With them the input of the layer and, with tensor parallelism, what reduce-scatters return.
    """
    results = [linear.result for linear in one_by_one(shape, width)[::2]]
    kept = sum(one.size / on.tensor if one.split else one.size for one in results)
    found = shape.heads * shape.head_size / on.tensor
    reduced = by.where((on.tensor > 1) & (on.sequence_parallel > 0), 2 * shape.hidden / on.tensor, 0)
    kept = kept + found + reduced + shape.hidden * sequence_share(on, by)
    return size * kept + _SUM * shape.heads / on.tensor


def sequence_share(on: Degrees, by: Numbers = PLAIN) -> Value:
    """The share of the tokens that a rank has between attention and feed-forward."""
    return by.where(on.sequence_parallel, 1 / on.tensor, 1)


def _layer_bytes_attention(shape: ModelShape, on: Degrees, size: Value, by: Numbers) -> Value:
    """Bytes that attention keeps of a token, and statistics of softmax and norms."""
    found = shape.heads * shape.head_size
    elements = 2 * found + 2 * shape.heads * shape.rope
    elements = elements + 2 * shape.key_value_heads * shape.head_size
    exchanged = by.where((on.context > 1) & (on.exchanged > 0), found, 0)
    scores = by.where(on.full + on.selective + on.operations < 1, 2 * shape.heads * on.sequence / on.context, 0)
    latent = 2 * shape.query_latent + 2 * shape.latent
    split = size * (elements + exchanged + scores) + _SUM * shape.heads
    return split / on.tensor + size * latent + _NORM


# Tiles of 256 x 128, 128 x 128, 128 x 64 and 64 x 64: how much of a wave of the largest each one
# is, over its rate compared with the largest's.
_WHOLE, _HALF, _QUARTER, _EIGHTH = 1.0, 1 / 2 / 0.95, 1 / 4 / 0.80, 1 / 8 / 0.60
_LARGEST = 256 * 128
_CORE = 0.75  # of a product's share, in attention: a prior
_FLASH_BACKWARD = 2.5  # FlashAttention computes the scores again: 5 products for 2


class KernelTime(NamedTuple):
    """Seconds forward and backward."""

    forward: Value
    backward: Value


class Products:
    """Seconds of the products of a layer's weights, of *rows* tokens with *tensor* ranks.

    The efficiency of each pair of sides is computed once. *groups* products of the same size run as one kernel.
    """

    def __init__(self, speeds: Speeds, on: Numbers, rows: Value, tensor: Value, groups: Value = 1) -> None:
        self._on, self._rows, self._tensor, self._groups = on, rows, tensor, groups
        self._units = speeds.units
        self._seen: dict[tuple[Width | None, Width | None], Value] = {}

    def seconds(self, linears: tuple[Linear, ...], rate: float) -> KernelTime:
        """Forward; backward for the input and for the weight."""
        forward, backward = 0.0, 0.0
        for result, taken in linears:
            work = self._side(result) * self._side(taken)
            work = 2 * self._rows * work * self._groups / rate
            forward = forward + work / self._reached(None, result)
            backward = backward + work / self._reached(None, taken)
            backward = backward + work / self._reached(result, taken)
        return KernelTime(forward, backward)

    def _side(self, width: Width | None) -> Value:
        if width is None:
            return self._rows
        return width.size / self._tensor if width.split else width.size

    def _reached(self, down: Width | None, across: Width | None) -> Value:
        key = down, across
        if key not in self._seen:
            rows, columns = self._side(down), self._side(across)
            self._seen[key] = _efficiency(rows, columns, self._groups, self._units, self._on)
        return self._seen[key]


def _efficiency(rows: Value, columns: Value, groups: Value, units: int, on: Numbers) -> Value:
    """The best over the tiles: whole tiles in whole waves over the *units* of a GPU."""
    ceil, smaller = on.ceil, on.smaller
    high, broad = ceil(rows / 128), ceil(columns / 128) * groups
    narrow = ceil(columns / 64) * groups
    waves = smaller(
        smaller(_WHOLE * ceil(ceil(rows / 256) * broad / units), _HALF * ceil(high * broad / units)),
        smaller(_QUARTER * ceil(high * narrow / units), _EIGHTH * ceil(ceil(rows / 64) * narrow / units)),
    )
    return rows * columns * groups / (_LARGEST * units * waves)


def moved_time(speeds: Speeds, size: Value) -> Value:
    """Seconds in which a kernel reads and writes *size* bytes."""
    return size / speeds.memory


def scores(speeds: Speeds, rows: Value, heads: Value, keys: Value) -> KernelTime:
    """Softmax and dropout of scores that are written: 4 + 5 bytes forward, 6 + 5 backward.

    Of *heads* on the rank; nothing where attention is fused.
    """
    if speeds.fused:
        return KernelTime(0.0, 0.0)
    size = moved_time(speeds, rows * heads * keys)
    return KernelTime(9 * size, 11 * size)


def attention_time(speeds: Speeds, on: Numbers, rows: Value, keys: Value, wide: Value, heads: Value) -> KernelTime:
    """Scores with keys and values, *wide* elements of both on the rank.

    Fused: half of the products, as the mask is causal, and backward 2.5 times as much. Written: two
    batched products whose scores go through memory.
    """
    flops = 2 * rows * keys * wide / (_CORE * speeds.exact)
    if speeds.fused and speeds.attention:
        flops = 2 * rows * (keys + speeds.ramp) * wide / speeds.attention
    if speeds.fused:
        return KernelTime(flops / 2, _FLASH_BACKWARD * flops / 2)
    forward = on.larger(flops, moved_time(speeds, 4 * rows * heads * keys))
    return KernelTime(forward, 2 * forward)


ELEMENT = 2  # bytes of an activation
_ADDED = 8  # bytes per parameter: a gradient is added up in 16 bits
# Launches bound a layer with kernels of 2021: 2.9 ms, 0.4 ms more with tensor parallelism, for
# forward, forward again and backward as 1 to 1 to 2 of 3 or 4; 0.4 ms come on top of any layer.
_LAUNCHES, _LAUNCHES_OF_TENSOR, _BETWEEN = 2.9e-3, 0.4e-3, 0.4e-3
# The counts of routed tokens come back to the host, which then launches nine products of each expert, 8 us each.
_ROUTING, _PER_EXPERT = 1e-3, 9 * 8e-6
_HOST_OF_EXPERTS = 2.5  # kernels of a layer with experts, over those of a dense one
_ROUTED = 8  # bytes of an element that is permuted to its expert, and back


class LayerTime(NamedTuple):
    """Seconds of a layer for one micro-batch, by part; the last two are without links."""

    products: Value
    attention: Value
    element_wise: Value
    recompute: Value
    launches: Value
    tensor: Value
    context: Value
    expert: Value
    forward: Value
    backward: Value

    def times(self, layers: Value) -> "LayerTime":
        """As many *layers*."""
        return LayerTime(*[part * layers for part in self])

    def plus(self, other: "LayerTime") -> "LayerTime":
        """Both, part by part."""
        return LayerTime(*map(add, self, other))

    @property
    def busy(self) -> Value:
        """Seconds from the first kernel to the last."""
        return sum(self[:-2])


def layer_times(shape: ModelShape, speeds: Speeds, degrees: Degrees, on: Numbers) -> tuple[LayerTime, LayerTime]:
    """A dense layer and a mixture of experts; the one that the model does not have takes no time.

    Depends on the tensor, context, expert and expert tensor degrees, the micro-batch, sequence
    parallelism and recomputation alone.
    """
    widths = Widths.of(shape)
    layer = _Layer(shape, widths, speeds, degrees, on)
    dense = layer.dense() if widths.dense_layers else _NONE
    return dense, layer.mixture() if widths.mixtures else _NONE


_NONE = LayerTime(*(0.0,) * 10)


class _Layer:
    """What a dense layer and a mixture of experts have in common."""

    def __init__(self, shape: ModelShape, widths: Widths, speeds: Speeds, degrees: Degrees, on: Numbers) -> None:
        self.shape, self.widths, self.speeds, self.degrees, self.on = (shape, widths, speeds, degrees, on)
        self.tensor = degrees.tensor
        self.rows = degrees.tokens
        self.split = on.where(degrees.sequence_parallel, 1 / self.tensor, 1.0)
        self.products = Products(speeds, on, self.rows, self.tensor)
        self.bent = 1 + (_BENT * speeds.eager if shape.gated else 0.0)

    def dense(self) -> LayerTime:
        """Attention and one feed-forward network."""
        widths = self.widths
        linears = widths.attention + widths.dense
        spent = self.products.seconds(linears, self.speeds.products)
        moves = self._moves(widths.inside_dense, linears)
        weights = widths.parts.attention + widths.parts.feed_forward
        again = self._again(widths.again_dense, moves)
        return self._time(spent, moves, weights / self.tensor, 0.0, again)

    def mixture(self) -> LayerTime:
        """Attention, shared experts, and the experts of this rank for the tokens sent to them."""
        widths, shape, degrees = self.widths, self.shape, self.degrees
        linears = widths.attention + widths.shared
        plain = self.products.seconds(linears, self.speeds.products)
        split = degrees.expert_tensor
        held = shape.experts / degrees.expert
        copies = self.rows * split / self.tensor * shape.active_experts
        routed = Products(self.speeds, self.on, copies * degrees.expert / shape.experts, split, held)
        grouped = routed.seconds(widths.expert, self.speeds.products * self.speeds.grouped)
        spent = KernelTime(plain.forward + grouped.forward, plain.backward + grouped.backward)
        moves = self._moves(widths.inside_shared, linears)
        bent = moved_time(self.speeds, copies * (1 / split))
        permuted = moved_time(self.speeds, _ROUTED * copies * shape.hidden)
        cast = self._casts(widths.expert, copies, split)
        inside, bent = widths.inside_expert, bent * self.bent
        moves = KernelTime(
            moves.forward + bent * inside.split_forward + permuted + cast.forward,
            moves.backward + bent * inside.split_backward + permuted + cast.backward,
        )
        weights = (widths.parts.attention + widths.parts.shared) / self.tensor
        weights = weights + held * widths.parts.expert / split
        again = self._again(widths.again_mixture, moves, grouped.forward)
        found = self._time(spent, moves, weights, self._sent(copies / split), again)
        waited = self.speeds.routing * (_ROUTING + _PER_EXPERT * held)
        return found._replace(launches=found.launches + waited) if self.speeds.routing else found

    def _again(self, linears: tuple[Linear, ...], moves: KernelTime, experts: Value = 0.0) -> Value:
        """Every second product, all *experts*, and what is not a product, computed again."""
        if is_plain_zero(self.degrees.operations):
            return 0.0
        spent = self.products.seconds(linears, self.speeds.products)
        return self.degrees.operations * (spent.forward + experts + moves.forward)

    def _time(self, products: KernelTime, moves: KernelTime, weights: Value, expert: Value, some: Value) -> LayerTime:
        degrees, speeds, on, full = self.degrees, self.speeds, self.on, self.degrees.full
        heads = self.shape.heads / self.tensor
        keys = self.shape.keys(degrees.sequence)
        core = attention_time(speeds, on, self.rows, keys, self.widths.core / self.tensor, heads)
        soft = scores(speeds, self.rows, heads, keys)
        met = core.forward + soft.forward
        forward = products.forward + moves.forward + met
        added = moved_time(speeds, _ADDED * weights)
        backward = products.backward + moves.backward + core.backward + soft.backward + added
        again = full * forward + some + (0.0 if speeds.fused else degrees.selective * met)
        tensor, context = self._tensor(), self._context()
        busy = forward + backward + again + tensor + context + expert
        return LayerTime(
            products=products.forward + products.backward,
            attention=met + core.backward + soft.backward,
            element_wise=moves.forward + moves.backward + added,
            recompute=again,
            launches=self._launches(busy, not is_plain_zero(expert)),
            tensor=tensor,
            context=context,
            expert=expert,
            forward=forward,
            backward=backward + again,
        )

    def _moves(self, inside: Bytes, linears: tuple[Linear, ...]) -> KernelTime:
        around, rows, split, tensor = self.widths.around, self.rows, self.split, self.tensor
        cast = self._casts(linears, rows, tensor)
        if eager := self.speeds.eager:
            around = Bytes(*(one + eager * other for one, other in zip(around, self.widths.unfused, strict=True)))
        forward = around.whole_forward * split
        forward = forward + (around.split_forward + self.bent * inside.split_forward) / tensor
        backward = around.whole_backward * split
        backward = backward + (around.split_backward + self.bent * inside.split_backward) / tensor
        return KernelTime(
            moved_time(self.speeds, rows * forward) + cast.forward,
            moved_time(self.speeds, rows * backward) + cast.backward,
        )

    def _casts(self, linears: tuple[Linear, ...], rows: Value, tensor: Value) -> KernelTime:
        """Inputs forward, gradients of results backward, cast to the bits of the products."""
        if not self.speeds.casts:
            return KernelTime(0.0, 0.0)
        each = moved_time(self.speeds, self.speeds.casts * rows)
        sides = [
            sum(width.size / tensor if width.split else width.size for width in widths)
            for widths in ([one.taken for one in linears], [one.result for one in linears])
        ]
        return KernelTime(each * sides[0], each * sides[1])

    def _launches(self, busy: Value, routed: bool) -> Value:
        if self.speeds.fused:
            least = self.speeds.host * (3 + self.degrees.full) / 3 * (_HOST_OF_EXPERTS if routed else 1)
            least = least * self.on.where(self.tensor > 1, self.speeds.host_of_tensor, 1)
            return self.on.larger(0.0, least - busy) if self.speeds.host else 0.0
        least = self.on.where(self.tensor > 1, _LAUNCHES + _LAUNCHES_OF_TENSOR, _LAUNCHES)
        least = least * (3 + self.degrees.full) / 4
        return self.on.larger(0.0, least - busy) + _BETWEEN

    def _tensor(self) -> Value:
        """Two all-reduces forward, two backward, two when the forward pass runs again.

        Half of them where the results of reduce-scatters are kept.
        """
        size = ELEMENT * self.rows * self.shape.hidden
        each = ring(self.speeds.net, self.on, size, self.tensor, 1, 2)
        passes = 4 + 2 * self.degrees.full + self.degrees.operations
        return (1 - self.speeds.hidden_tensor) * passes * each

    def _context(self) -> Value:
        """Keys and values gathered forward and again backward, their gradients reduce-scattered.

        Or queries, keys and values exchanged for other heads, and the results back, in each pass.
        """
        degrees, shape, net, on = self.degrees, self.shape, self.speeds.net, self.on
        keys = 2 * shape.key_value_heads * shape.head_size / self.tensor
        size = ELEMENT * degrees.micro_batch * degrees.sequence * keys
        gathered = (3 + degrees.full) * ring(net, on, size, degrees.context, self.tensor)
        queries = 2 * shape.heads * shape.head_size / self.tensor
        size = ELEMENT * self.rows * (keys + queries)
        swapped = (2 + degrees.full) * exchange(net, on, size, degrees.context, self.tensor)
        return (1 - self.speeds.hidden_context) * on.where(degrees.exchanged, swapped, gathered)

    def _sent(self, copies: Value) -> Value:
        """Tokens sent to their experts and back, forward, backward and when that runs again."""
        size = ELEMENT * copies * self.shape.hidden
        degrees = self.degrees
        once = self.shape.active_experts if self.speeds.once else 0
        each = exchange(self.speeds.net, self.on, size, degrees.expert, degrees.expert_tensor, once)
        passes = 4 + 2 * (degrees.full + degrees.operations)
        return (1 - self.speeds.hidden_expert) * passes * each
