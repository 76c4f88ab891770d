"""A micro-batch through one layer, forward and backward."""

from operator import add
from typing import NamedTuple

from app.core.formulas.parallelism.degrees import Degrees, is_plain_zero
from app.core.formulas.parallelism.numbers import Numbers, Value
from app.core.formulas.presets import ModelShape
from app.core.formulas.step.kernels import Products, Spent, attention_time, moved_time, scores
from app.core.formulas.step.links import exchange, ring
from app.core.formulas.step.speeds import Speeds
from app.core.formulas.step.widths import Bytes, Linear, Widths

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
