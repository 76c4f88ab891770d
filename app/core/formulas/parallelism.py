"""The degrees of parallelism of a layout as numbers, and the rules that they must keep."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from app.core.formulas.checks import nearest_of
from app.core.translation import noted, say

# A search computes many layouts at once: then each of these is a column, which computes like a number.
Value = float
Whole = int
N = TypeVar("N", bound=float)


class Numbers(Protocol):
    """Choices and rounding; both sides of a choice are computed, whichever is taken."""

    def where(self, condition: Value, yes: N, no: N) -> N:
        """*yes* where *condition* holds, otherwise *no*."""

    def larger(self, one: N, other: N) -> N:
        """The larger of two."""

    def smaller(self, one: N, other: N) -> N:
        """The smaller of two."""

    def ceil(self, value: Value) -> Whole:
        """The next whole number that is not below *value*."""


class _Plain:
    """Python's own."""

    @staticmethod
    def where(condition: Value, yes: N, no: N) -> N:
        return yes if condition else no

    @staticmethod
    def larger(one: N, other: N) -> N:
        return max(one, other)

    @staticmethod
    def smaller(one: N, other: N) -> N:
        return min(one, other)

    ceil = staticmethod(math.ceil)


PLAIN: Numbers = _Plain()


class CoreShape(Protocol):
    """What the core reads of a model's shape, which is always one: never a column."""

    @property
    def layers(self) -> int:
        """Layers of the model."""

    @property
    def heads(self) -> int:
        """Attention heads."""

    @property
    def experts(self) -> int:
        """Experts of a layer; 0 in a dense model."""

    @property
    def expert_feed_forward(self) -> int:
        """Inner size of an expert."""

    @property
    def dense_layers(self) -> int:
        """Layers at the start of a mixture model that have no experts."""


def expert_split(given: int, tensor: Whole, shards: Whole, expert: Whole, by: Numbers = PLAIN) -> Whole:
    """Ranks that share an expert, of *shards* ranks that hold the same of everything else.

    Where none are *given*: *tensor* ranks, or one if the experts must be spread over the tensor
    parallel ranks to have enough of them.
    """
    spread = (shards % expert != 0) & (shards * tensor % expert == 0)
    return given or by.where(spread, 1, tensor)


class Degrees(NamedTuple):
    """A layout as numbers; *full*, *selective* or *operations* is 1 where that is recomputed.

    Each is a plain number or a column. *expert_tensor* is the number of ranks that share an expert, *sharded* that over
    which ZeRO shards; *first* and *last* are the layers of the end stages, 0 where they are as even as possible;
    *exchanged* is 1 where context parallelism exchanges heads by all-to-all, and 0 where it gathers keys and values.
    """

    tensor: Whole = 1
    pipeline: Whole = 1
    context: Whole = 1
    expert: Whole = 1
    data: Whole = 1
    virtual: Whole = 1
    microbatches: Whole = 1
    micro_batch: Whole = 1
    sequence: Whole = 8192
    zero_stage: Whole = 1
    full: Whole = 0
    selective: Whole = 1
    sequence_parallel: Whole = 1
    expert_tensor: Whole = 1
    sharded: Whole = 1
    first: Whole = 0
    last: Whole = 0
    exchanged: Whole = 1
    operations: Whole = 0

    @property
    def tokens(self) -> Value:
        """Tokens of a micro-batch on a rank."""
        return self.micro_batch * self.sequence / self.context

    @property
    def expert_shards(self) -> Value:
        """Ranks over which ZeRO shards an expert: those of a shard group that have the same."""
        return self.sharded * self.tensor / (self.expert * self.expert_tensor)


class Middle(NamedTuple):
    """The stages whose layers are not given: the first of them, how many, and what they have.

    Those from *low* to before *high* have *fewer* layers and *more* (0 or 1), the others *fewer*.
    """

    start: Whole
    stages: Whole
    layers: Whole
    fewer: Whole
    more: Whole
    low: Whole
    high: Whole

    @classmethod
    def of(cls, layers: Whole, on: Degrees) -> "Middle":
        """The middle of a pipeline over *layers* layers."""
        start, end = (on.first > 0) * 1, (on.last > 0) * 1
        stages = on.pipeline - start - end
        left = layers - on.first - on.last
        divided = stages + (stages < 1) * (1 - stages)  # no division by zero where none are left
        short = -left % divided
        low = (short + end * (1 - start)) // 2
        fewer = left // divided
        return cls(start, stages, left, fewer, (short > 0) * 1, low, divided - (short - low))


def stage_layers(layers: Whole, on: Degrees, middle: Middle, stage: Whole, by: Numbers = PLAIN) -> tuple[Whole, Whole]:
    """The layers on pipeline stage *stage*, and the layers before it."""
    place = stage - middle.start
    longer = (place >= middle.low) & (place < middle.high)
    held = middle.fewer + middle.more * longer
    passed = by.smaller(place, middle.high) - by.smaller(place, middle.low)
    before = on.first + middle.fewer * place + middle.more * passed
    if is_plain_zero(on.first) and is_plain_zero(on.last):
        return held, before
    first = (stage == 0) & (on.first > 0)
    last = (stage == on.pipeline - 1) & (on.last > 0)
    held = by.where(first, on.first, by.where(last, on.last, held))
    before = by.where(first, 0, by.where(last, layers - on.last, before))
    return held, before


def is_plain_zero(value: object) -> bool:
    """Whether it is 0 in every layout: a plain number, not a column."""
    return isinstance(value, int) and value == 0


def stage_of(layer: Whole, on: Degrees, middle: Middle, by: Numbers = PLAIN) -> Whole:
    """The stage that has layer number *layer*, from 0."""
    place = layer - on.first
    short, long = by.larger(1, middle.fewer), middle.fewer + middle.more
    before, upto = middle.low * middle.fewer, (middle.high - middle.low) * long
    within = middle.low + (place - before) // by.larger(1, long)
    after = middle.high + (place - before - upto) // short
    found = by.where(place < before + upto, within, after)
    found = by.where(place < before, place // short, found)
    return by.where(place < 0, 0, by.smaller(middle.start + found, on.pipeline - 1))


def mixture_layers(shape: CoreShape, held: Whole, before: Whole, by: Numbers = PLAIN) -> Whole:
    """How many of the *held* layers of a stage, after *before* others, have experts."""
    dense = shape.dense_layers if shape.experts else shape.layers
    return held - by.larger(0, by.smaller(held, dense - before))


def in_flight(on: Degrees, stage: Whole, by: Numbers = PLAIN) -> Value:
    """Most micro-batches whose activations a stage holds under 1F1B, interleaved or not."""
    behind = on.pipeline - stage - 1
    chunks = (2 * behind + (on.virtual - 1) * on.pipeline + 1) / on.virtual
    return by.smaller(on.microbatches, by.where(on.virtual > 1, chunks, behind + 1))


WITHOUT_A_LAYER = 2  # chunks: one with the embedding alone, one with the output head alone
_NAMES = {"first": "first_layers", "last": "last_layers", "sharded": "shard_ranks"}
_NEAR = 4096  # values on either side that are tried for the nearest legal one


class BrokenRuleError(ValueError):
    """A layout that a rule refuses; what is legal nearby is looked for when it is read."""

    def __init__(self, rule: "Rule", shape: CoreShape, layout: Degrees) -> None:
        super().__init__(rule.name)
        self._broken = rule, shape, layout

    def __str__(self) -> str:
        rule, shape, layout = self._broken
        problem, nearest = rule.says(shape, layout), rule.nearest(shape, layout)
        return say("{problem}; {nearest}", problem=problem, nearest=nearest) if nearest else problem


class Rule(NamedTuple):
    """A rule: where it is *broken*, which *fields* may be changed, and what a refusal *says*.

    No value above *most* of a shape keeps it.
    """

    name: str
    fields: tuple[str, ...]
    broken: Callable[[CoreShape, Degrees], bool]
    says: Callable[[CoreShape, Degrees], str]
    most: Callable[[CoreShape], int] = lambda _: _NEAR * _NEAR

    def refuse(self, shape: CoreShape, layout: Degrees) -> None:
        """Raise an error if *layout* breaks the rule."""
        if self.broken(shape, layout):
            raise BrokenRuleError(self, shape, layout)

    def nearest(self, shape: CoreShape, layout: Degrees) -> str:
        """The nearest values that keep the rule, one below and one above, of the first field."""
        for field in self.fields:
            value = int(getattr(layout, field))
            most = self.most(shape)
            top = min(value - 1, most)
            below = range(top, max(0, top - _NEAR), -1)
            above = range(value + 1, min(value + _NEAR, most + 1))
            near = [
                f"{_NAMES.get(field, field)}={found}"
                for values in (below, above)
                if (found := next(self._legal(shape, layout, field, values), 0))
            ]
            if near:
                return nearest_of(near)
        return ""

    def _legal(self, shape: CoreShape, layout: Degrees, field: str, values: range) -> Iterator[int]:
        for value in values:
            if not self.broken(shape, layout._replace(**{field: value})):
                yield value


def _ends_take_too_much(shape: CoreShape, on: Degrees) -> bool:
    middle = Middle.of(shape.layers, on)
    first, last = on.first > 0, on.last > 0
    least = middle.stages - _spare(first, last)
    too_few = (middle.layers < 0) | (middle.layers < least)
    return (first | last) & (too_few | ((middle.stages < 1) & (middle.layers > 0)))


def _chunks_of(shape: CoreShape) -> int:
    """The most chunks that its layers fill, the embedding and the output head beside them."""
    return shape.layers + WITHOUT_A_LAYER


def _spare(first: bool, last: bool) -> Whole:
    """How many of the two chunks without a layer are not on a stage whose layers are given."""
    return WITHOUT_A_LAYER - first * 1 - last * 1


def _too_many_chunks(shape: CoreShape, on: Degrees) -> bool:
    """The first chunk may hold only the embedding, the last only the output head.

    Llama 3 405B cuts 126 layers into 128 chunks (arXiv:2407.21783, section 3.3.2); Megatron-LM
    calls it account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split.
    """
    middle = Middle.of(shape.layers, on)
    first, last = on.first > 0, on.last > 0
    return (
        (on.virtual * middle.stages > middle.layers + _spare(first, last))
        | (first & (on.virtual > on.first + 1))
        | (last & (on.virtual > on.last + 1))
    )


def _chunks_say(shape: CoreShape, on: Degrees) -> str:
    most, chunks = _chunks_of(shape), on.pipeline * on.virtual
    if chunks > most:
        form = noted(
            "layout must have at most as many pipeline chunks as layers, embedding and output head, {most}, not {value}"
        )
        return say(form, most=most, value=chunks)
    form = noted(
        "layout must have a layer for every pipeline chunk, except one with the embedding and one with the output head;"
        " {chunks} chunks on a stage are too many for {first} first and {last} last layers of {layers}"
    )
    return say(form, chunks=on.virtual, first=on.first, last=on.last, layers=shape.layers)


def _divides_ranks(name: str, on: Degrees, value: int) -> str:
    form = noted("{name} must divide the data and context parallel ranks, {whole}, not {value}")
    return say(form, name=name, whole=on.data * on.context, value=value)


def _divides(name: str, what: str, whole: int, value: int) -> str:
    form = noted("layout must have a {name} degree that divides the {what}, {whole}, not {value}")
    return say(form, name=name, what=what, whole=whole, value=value)


# What a layout must keep whatever the model is; a rule of these does not look at the shape.
OF_LAYOUTS = (
    Rule(
        noted("experts are spread over whole groups of ranks"),
        ("expert",),
        lambda _, on: on.data * on.context * on.tensor % (on.expert * on.expert_tensor) != 0,
        lambda _, on: (
            _divides_ranks("expert", on, on.expert)
            if on.expert_tensor == on.tensor
            else say(
                "expert times expert_tensor must divide the ranks of a stage, {ranks}, not {expert} * {expert_tensor}",
                ranks=on.data * on.context * on.tensor,
                expert=on.expert,
                expert_tensor=on.expert_tensor,
            )
        ),
    ),
    Rule(
        noted("ZeRO shards over equal groups of ranks"),
        ("sharded",),
        lambda _, on: on.data * on.context % on.sharded != 0,
        lambda _, on: _divides_ranks("shard_ranks", on, on.sharded),
    ),
    Rule(
        noted("chunks interleave in whole rounds of micro-batches"),
        ("microbatches",),
        lambda _, on: (on.virtual > 1) & (on.microbatches % on.pipeline != 0),
        lambda _, on: say(
            "{name} must be a multiple of the pipeline's stages, {stages}, when chunks interleave, not {value}",
            name="microbatches",
            stages=on.pipeline,
            value=on.microbatches,
        ),
    ),
    Rule(
        noted("stages with given layers exist"),
        ("pipeline",),
        lambda _, on: (on.first > 0) * 1 + (on.last > 0) * 1 > on.pipeline,
        lambda _, on: say(
            "{name} must be at least 2 where first_layers and last_layers are given, not {value}",
            name="pipeline",
            value=on.pipeline,
        ),
    ),
)

# What it must keep with the shape of a model.
OF_MODELS = (
    Rule(
        noted("tensor parallelism divides the heads"),
        ("tensor",),
        lambda shape, on: shape.heads % on.tensor != 0,
        lambda shape, on: _divides("tensor", noted("heads"), shape.heads, on.tensor),
    ),
    Rule(
        noted("context parallelism divides the sequence"),
        ("context",),
        lambda _, on: on.sequence % on.context != 0,
        lambda _, on: _divides("context", noted("tokens of a sequence"), on.sequence, on.context),
    ),
    Rule(
        noted("expert parallelism divides the experts"),
        ("expert",),
        lambda shape, on: max(1, shape.experts) % on.expert != 0,
        lambda shape, on: say(
            "layout must have an expert degree that divides the experts, {whole}, not {value}",
            whole=max(1, shape.experts),
            value=on.expert,
        ),
    ),
    Rule(
        noted("an expert is split into equal parts"),
        ("expert_tensor",),
        lambda shape, on: (shape.experts > 0) & (shape.expert_feed_forward % on.expert_tensor != 0),
        lambda shape, on: say(
            "layout must have a degree that divides the feed-forward size of an expert, {whole}, not {value}",
            whole=shape.expert_feed_forward,
            value=on.expert_tensor,
        ),
    ),
    Rule(
        noted("the first and last stage leave layers for the others"),
        ("first", "last"),
        _ends_take_too_much,
        lambda shape, on: say(
            "layout must have first_layers and last_layers that leave at least one of {layers} layers for each stage"
            " between them, or add up to {layers} if none is, not {first} + {last}",
            layers=shape.layers,
            first=on.first,
            last=on.last,
        ),
        most=_chunks_of,
    ),
    Rule(noted("every chunk has a layer"), ("virtual", "pipeline"), _too_many_chunks, _chunks_say, most=_chunks_of),
    Rule(
        noted("sequence parallelism divides the tokens of a rank"),
        ("tensor",),
        lambda _, on: (on.sequence_parallel > 0) & (on.sequence // on.context % on.tensor != 0),
        lambda _, on: say(
            "layout must have a tensor degree that divides the tokens of a rank, {whole}, with"
            " sequence parallelism, not {value}",
            whole=on.sequence // on.context,
            value=on.tensor,
        ),
    ),
)
RULES = OF_LAYOUTS + OF_MODELS


class _AnyShape(NamedTuple):
    """In place of a shape, for rules that hold whatever the model is."""

    layers: int = 0
    heads: int = 0
    experts: int = 0
    expert_feed_forward: int = 0
    dense_layers: int = 0


def refuse_degrees(on: Degrees) -> None:
    """Raise an error if a layout of these degrees breaks a rule that holds for every model."""
    for rule in OF_LAYOUTS:
        rule.refuse(_AnyShape(), on)


def refuse_pair(shape: CoreShape, on: Degrees) -> None:
    """Raise an error if a layout of these degrees cannot divide the model of that *shape*."""
    for rule in OF_MODELS:
        rule.refuse(shape, on)
