"""The memory of the stages of a layout, how many ranks a model needs, and how large a model fits."""

import math
from fractions import Fraction
from typing import NamedTuple, get_args

from app.core.formulas import checks
from app.core.formulas.memory.states import Split
from app.core.formulas.parallelism import Degrees, Middle, refuse_pair
from app.core.formulas.presets import Layout, ModelShape, Recipe
from app.core.formulas.step.memory import (
    LayerParameters,
    RankMemoryTerms,
    StageLayers,
    StageMemory,
    end_parameters,
    fullest_stages,
    stage_bytes,
)
from app.core.formulas.transformer import LayerParts
from app.core.translation import noted, value_error
from app.core.units import BYTE, Bytes, Count, Ratio, show


class ParameterShare(NamedTuple):
    """A rank's parameters, before ZeRO divides them, without rows that pad the vocabulary.

    *dense* parameters are replicated on all data and context parallel ranks, *experts* on those
    that have the same experts; *layer* is the largest layer, both together.
    """

    layers: int
    dense: float
    experts: float
    layer: float

    @classmethod
    def of(cls, model: ModelShape, layout: Layout, stage: int) -> "ParameterShare":
        """The parameters of a rank of pipeline stage *stage*."""
        on = layout.degrees()
        at = StageLayers.of(model, on, Middle.of(model.layers, on), stage)
        layer = LayerParameters.of(model, LayerParts.of(model), on)
        ends = end_parameters(model, on, at, model.vocabulary / on.tensor)
        largest = max(layer.dense if at.dense else 0.0, layer.mixed + layer.experts if at.mixtures else 0.0)
        return cls(
            at.dense + at.mixtures,
            at.dense * layer.dense + at.mixtures * layer.mixed + ends,
            at.mixtures * layer.experts,
            largest,
        )


def fits_together(model: ModelShape, layout: Layout) -> None:
    """Refuse a layout that cannot divide *model*; the error names the nearest that can."""
    refuse_pair(model, layout.degrees())


_MEGATRON = Recipe.named("Megatron")
_LEAST, _MOST = 1.03, 1.09  # reserved over allocated in measured runs


class CardMemory(NamedTuple):
    """Bytes of the fullest card: allocated, reserved by the allocator, and in use altogether.

    *least* and *most* are the range of *reserved*.
    """

    allocated: Bytes
    reserved: Bytes
    least: Bytes
    most: Bytes
    used: Bytes


def stage_memory(
    model: ModelShape,
    layout: Layout,
    stage: Count = 0,
    recipe: Recipe = _MEGATRON,
    kernels: checks.AttentionKernels = "fused",
) -> StageMemory:
    """Bytes that are allocated on a GPU of a pipeline stage at its peak, by part.

    P are the parameters of the stage on a rank, with V rows of the embedding on the first stage and of the output head
    on the last; N ranks hold the same ones. M micro-batches of T tokens are in flight, and a layer keeps A bytes of
    each of them. On the last stage the peak is the backward pass of the output head: logits L and H, its weight's
    gradient, its input and its norm. On the others it is that of a layer, B for a dense one. D are the elements of one
    weight of each shape, whose gradients stay allocated beside the main gradients.

        T = micro_batch * sequence / context
        W = P * weight_bytes
        G = P * gradient_bytes
        O = P * optimizer_bytes
        X = M * layers * T * A
        L = logit_bytes * T * V / tensor
        H = element_bytes * (V / tensor + T * (2 + 3 / tensor)) * hidden
        B = element_bytes * T * (hidden + 2 feed_forward) / tensor
        Z = element_bytes * D + 48 * 1048576

    where ZeRO 1 divides O by N, ZeRO 2 also G, and ZeRO 3 also W. ZeRO 3 gathers two layers, ZeRO 2
    and 3 reduce the gradients of one at a time.

    Convention:
        One-forward-one-backward, interleaved if virtual is above 1. V is the vocabulary and one
        more, in multiples of 128 per tensor-parallel rank. A counts the tensors that a current
        layer stores, without dropout: both inputs of both norms, queries, keys, values, the results
        of attention and feed-forward, and FP32 statistics of norms and softmax; with all-to-all
        context parallelism also attention's result before the exchange. Fused attention, such as
        FlashAttention, stores no scores, so that none and selective recomputation are the same;
        unfused attention stores them unless recomputation is selective. Full recomputation stores a
        layer's input and holds one recomputed layer; with operations, a layer stores its input, the
        results of attention and of every second product, and holds the rest again. The 2 of H is
        there with sequence parallelism. Z has 48 MiB of workspaces.
        Weights gathered in 8 bits are not modeled. A module that predicts a further token is on the
        last stage: a layer, a projection of 2 h², four inputs and results of its norms, logits of
        its own, and one more embedding in a pipeline.

    Args:
        model: shape of the model.
        layout: how it is laid out.
        stage: which stage of the pipeline, from 0.
        recipe: bytes of each kind of number.
        kernels: fused attention, or unfused, which writes its scores to memory.

    Raises:
        ValueError: an argument is not such a record, the layout does not fit the model's shape, or
            it has no such stage.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5; Korthikanti et al.,
        arXiv:2205.05198, section 4 (stored tensors); Narayanan et al., arXiv:2104.04473, section 2;
        Megatron Core and Transformer Engine (padding, gradients beside the main gradients).
    """
    on, rank = _rank(model, layout, recipe, kernels)
    place = checks.whole("stage", stage, 0)
    if place >= layout.pipeline:
        raise checks.not_below("stage", stage, noted("the pipeline's stages"), layout.pipeline)
    return stage_bytes(model, on, rank, place)


def memory_budget(
    model: ModelShape, layout: Layout, recipe: Recipe = _MEGATRON, kernels: checks.AttentionKernels = "fused"
) -> StageMemory:
    """Bytes that are allocated on a GPU of the fullest pipeline stage at its peak, by part.

    The stage of which the sum S of the parts of stage_memory is the largest.

        M = max(S_0, S_1)

    Convention:
        As in stage_memory; for a pipeline of any length.

    Args:
        model: shape of the model.
        layout: how it is laid out.
        recipe: bytes of each kind of number.
        kernels: fused attention, or unfused, which writes its scores to memory.

    Raises:
        ValueError: an argument is not such a record, or the layout does not fit the model's shape.

    Source:
        The largest of stage_memory.
    """
    on, rank = _rank(model, layout, recipe, kernels)
    stages = sorted(set(fullest_stages(model, on, rank.middle)))
    return max((stage_bytes(model, on, rank, stage) for stage in stages), key=sum)


def card_memory(
    model: ModelShape,
    layout: Layout,
    recipe: Recipe = _MEGATRON,
    held_back: Ratio = 1.05,
    outside: Bytes = 0.0,
    kernels: checks.AttentionKernels = "fused",
) -> CardMemory:
    """Bytes of the fullest card that are allocated, that are reserved, and that are in use.

    What the allocator holds in blocks that nothing fits in comes on top of what is allocated, S,
    the sum of memory_budget; the CUDA context and the buffers of NCCL come on top of that.

        R = S * held_back
        U = S * held_back + outside

    Convention:
        PyTorch's max_memory_allocated, max_memory_reserved, and the memory that nvidia-smi shows.
        Reserved was 1.03 to 1.09 times allocated in measured runs, 1.08 to 1.09 with long
        sequences: the range from least to most. Nothing is assumed of what is outside; it is what
        nvidia-smi shows less the reserved memory.

    Args:
        model: shape of the model.
        layout: how it is laid out.
        recipe: bytes of each kind of number.
        held_back: reserved over allocated memory, at least 1.
        outside: bytes of the CUDA context and of buffers of libraries.
        kernels: fused attention, or unfused, which writes its scores to memory.

    Raises:
        ValueError: an argument is outside its domain, or as in memory_budget.

    Source:
        PyTorch, CUDA semantics, memory management (allocated and reserved).
    """
    allocated = memory_budget(model, layout, recipe, kernels).total
    reserved = allocated * checks.at_least("held_back", held_back, 1)
    return CardMemory(
        allocated, reserved, allocated * _LEAST, allocated * _MOST, reserved + checks.at_least("outside", outside, 0)
    )


def _rank(
    model: ModelShape, layout: Layout, recipe: Recipe, kernels: checks.AttentionKernels
) -> tuple[Degrees, RankMemoryTerms]:
    checks.recorded("model", model, ModelShape)
    checks.recorded("layout", layout, Layout)
    checks.recorded("recipe", recipe, Recipe)
    fits_together(model, layout)
    checks.one_of("kernels", kernels, get_args(checks.AttentionKernels))
    on = layout.degrees(kernels == "fused")
    return on, RankMemoryTerms.of(model, LayerParts.of(model), recipe, on)


def zero_smallest_ranks(
    parameters: Count,
    memory: Bytes,
    stage: checks.ZeroStage,
    reserved: Bytes = 0,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Count:
    """Fewest data-parallel ranks on which the state of a model fits under ZeRO.

    The state that every rank holds whole (K bytes per parameter) and the reserved memory leave
    some room, in which a rank's share of the sharded state (D bytes per parameter) must fit. If
    the first two already fill the memory, no number of ranks is enough.

        N = ceil(parameters * D / (memory - reserved - parameters * K))

    Convention:
        An exactly full memory counts as a fit. A card sold as 80 GB has 80e9 bytes here; drivers
        report a little more than that and reserve a little for themselves.

    Args:
        parameters: parameters of the whole model.
        memory: bytes of memory of one rank.
        stage: stage of ZeRO, 0 to 3.
        reserved: bytes of that memory for activations, buffers and the like.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Raises:
        ValueError: an argument is outside its domain, or *memory* is too small for any number of ranks.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5, solved for the number of ranks.
    """
    kept, shared = Split.of(stage, weight_bytes, gradient_bytes, optimizer_bytes)
    count = checks.whole("parameters", parameters)
    floor = Fraction(checks.at_least("reserved", reserved, 0)) + count * Fraction(kept)
    room = Fraction(checks.positive("memory", memory)) - floor
    if room < 0 or (shared and not room):
        form = noted(
            "{name} must be above the {floor} that stage {stage} and the reserved memory take"
            " on every rank, however many there are, not {value}"
        )
        raise value_error(form, name="memory", floor=show(float(floor), BYTE), stage=stage, value=show(memory, BYTE))
    return max(1, math.ceil(count * Fraction(shared) / room)) if shared else 1


def zero_largest_model(
    memory: Bytes,
    ranks: Count,
    stage: checks.ZeroStage,
    reserved: Bytes = 0,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Count:
    """Most parameters whose state fits on each data-parallel rank under ZeRO.

    The memory that is not reserved, over the bytes that a rank holds per parameter: K bytes that
    every rank holds whole, and a share of the D bytes that are sharded.

        P = floor((memory - reserved) / (K + D / ranks))

    Convention:
        Model parallelism multiplies this number, as in table 2 of the ZeRO paper. The measured
        sizes there are smaller, since activations and fragmentation take memory too.

    Args:
        memory: bytes of memory of one rank.
        ranks: data-parallel ranks.
        stage: stage of ZeRO, 0 to 3.
        reserved: bytes of that memory for activations, buffers and the like.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Raises:
        ValueError: an argument is outside its domain, or *reserved* exceeds *memory*.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5 and table 2.
    """
    kept, shared = Split.of(stage, weight_bytes, gradient_bytes, optimizer_bytes)
    room = Fraction(checks.positive("memory", memory)) - Fraction(checks.at_least("reserved", reserved, 0))
    if room < 0:
        raise checks.larger_than("reserved", show(reserved, BYTE), noted("the memory"), show(memory, BYTE))
    return math.floor(room / (Fraction(kept) + Fraction(shared) / checks.whole("ranks", ranks)))
