"""A micro-batch through the stages of a pipeline, with embedding and output head."""

from typing import NamedTuple

from app.core.formulas.parallelism.degrees import Degrees
from app.core.formulas.parallelism.numbers import Numbers, Value
from app.core.formulas.presets import ModelShape
from app.core.formulas.step.kernels import Products, moved_time
from app.core.formulas.step.layer import ELEMENT, LayerTime, layer_times
from app.core.formulas.step.links import ring
from app.core.formulas.step.speeds import Speeds
from app.core.formulas.step.widths import Linear, Width, Widths

_LOGIT_BYTES, _EMBEDDING_BYTES = 30, 20  # bytes that are moved: of a logit; of a token's element
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


def stages_time(
    shape: ModelShape,
    speeds: Speeds,
    degrees: Degrees,
    on: Numbers,
    times: tuple[LayerTime, LayerTime] | None = None,
    known: Ends | None = None,
) -> StagesTime:
    """The pass of one micro-batch; *times* of `layer_times` and *known* of `end_times` if given.

    Depends on what `layer_times` does, and on the number of stages.
    """
    dense, mixture = times or layer_times(shape, speeds, degrees, on)
    widths, ends = Widths.of(shape), known or end_times(shape, speeds, degrees, on)
    layers = dense.times(widths.dense_layers)
    if widths.mixtures:
        layers = layers.plus(mixture.times(widths.mixtures))
    deepest = mixture if widths.mixtures else dense
    further = shape.multi_token
    if further:
        layers = layers.plus(deepest.times(further))
        ends = _with_further(ends, further)
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


def _with_further(ends: Ends, further: int) -> Ends:
    """The ends with *further* modules, each of which has a projection and runs the output head."""
    return ends._replace(
        head=ends.head * (1 + further) + ends.projection * further, tensor=ends.tensor * (1 + 2 * further)
    )


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
    spent = _Padded(speeds, on, rows, tensor, padded).seconds((table,), speeds.exact)
    logits = moved_time(speeds, _LOGIT_BYTES * rows * padded / tensor)
    size = ELEMENT * rows * shape.hidden
    each = (1 - speeds.hidden_tensor) * ring(speeds.net, on, size, tensor, 1, 2)
    embedding = moved_time(speeds, _EMBEDDING_BYTES * rows * shape.hidden)
    head = spent.forward + spent.backward + logits
    if not shape.multi_token:
        return Ends(embedding, head, 2 * each)
    joined = Linear(Width(shape.hidden, split=True), Width(2 * shape.hidden))
    passed = Products(speeds, on, rows, tensor).seconds((joined,), speeds.exact)
    return Ends(embedding, head, 2 * each, passed.forward + passed.backward)


class _Padded(Products):
    """Products with the vocabulary, whose size depends on the number of ranks."""

    def __init__(self, speeds: Speeds, on: Numbers, rows: Value, tensor: Value, padded: Value) -> None:
        super().__init__(speeds, on, rows, tensor)
        self._padded = padded

    def _side(self, width: Width | None) -> Value:
        side = super()._side(width)
        return side * self._padded if width is not None and width.split else side
