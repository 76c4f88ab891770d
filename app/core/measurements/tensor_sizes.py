"""Which tensors of a model have the size of a request for memory, and what makes each of them smaller."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import groupby

from app.core.formulas.presets import MODELS, ModelShape
from app.core.formulas.transformer import LayerParts, model_parameters
from app.core.translation import noted, say
from app.core.units import Bytes, Count, Ratio, show_size

_MEBI = 1 << 20
SMALL_BLOCK, LARGE_BLOCK = 2 * _MEBI, 20 * _MEBI  # what PyTorch asks for instead of up to 1 MiB, and of up to 10 MiB
_ROUNDED_FROM = 10 * _MEBI  # from here on to the next 2 MiB
_NEAR = 0.01  # of a size that is said to be close
_ELEMENTS = ((2, noted("16 bits")), (4, "FP32"))
_ROUND = 128  # tokens of a micro-batch are a multiple of this, or say nothing
_CHANCE = 1 / 16  # of such a multiple in the range; likelier ones say nothing
_MOST_TOKENS = 1 << 24
_PADDED = 128  # Megatron pads a vocabulary to a multiple of this for each tensor parallel rank


@dataclass(frozen=True, slots=True)
class RequestRange:
    """What was asked for: at least *low* and at most *high* bytes, as a message has few digits."""

    low: Bytes
    high: Bytes

    @classmethod
    def of(cls, printed: Bytes, half_digit: Bytes, *, rounded: bool) -> "RequestRange":
        """The range of a *printed* size; *rounded* up as PyTorch does, before it prints."""
        low, high = printed - half_digit, printed + half_digit
        if not rounded or printed < _ROUNDED_FROM:
            return cls(max(low, 1.0), high)
        blocks = math.ceil(low / SMALL_BLOCK), math.floor(high / SMALL_BLOCK)
        if blocks[0] > blocks[1]:  # it was not rounded: another allocator
            return cls(low, high)
        return cls((blocks[0] - 1) * SMALL_BLOCK + 1, blocks[1] * SMALL_BLOCK)

    def has(self, size: Bytes) -> bool:
        """Whether *size* can be what was asked for."""
        return self.low <= size <= self.high

    def off(self, size: Bytes) -> Ratio:
        """How much larger *size* is than the range, as a share; below 0 if smaller, 0 within it."""
        nearest = min(max(size, self.low), self.high)
        return size / nearest - 1


class TensorRole(Enum):
    """What a tensor is for, which says what makes it smaller."""

    STATES = "states"
    SHARD = "shard"
    MATRIX = "matrix"
    LOGITS = "logits"
    SCORES = "scores"
    ACTIVATION = "activation"
    CACHE = "cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorContext:
    """What is known of a run: *tokens* of a micro-batch, a *sequence*, degrees, and a *role* that the traceback names.

    0: not known.
    """

    tokens: Count = 0
    sequence: Count = 0
    tensor: Count = 1
    ranks: Count = 1
    role: TensorRole | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorCandidate:
    """A tensor of that size: its arithmetic, *off* by a share, for *tokens* if they follow from the size."""

    role: TensorRole
    name: str
    arithmetic: str
    size: Bytes
    element_bytes: int
    off: Ratio = 0.0
    tokens: Count = 0  # that a micro-batch would have; 0: nothing was left open
    models: tuple[str, ...] = ()

    @property
    def match(self) -> str:
        """How well it agrees."""
        if self.tokens:
            return say("if it has {tokens:,} tokens", tokens=self.tokens)
        if self.off:
            way = noted("{share:.1f} % too large") if self.off > 0 else noted("{share:.1f} % too small")
            return say(way, share=100 * abs(self.off))
        return say("to the printed digits")


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor with a number of elements, or with that many for each token."""

    role: TensorRole
    name: str
    elements: Count
    form: str
    values: Mapping[str, object]


def _whole_tensors(model: ModelShape, context: TensorContext) -> Iterator[_Tensor]:
    """The tensors whose size does not depend on the batch."""
    split, hidden, every = context.tensor, model.hidden, model_parameters(model)
    form = noted("{count:,} parameters")
    yield _Tensor(
        TensorRole.STATES, noted("all weights, all gradients or one moment"), every // split, form, {"count": every}
    )
    if context.ranks > 1:
        shard = {"count": every, "ranks": context.ranks * split}
        name = noted("one rank's shard of all weights, all gradients or one moment")
        elements = math.ceil(every / context.ranks / split)
        yield _Tensor(TensorRole.SHARD, name, elements, noted("{count:,} parameters / {ranks:,} ranks"), shard)
    parts = LayerParts.of(model)
    mixed = parts.router + parts.shared + model.experts * parts.expert
    layer = parts.attention + parts.norms + (mixed if model.expert_layers else parts.feed_forward)
    name = noted("the weights or gradients of one layer")
    yield _Tensor(TensorRole.STATES, name, layer // split, form, {"count": layer})
    table = noted("the embedding table or the output head, or its gradient")
    yield from _matrices(table, split, _split_vocabulary(model, split) * split, hidden)
    yield from _matrices(noted("a matrix of the feed-forward, or its gradient"), split, hidden, model.feed_forward)
    if model.gated:
        fused = noted("gate and up projection together, or their gradient")
        yield from _matrices(fused, split, hidden, 2 * model.feed_forward)
    if not model.latent:
        query = noted("the query or output projection of attention, or its gradient")
        yield from _matrices(query, split, hidden, model.heads * model.head_size)
    experts = noted("one matrix of all experts of a layer, or its gradient")
    yield from _matrices(experts, split, model.experts, hidden, model.expert_feed_forward)


def _split_vocabulary(model: ModelShape, split: Count) -> Count:
    """The part of the vocabulary of one tensor parallel rank: padded, if there are several."""
    if split == 1:
        return model.vocabulary
    return _PADDED * math.ceil(model.vocabulary / _PADDED / split)


def _matrices(name: str, split: Count, *sides: Count) -> Iterator[_Tensor]:
    if all(sides):
        product = " × ".join(f"{side:,}" for side in sides)
        yield _Tensor(TensorRole.MATRIX, name, math.prod(sides) // split, "{product}", {"product": product})


def _token_tensors(model: ModelShape, context: TensorContext) -> Iterator[_Tensor]:
    """The tensors that grow with the tokens of a micro-batch: elements of each token."""
    split = context.tensor
    logits = _split_vocabulary(model, split)
    yield _Tensor(TensorRole.LOGITS, noted("logits, or their gradient"), logits, "{wide:,}", {"wide": logits})
    name = noted("what a layer reads or writes")
    yield _Tensor(TensorRole.ACTIVATION, name, model.hidden, "{wide:,}", {"wide": model.hidden})
    if inner := model.feed_forward // split:
        name = noted("what is inside a feed-forward")
        yield _Tensor(TensorRole.ACTIVATION, name, inner, "{wide:,}", {"wide": inner})
    if context.sequence:
        heads = max(model.heads // split, 1)
        values = {"heads": heads, "sequence": context.sequence}
        form, wide = noted("{heads} heads × {sequence:,} keys"), heads * context.sequence
        yield _Tensor(TensorRole.SCORES, noted("scores of attention"), wide, form, values)


def tensor_candidates(asked: RequestRange, model: ModelShape, context: TensorContext) -> tuple[TensorCandidate, ...]:
    """The tensors of *model* that agree with *asked*, the best first."""
    found = [*_whole_candidates(asked, model, context, _NEAR), *_token_candidates(asked, model, context)]
    return tuple(sorted(found, key=lambda one: _order(one, context)))


def _order(one: TensorCandidate, context: TensorContext) -> tuple[bool, bool, bool, float, int]:
    """What agrees without anything left open comes first, then what the traceback names, then round tokens."""
    roundness = -(one.tokens & -one.tokens)
    named = one.role is context.role
    return (bool(one.off), bool(one.tokens) and not named, not named, abs(one.off), roundness)


def _whole_candidates(
    asked: RequestRange, model: ModelShape, context: TensorContext, near: Ratio
) -> Iterator[TensorCandidate]:
    for one in _whole_tensors(model, context):
        for width, bits in _ELEMENTS:
            size = one.elements * width
            off = asked.off(size)
            if abs(off) <= near:
                is_split = context.tensor > 1 and one.role is not TensorRole.SHARD
                split = say(" / {split} ranks", split=context.tensor) if is_split else ""
                yield _candidate(one, width, bits, f"{say(one.form, **one.values)}{split}", size, model, off=off)


def _token_candidates(asked: RequestRange, model: ModelShape, context: TensorContext) -> Iterator[TensorCandidate]:
    for one in _token_tensors(model, context):
        for width, bits in _ELEMENTS:
            each = one.elements * width
            tokens = context.tokens or _round_tokens(asked.low / each, asked.high / each)
            if tokens and asked.has(tokens * each):
                arithmetic = say("{tokens:,} tokens × {each}", tokens=tokens, each=say(one.form, **one.values))
                follows = 0 if context.tokens else tokens
                yield _candidate(one, width, bits, arithmetic, tokens * each, model, tokens=follows)


def _candidate(
    one: _Tensor, width: int, bits: str, arithmetic: str, size: Bytes, model: ModelShape, *,
    off: Ratio = 0.0, tokens: Count = 0,
) -> TensorCandidate:  # fmt: skip
    return TensorCandidate(
        role=one.role,
        name=say("{name}, {bits}", name=say(one.name), bits=say(bits)),
        arithmetic=say(
            noted("{product} = {size}") if width == 1 else noted("{product} × {width} bytes = {size}"),
            product=arithmetic, width=width, size=show_size(size, 4)
        ),
        size=size,
        element_bytes=width,
        off=off,
        tokens=tokens,
        models=(model.name,),
    )  # fmt: skip


def _round_tokens(low: float, high: float) -> Count:
    """The number of tokens in the range that the largest power of two divides; 0 if that may be chance."""
    step = 1 << max(int(min(high, _MOST_TOKENS)).bit_length() - 1, 0)
    while step > _ROUND and math.floor(high / step) * step < low:
        step //= 2
    tokens = math.floor(high / step) * step
    unlikely = (high - low) / step < _CHANCE
    return tokens if _ROUND <= tokens <= _MOST_TOKENS and tokens >= low and unlikely else 0


def cache_candidates(
    asked: RequestRange, tokens: Count, models: Iterable[ModelShape], tensor: Count = 1
) -> tuple[TensorCandidate, ...]:
    """The *models* whose keys and values of *tokens* tokens take what was *asked* for, those of one size together."""
    found = []
    for model in models:
        heads = 2 * max(model.key_value_heads // tensor, 1) * model.head_size
        held = model.latent + model.rope if model.latent else heads
        for width, bits in ((2, noted("16 bits")), (1, noted("8 bits"))):
            each = model.layers * held * width
            if abs(off := asked.off(tokens * each)) <= _NEAR / 10:
                form = noted("{tokens:,} tokens × {layers} layers × {wide:,}")
                values = {"tokens": tokens, "layers": model.layers, "wide": held}
                one = _Tensor(TensorRole.CACHE, noted("keys and values"), 0, form, values)
                found.append(_candidate(one, width, bits, say(form, **values), tokens * each, model, off=off))
    return _merged(found)


def open_tokens(asked: RequestRange, model: ModelShape, tensor: Count = 1) -> tuple[tuple[str, float], ...]:
    """The tokens for which logits of 16 bits and of FP32 would have that size: any size has such a number."""
    wide = _split_vocabulary(model, tensor)
    middle = (asked.low + asked.high) / 2
    return tuple((bits, middle / wide / width) for width, bits in _ELEMENTS)


def every_model() -> tuple[ModelShape, ...]:
    """Every known model, once."""
    return tuple({id(one): one for one in MODELS.values()}.values())


@lru_cache(maxsize=256)
def known_candidates(asked: RequestRange, context: TensorContext) -> tuple[TensorCandidate, ...]:
    """The tensors of every known model that agree, models with the same one together."""
    found: list[TensorCandidate] = []
    for model in every_model():
        same = _whole_candidates(asked, model, context, _NEAR / 2)
        found += [one for one in same if not one.off or one.role is TensorRole.STATES]
        logits = _token_candidates(asked, model, context)
        found += [one for one in logits if one.role is TensorRole.LOGITS and _is_very_round(one.tokens)]
    return tuple(sorted(_merged(found), key=lambda one: (*_order(one, context), -len(one.models))))


_VERY_ROUND, _ODD = 1024, 15  # tokens where not even the model is known: the first, times at most the second


def _is_very_round(tokens: Count) -> bool:
    power = tokens & -tokens
    return power >= _VERY_ROUND and tokens // power <= _ODD


def _merged(found: Iterable[TensorCandidate]) -> tuple[TensorCandidate, ...]:
    """*found*, with one for all models whose arithmetic is the same."""
    ordered = sorted(found, key=lambda one: (one.name, one.arithmetic))
    groups = [list(same) for _, same in groupby(ordered, key=lambda one: (one.name, one.arithmetic))]
    return tuple(replace(same[0], models=tuple(name for one in same for name in one.models)) for same in groups)


@dataclass(frozen=True, slots=True)
class MemoryCure:
    """A change, the bytes that it saves, and *of* what."""

    says: str
    saves: Bytes
    of: str


_FEWER_TOKENS = noted("half as many tokens in a micro-batch, and twice as many micro-batches")
# Of a tensor for each role: a change, and the share of it that is saved.
_CURES: Mapping[TensorRole, tuple[tuple[str, Ratio], ...]] = {
    TensorRole.STATES: (
        (noted("FSDP or ZeRO, whose ranks each hold a part, such as over 8 GPUs"), 7 / 8),
        (noted("optimizer states on the host, if it is one of them"), 1),
        (noted("LoRA, if it is gradients or optimizer states: nearly all of it"), 0.99),
    ),
    TensorRole.SHARD: (
        (noted("twice as many ranks that share it"), 1 / 2),
        (noted("optimizer states on the host, if it is one of them"), 1),
    ),
    TensorRole.MATRIX: (
        (noted("tensor parallelism over 2 GPUs; but one matrix is small, and the rest filled the GPU"), 1 / 2),
    ),
    TensorRole.LOGITS: (
        (
            noted(
                "a fused or chunked cross-entropy, such as Liger's, or a loss in 16 chunks; it also saves the copies"
                " of this size that the loss and its gradient take"
            ),
            15 / 16,
        ),
        (_FEWER_TOKENS, 1 / 2),
    ),
    TensorRole.SCORES: (
        (noted("attention that stores no scores, such as FlashAttention or SDPA"), 1),
        (noted("sequences of half the length"), 3 / 4),
    ),
    TensorRole.ACTIVATION: ((_FEWER_TOKENS, 1 / 2),),
    TensorRole.CACHE: ((noted("twice as many GPUs: --tensor-parallel-size"), 1 / 2),),
}
# If its elements have this many bytes.
_NARROWER: Mapping[tuple[TensorRole, int], tuple[tuple[str, Ratio], ...]] = {
    (TensorRole.CACHE, 2): ((noted("a cache in 8 bits: --kv-cache-dtype fp8"), 1 / 2),),
    **{
        (role, 4): (
            (noted("an 8-bit optimizer, if it is a moment of Adam"), 3 / 4),
            (noted("16 bits instead of FP32"), 1 / 2),
        )
        for role in (TensorRole.STATES, TensorRole.SHARD)
    },
}


def cures_of(one: TensorCandidate) -> Iterator[MemoryCure]:
    """What makes *one* smaller, and by how much."""
    known = (*_CURES[one.role], *_NARROWER.get((one.role, one.element_bytes), ()))
    for form, share in sorted(known, key=lambda cure: -cure[1]):
        yield MemoryCure(say(form), one.size * share, one.name)
