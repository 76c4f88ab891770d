"""A micro-batch through one layer, forward and backward, kernel by kernel."""

from operator import add
from typing import NamedTuple

from app.core.formulas.parallelism.degrees import Degrees, Numbers, Value, is_plain_zero
from app.core.formulas.presets import ModelShape
from app.core.formulas.step.speeds import Speeds, exchange, ring
from app.core.formulas.step.widths import Bytes, Linear, Width, Widths

# Tiles of 256 x 128, 128 x 128, 128 x 64 and 64 x 64: how much of a wave of the largest each one
# is, over its rate compared with the largest's.
_WHOLE, _HALF, _QUARTER, _EIGHTH = 1.0, 1 / 2 / 0.95, 1 / 4 / 0.80, 1 / 8 / 0.60
_LARGEST = 256 * 128
_CORE = 0.75  # of a product's share, in attention: a prior
_FLASH_BACKWARD = 2.5  # FlashAttention computes the scores again: 5 products for 2


class Spent(NamedTuple):
    """Seconds forward and backward."""

    forward: Value
    backward: Value


class Products:
    """Seconds of the products of a layer's weights, of *rows* tokens with *tensor* ranks.

    The efficiency of each pair of sides is computed once. *groups* products of the same size run as
    one kernel.
    """

    def __init__(self, speeds: Speeds, on: Numbers, rows: Value, tensor: Value, groups: Value = 1) -> None:
        self._on, self._rows, self._tensor, self._groups = on, rows, tensor, groups
        self._units = speeds.units
        self._seen: dict[tuple[Width | None, Width | None], Value] = {}

    def seconds(self, linears: tuple[Linear, ...], rate: float) -> Spent:
        """Forward; backward for the input and for the weight."""
        forward, backward = 0.0, 0.0
        for result, taken in linears:
            work = self._side(result) * self._side(taken)
            work = 2 * self._rows * work * self._groups / rate
            forward = forward + work / self._reached(None, result)
            backward = backward + work / self._reached(None, taken)
            backward = backward + work / self._reached(result, taken)
        return Spent(forward, backward)

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


def scores(speeds: Speeds, rows: Value, heads: Value, keys: Value) -> Spent:
    """Softmax and dropout of scores that are written: 4 + 5 bytes forward, 6 + 5 backward.

    Of *heads* on the rank; nothing where attention is fused.
    """
    if speeds.fused:
        return Spent(0.0, 0.0)
    size = moved_time(speeds, rows * heads * keys)
    return Spent(9 * size, 11 * size)


def attention_time(speeds: Speeds, on: Numbers, rows: Value, keys: Value, wide: Value, heads: Value) -> Spent:
    """Scores with keys and values, *wide* elements of both on the rank.

    Fused: half of the products, as the mask is causal, and backward 2.5 times as much. Written: two
    batched products whose scores go through memory.
    """
    flops = 2 * rows * keys * wide / (_CORE * speeds.exact)
    if speeds.fused:
        return Spent(flops / 2, _FLASH_BACKWARD * flops / 2)
    forward = on.larger(flops, moved_time(speeds, 4 * rows * heads * keys))
    return Spent(forward, 2 * forward)


ELEMENT = 2  # bytes of an activation
_ADDED = 8  # bytes per parameter: a gradient is added up in 16 bits
# Launches bound a layer with kernels of 2021: 2.9 ms, 0.4 ms more with tensor parallelism, for
# forward, forward again and backward as 1 to 1 to 2 of 3 or 4; 0.4 ms come on top of any layer.
_LAUNCHES, _LAUNCHES_OF_TENSOR, _BETWEEN = 2.9e-3, 0.4e-3, 0.4e-3
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
        return (
            self.products
            + self.attention
            + self.element_wise
            + self.recompute
            + self.launches
            + self.tensor
            + self.context
            + self.expert
        )


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
        spent = Spent(plain.forward + grouped.forward, plain.backward + grouped.backward)
        moves = self._moves(widths.inside_shared, linears)
        bent = moved_time(self.speeds, copies * (1 / split))
        permuted = moved_time(self.speeds, _ROUTED * copies * shape.hidden)
        cast = self._casts(widths.expert, copies, split)
        inside = widths.inside_expert
        moves = Spent(
            moves.forward + bent * inside.split_forward + permuted + cast.forward,
            moves.backward + bent * inside.split_backward + permuted + cast.backward,
        )
        weights = (widths.parts.attention + widths.parts.shared) / self.tensor
        weights = weights + held * widths.parts.expert / split
        again = self._again(widths.again_mixture, moves, grouped.forward)
        return self._time(spent, moves, weights, self._sent(copies / split), again)

    def _again(self, linears: tuple[Linear, ...], moves: Spent, experts: Value = 0.0) -> Value:
        """Every second product, all *experts*, and what is not a product, computed again."""
        if is_plain_zero(self.degrees.operations):
            return 0.0
        spent = self.products.seconds(linears, self.speeds.products)
        return self.degrees.operations * (spent.forward + experts + moves.forward)

    def _time(self, products: Spent, moves: Spent, weights: Value, expert: Value, some: Value) -> LayerTime:
        degrees, speeds, on, full = self.degrees, self.speeds, self.on, self.degrees.full
        heads = self.shape.heads / self.tensor
        keys = degrees.sequence
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
            products.forward + products.backward,
            met + core.backward + soft.backward,
            moves.forward + moves.backward + added,
            again,
            self._launches(busy),
            tensor,
            context,
            expert,
            forward,
            backward + again,
        )

    def _moves(self, inside: Bytes, linears: tuple[Linear, ...]) -> Spent:
        around, rows, split, tensor = self.widths.around, self.rows, self.split, self.tensor
        cast = self._casts(linears, rows, tensor)
        forward = around.whole_forward * split
        forward = forward + (around.split_forward + inside.split_forward) / tensor
        backward = around.whole_backward * split
        backward = backward + (around.split_backward + inside.split_backward) / tensor
        return Spent(
            moved_time(self.speeds, rows * forward) + cast.forward,
            moved_time(self.speeds, rows * backward) + cast.backward,
        )

    def _casts(self, linears: tuple[Linear, ...], rows: Value, tensor: Value) -> Spent:
        """Inputs forward, gradients of results backward, cast to the bits of the products."""
        if not self.speeds.casts:
            return Spent(0.0, 0.0)
        each = moved_time(self.speeds, self.speeds.casts * rows)
        sides = [
            sum(width.size / tensor if width.split else width.size for width in widths)
            for widths in ([one.taken for one in linears], [one.result for one in linears])
        ]
        return Spent(each * sides[0], each * sides[1])

    def _launches(self, busy: Value) -> Value:
        if self.speeds.fused:
            return 0.0
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
        each = exchange(self.speeds.net, self.on, size, degrees.expert, degrees.expert_tensor)
        passes = 4 + 2 * (degrees.full + degrees.operations)
        return (1 - self.speeds.hidden_expert) * passes * each
