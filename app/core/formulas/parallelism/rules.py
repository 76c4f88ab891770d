"""The rules that a layout must keep, each of them once, for single layouts and for columns of them.

A rule is an expression over Degrees that is true where a layout breaks it. A search evaluates it
over columns and counts what each rule refused; the checks of a single layout evaluate the same
expression and say what the nearest legal value is.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from app.core.formulas.checks import nearest_of
from app.core.formulas.parallelism.degrees import CoreShape, Degrees, Middle
from app.core.translation import noted, say

WITHOUT_A_LAYER = 2  # chunks: one with the embedding alone, one with the output head alone
_NAMES = {"first": "first_layers", "last": "last_layers", "sharded": "shard_ranks"}
_NEAR = 4096  # values on either side that are tried for the nearest legal one


class BrokenRuleError(ValueError):
    """A layout that a rule refuses; what is legal nearby is looked for when it is read."""

    def __init__(self, rule: "Rule", shape: Any, layout: Degrees) -> None:
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
    broken: Callable[[CoreShape, Degrees], Any]
    says: Callable[[CoreShape, Degrees], str]
    most: Callable[[CoreShape], int] = lambda _: _NEAR * _NEAR

    def refuse(self, shape: Any, layout: Degrees) -> None:
        """Raise an error if *layout* breaks the rule."""
        if self.broken(shape, layout):
            raise BrokenRuleError(self, shape, layout)

    def nearest(self, shape: Any, layout: Degrees) -> str:
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

    def _legal(self, shape: Any, layout: Degrees, field: str, values: range) -> Iterator[int]:
        for value in values:
            if not self.broken(shape, layout._replace(**{field: value})):
                yield value


def _ends_take_too_much(shape: CoreShape, on: Degrees) -> Any:
    middle = Middle.of(shape.layers, on)
    first, last = on.first > 0, on.last > 0
    least = middle.stages - _spare(first, last)
    too_few = (middle.layers < 0) | (middle.layers < least)
    return (first | last) & (too_few | ((middle.stages < 1) & (middle.layers > 0)))


def _chunks_of(shape: CoreShape) -> int:
    """The most chunks that its layers fill, the embedding and the output head beside them."""
    return shape.layers + WITHOUT_A_LAYER


def _spare(first: Any, last: Any) -> Any:
    """How many of the two chunks without a layer are not on a stage whose layers are given."""
    return WITHOUT_A_LAYER - first * 1 - last * 1


def _too_many_chunks(shape: CoreShape, on: Degrees) -> Any:
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
        return say(
            "layout must have at most as many pipeline chunks as layers, embedding and output head,"
            " {most}, not {value}",
            most=most,
            value=chunks,
        )
    return say(
        "layout must have a layer for every pipeline chunk, except one with the embedding and one"
        " with the output head; {chunks} chunks on a stage are too many for {first} first and"
        " {last} last layers of {layers}",
        chunks=on.virtual,
        first=on.first,
        last=on.last,
        layers=shape.layers,
    )


def _divides_ranks(name: str, on: Degrees, value: int) -> str:
    return say(
        "{name} must divide the data and context parallel ranks, {whole}, not {value}",
        name=name,
        whole=on.data * on.context,
        value=value,
    )


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
            "layout must have first_layers and last_layers that leave at least one of {layers}"
            " layers for each stage between them, or add up to {layers} if none is,"
            " not {first} + {last}",
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


def refuse_layout(layout: Any) -> None:
    """Raise an error if *layout* breaks a rule that holds for every model."""
    degrees = Degrees.of(layout)
    for rule in OF_LAYOUTS:
        rule.refuse(None, degrees)


def refuse_pair(shape: CoreShape, layout: Any) -> None:
    """Raise an error if *layout* cannot divide the model of that *shape*."""
    degrees = Degrees.of(layout)
    for rule in OF_MODELS:
        rule.refuse(shape, degrees)
