"""A whole step: the passes of all micro-batches through the stages, gradients, weights and the optimizer."""

from typing import NamedTuple

from app.core.formulas.parallelism import Degrees, Numbers, Value
from app.core.formulas.presets import ModelShape
from app.core.formulas.step.layer import ELEMENT, LayerTime, Linear, Products, Width, Widths, layer_times, moved_time
from app.core.formulas.step.speeds import ReducedBytes, Speeds, message, ring
from app.core.units import Seconds

_EMBEDDING_BYTES = 20  # that are moved, of a token's element
_PADDED = 128  # the vocabulary is padded to a multiple of this on each rank


class StagesTime(NamedTuple):
    """Seconds of one micro-batch: all layers by part, both ends, and the slowest stage.

    *most* is the number of layers of the fullest stage, *total* the busy time of all stages.
    """

    layers: LayerTime
    head: Value
    tensor: Value
    total: Value
    slowest: Value
    most: Value


class Ends(NamedTuple):
    """Seconds of the embedding, and of the output head with its collectives, for a micro-batch.

    And of the *projection* of a module that predicts a further token.
    """

    embedding: Value
    head: Value
    tensor: Value
    projection: Value = 0.0


def stages_time(shape: ModelShape, speeds: Speeds, degrees: Degrees, on: Numbers) -> StagesTime:
    """The pass of one micro-batch, which depends on what `layer_times` does, and on the number of stages."""
    dense, mixture = layer_times(shape, speeds, degrees, on)
    widths, ends = Widths.of(shape), end_times(shape, speeds, degrees, on)
    layers = dense.times(widths.dense_layers)
    if widths.mixtures:
        layers = layers.plus(mixture.times(widths.mixtures))
    deepest = mixture if widths.mixtures else dense
    further = shape.multi_token
    if further:
        layers = layers.plus(deepest.times(further))
        ends = ends._replace(
            head=ends.head * (1 + further) + ends.projection * further, tensor=ends.tensor * (1 + 2 * further)
        )
    total = layers.busy + ends.embedding + ends.head + ends.tensor
    first, last, most = _counts(shape.layers, degrees, on)
    plain = on.smaller(first, widths.dense_layers)
    opening = plain * dense.busy + (first - plain) * mixture.busy + ends.embedding
    deep = deepest.busy
    closing = (last + further) * deep + ends.head + ends.tensor
    slowest = on.larger(opening, closing)
    between = on.where(degrees.pipeline > 2, most * deep, 0.0)  # noqa: PLR2004
    slowest = on.where(degrees.pipeline > 1, on.larger(slowest, between), total)
    fullest = on.larger(on.larger(first, last + further), on.where(degrees.pipeline > 2, most, 0))  # noqa: PLR2004
    return StagesTime(layers, ends.embedding + ends.head, ends.tensor, total, slowest, fullest)


def _counts(layers: int, degrees: Degrees, on: Numbers) -> tuple[Value, Value, Value]:
    """Layers of the first, the last and the fullest stage, as `layers_per_stage` has them."""
    stages = degrees.pipeline
    most = on.ceil(layers / stages)
    short = most * stages - layers
    first = on.where(short > 1, most - 1, most)
    last = on.where(short > 0, most - 1, most)
    given = on.where(degrees.first > 0, degrees.first, first)
    final = on.where(degrees.last > 0, degrees.last, last)
    left = layers - given - final
    told = on.where(degrees.first + degrees.last > 0, 1, 0) * (stages > 2)  # noqa: PLR2004
    between = on.ceil(left / on.larger(stages - 2, 1))
    return given, final, on.where(told > 0, between, most)


def end_times(shape: ModelShape, speeds: Speeds, degrees: Degrees, on: Numbers) -> Ends:
    """Three products, the loss and two all-reduces of the last stage; the first one's embedding.

    Depends on the tensor degree and on the tokens of a micro-batch on a rank.
    """
    tensor = degrees.tensor
    rows = degrees.tokens
    padded = on.ceil(shape.vocabulary / (_PADDED * tensor)) * _PADDED * tensor
    table = Linear(Width(1, split=True), Width(shape.hidden))
    spent = _PaddedProducts(speeds, on, rows, tensor, padded).seconds((table,), speeds.exact)
    logits = moved_time(speeds, speeds.logits * rows * padded / tensor)
    size = ELEMENT * rows * shape.hidden
    each = (1 - speeds.hidden_tensor) * ring(speeds.net, on, size, tensor, 1, 2)
    embedding = moved_time(speeds, _EMBEDDING_BYTES * rows * shape.hidden)
    head = spent.forward + spent.backward + logits
    if not shape.multi_token:
        return Ends(embedding, head, 2 * each)
    joined = Linear(Width(shape.hidden, split=True), Width(2 * shape.hidden))
    passed = Products(speeds, on, rows, tensor).seconds((joined,), speeds.exact)
    return Ends(embedding, head, 2 * each, passed.forward + passed.backward)


class _PaddedProducts(Products):
    """Products with the vocabulary, whose size depends on the number of ranks."""

    def __init__(self, speeds: Speeds, on: Numbers, rows: Value, tensor: Value, padded: Value) -> None:
        super().__init__(speeds, on, rows, tensor)
        self._padded = padded

    def _side(self, width: Width | None) -> Value:
        side = super()._side(width)
        return side * self._padded if width is not None and width.split else side


# Bytes that are moved per parameter, and the share of the memory's bandwidth that they reach: 20 ps
# on an A100, from the intercepts of vTrain's single-node rows.
_OPTIMIZER_BYTES, _OPTIMIZER_SHARE = 34, 0.82
_OPTIMIZER_UNFUSED = 58  # bytes more in eager kernels: each operation of Adam, the norm and the clipping by itself
_ALL = 3  # ZeRO stage that shards the weights, too
# Of the multiprocessors, taken by traffic that computing hides: 20 of 132, arXiv:2412.19437, 3.2.2.
_TAKEN = 20 / 132


class StepTime(NamedTuple):
    """Seconds of a step, by part."""

    products: Seconds
    attention: Seconds
    element_wise: Seconds
    head: Seconds
    recompute: Seconds
    launches: Seconds
    tensor: Seconds
    context: Seconds
    expert: Seconds
    messages: Seconds
    bubble: Seconds
    data: Seconds
    optimizer: Seconds
    skew: Seconds

    @property
    def total(self) -> Seconds:
        """The sum of all parts."""
        return sum(self)

    @property
    def compute(self) -> Seconds:
        """Kernels that compute the model once."""
        return self.products + self.attention + self.element_wise + self.head


def step_parts(
    shape: ModelShape,
    speeds: Speeds,
    degrees: Degrees,
    on: Numbers,
    sent: ReducedBytes = ReducedBytes(),  # noqa: B008
) -> StepTime:
    """The parts of a step."""
    one = stages_time(shape, speeds, degrees, on)
    each = degrees.microbatches / degrees.pipeline
    layers = one.layers
    held = held_parameters(shape, degrees, one.most, on)
    passed = traffic(speeds, degrees, on, sent, held)
    parts = StepTime(
        products=layers.products * each,
        attention=layers.attention * each,
        element_wise=layers.element_wise * each,
        head=one.head * each,
        recompute=layers.recompute * each,
        launches=layers.launches * each,
        tensor=(layers.tensor + one.tensor) * each,
        context=layers.context * each,
        expert=layers.expert * each,
        messages=message_time(shape, speeds, degrees, on),
        bubble=busy_time(degrees, one) - one.total * each,
        data=exposed_time(shape, speeds, degrees, on, one, passed),
        optimizer=optimizer_time(speeds, degrees, held, on),
        skew=0.0,
    )
    return parts._replace(skew=speeds.skew * sum(parts))


def busy_time(degrees: Degrees, one: StagesTime) -> Value:
    """All micro-batches on the slowest stage, and one on the others, shorter with chunks."""
    return degrees.microbatches * one.slowest + (one.total - one.slowest) / degrees.virtual


def total_time(speeds: Speeds, busy: Value, messages: Value, exposed: Value, optimizer: Value) -> Value:
    """The sum of `step_parts`, from its terms alone."""
    return (1 + speeds.skew) * (busy + messages + (exposed + optimizer))


class RankParameters(NamedTuple):
    """Parameters of the fullest rank, and the ranks that hold the same; experts may be None."""

    dense: Value
    table: Value
    experts: Value | None
    same: Value
    same_experts: Value


def held_parameters(shape: ModelShape, degrees: Degrees, most: Value, on: Numbers) -> RankParameters:
    """The parameters of a stage of *most* layers, the fullest.

    With the embedding if it is alone on its stage, with both tables if there is one stage.
    """
    parts, tensor = Widths.of(shape).parts, degrees.tensor
    expert = parts.expert * shape.experts / degrees.expert / degrees.expert_tensor
    deep = Widths.of(shape).mixtures
    mixtures = on.smaller(most, deep + (shape.multi_token if deep else 0))
    plain = most - mixtures
    around = parts.attention / tensor + parts.norms
    table = shape.vocabulary * shape.hidden / tensor
    tables = on.where(degrees.pipeline > 1, 1, 1 if shape.tied else 2)
    dense = most * around + plain * parts.feed_forward / tensor + table * tables
    dense = dense + mixtures * (parts.router + parts.shared / tensor)
    same = degrees.data * degrees.context
    same_experts = same * tensor / (degrees.expert * degrees.expert_tensor)
    routed = mixtures * expert if shape.experts else None
    return RankParameters(dense, table, routed, same, same_experts)


def message_time(shape: ModelShape, speeds: Speeds, degrees: Degrees, on: Numbers) -> Value:
    """The first micro-batch from stage to stage, and its gradients back."""
    size = ELEMENT * degrees.micro_batch * degrees.sequence / degrees.context * shape.hidden
    stride = degrees.tensor * degrees.context * degrees.data
    each = message(speeds.net, on, size / degrees.tensor, degrees.pipeline, stride)
    crossed = degrees.pipeline * degrees.virtual - 1 + speeds.messages * degrees.microbatches * degrees.virtual
    return on.where(degrees.pipeline > 1, 2 * crossed * each, 0.0)


class _Rounds(NamedTuple):
    gather: Value
    reduce: Value


class Traffic(NamedTuple):
    """Weights gathered and gradients reduced once: of the layers, and of a table at an end."""

    layers: _Rounds
    ends: _Rounds


def traffic(speeds: Speeds, degrees: Degrees, on: Numbers, sent: ReducedBytes, held: RankParameters) -> Traffic:
    """What data parallelism sends in a step, before any of it is hidden."""
    return Traffic(
        _rounds(speeds, degrees, on, sent, held, held.dense),
        _rounds(speeds, degrees, on, sent, held._replace(experts=None), held.table),
    )


def exposed_time(
    shape: ModelShape, speeds: Speeds, degrees: Degrees, on: Numbers, one: StagesTime, passed: Traffic
) -> Value:
    """Gradients reduced and weights gathered, as far as nothing hides it, and what hiding costs.

    ZeRO 3 gathers the weights of a layer behind the layer before, and those of the embedding behind
    nothing; its gradients are the last to be reduced.
    """
    whole = degrees.zero_stage >= _ALL
    layers, ends = passed
    once = layers.gather + layers.reduce
    total = on.where(whole, degrees.microbatches * (once + layers.gather), once)
    if speeds.hidden_data >= 0:
        return (1 - speeds.hidden_data) * total
    deep = shape.layers + shape.multi_token
    forward, backward = one.layers.forward / deep, one.layers.backward / deep
    gathered = _shown_step(one.most, forward, layers.gather, on)
    shown = gathered + _shown_step(one.most, backward, layers.reduce, on)
    both = gathered + _shown_step(one.most, backward, once, on)
    shown = on.where(whole, degrees.microbatches * (both + ends.gather + ends.reduce), shown)
    return shown + _TAKEN * on.larger(0.0, total - shown)


def _rounds(
    speeds: Speeds, degrees: Degrees, on: Numbers, sent: ReducedBytes, held: RankParameters, dense: Value
) -> _Rounds:
    """Weights gathered and gradients reduced once, on all ranks that hold the same ones.

    Over *sharded* ranks where ZeRO shards over fewer of them, whose shards are reduced over the
    others then; an all-reduce of gradients takes both rounds as well.
    """
    net, stride = speeds.net, degrees.tensor
    back = on.where(degrees.zero_stage > 0, sent.weight, sent.gradient)
    within = on.smaller(degrees.sharded, held.same)
    others, far = held.same / within, stride * within
    experts = degrees.expert * degrees.expert_tensor
    gather = ring(net, on, back * dense, within, stride)
    reduce = ring(net, on, sent.gradient * dense, within, stride)
    reduce = reduce + ring(net, on, sent.gradient * dense / within, others, far, 2)
    if held.experts is None:
        return _Rounds(gather, reduce)
    same = held.same_experts
    return _Rounds(
        gather + ring(net, on, back * held.experts, same, experts),
        reduce + ring(net, on, sent.gradient * held.experts, same, experts),
    )


def _shown_step(layers: Value, computing: Value, sending: Value, on: Numbers) -> Value:
    """What *layers* in a row do not hide of what is sent for them all, one layer ahead."""
    each = sending / layers
    return each + (layers - 1) * on.larger(0.0, each - computing)


def optimizer_time(speeds: Speeds, degrees: Degrees, held: RankParameters, on: Numbers) -> Value:
    """The update of the weights that are on the fullest rank."""
    sharded = degrees.zero_stage > 0
    within = on.smaller(degrees.sharded, held.same)
    dense = held.dense / on.where(sharded, within, 1)
    experts = 0.0
    if held.experts is not None:
        experts = held.experts / on.where(sharded, held.same_experts, 1)
    each = _OPTIMIZER_BYTES + speeds.eager * _OPTIMIZER_UNFUSED
    return each * (dense + experts) / (speeds.bandwidth * _OPTIMIZER_SHARE)
