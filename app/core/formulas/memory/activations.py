"""Bytes of activations that are stored for the backward pass."""

from typing import get_args

from app.core.formulas.checks import Recompute, divides, one_of, positive, whole
from app.core.formulas.refusals import larger_than
from app.core.translation import noted
from app.core.units import Bytes, Count, Ratio


def layer_activation_bytes(
    sequence: Count,
    batch: Count,
    hidden: Count,
    heads: Count,
    tensor_ranks: Count = 1,
    sequence_parallel: bool = False,
    recompute: Recompute = "none",
) -> Bytes:
    """Bytes of activations that one transformer layer stores on a rank for its backward pass.

    16-bit activations and one-byte dropout masks, tensor by tensor: per element of the layer's
    input, 24 bytes inside attention and feed-forward, which tensor parallelism divides; 10 in
    norms, dropouts and their inputs, which only sequence parallelism divides; and 5 per attention
    score. Selective recomputation drops the scores, S; full recomputation drops everything but
    the input. A is without sequence parallelism, B with it, F with full recomputation.

        E = sequence * batch * hidden
        S = 5 heads * sequence / hidden
        A = E * (10 + (24 + S) / tensor_ranks)
        B = E * (34 + S) / tensor_ranks
        F = 2 E

    Convention:
        34 and 5 hold for a layer with multi-head attention, a feed-forward of four times the
        hidden size, GELU and dropout. FlashAttention stores no scores, which is the selective
        count. Gated feed-forwards, grouped heads or no dropout change it. The papers' GB are GiB.

    Args:
        sequence: tokens of one sequence.
        batch: sequences in one micro-batch.
        hidden: hidden size of the layer.
        heads: attention heads.
        tensor_ranks: ranks of tensor parallelism; must divide the heads.
        sequence_parallel: whether norms and dropouts are divided along the sequence too.
        recompute: none, selective (attention scores) or full (everything but the input).

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models,
        arXiv:2205.05198, section 4, equations 1 to 6, and table 2.
    """
    one_of("sequence_parallel", sequence_parallel, (False, True))
    one_of("recompute", recompute, get_args(Recompute))
    elements = whole("sequence", sequence) * whole("batch", batch) * whole("hidden", hidden)
    whole("tensor_ranks", tensor_ranks)
    divides("tensor_ranks", tensor_ranks, noted("heads"), whole("heads", heads))
    if recompute == "full":
        return 2 * elements
    if sequence_parallel:
        divides("tensor_ranks", tensor_ranks, noted("tokens of a sequence"), sequence)
    outside = 10 / (tensor_ranks if sequence_parallel else 1)
    scores = 5 * heads * sequence / hidden if recompute == "none" else 0.0
    return elements * (outside + (24 + scores) / tensor_ranks)


def activation_bytes(
    layers: Count,
    sequence: Count,
    batch: Count,
    hidden: Count,
    heads: Count,
    tensor_ranks: Count = 1,
    sequence_parallel: bool = False,
    recompute: Recompute = "none",
    stages: Count = 1,
    in_flight: Ratio = 1,
) -> Bytes:
    """Bytes of activations that a rank stores for its share of the layers.

    A pipeline stage has a share of the layers and stores each micro-batch from its forward to its
    backward pass. On the first stage of a one-forward-one-backward schedule, as many micro-batches
    are in flight as there are stages, so the pipeline saves it no memory. A are the bytes of one
    layer.

        M = ceil(layers / stages) * in_flight * A

    Convention:
        The layers alone: embedding, final norm and logits are not included. If the layers do not
        divide evenly, this is the fullest stage.

    Args:
        layers: layers of the whole model.
        sequence: tokens of one sequence.
        batch: sequences in one micro-batch.
        hidden: hidden size of a layer.
        heads: attention heads.
        tensor_ranks: ranks of tensor parallelism; must divide the heads.
        sequence_parallel: whether norms and dropouts are divided along the sequence too.
        recompute: none, selective (attention scores) or full (everything but the input).
        stages: pipeline stages, at most as many as layers.
        in_flight: micro-batches held at the same time; may be fractional if chunks interleave.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4.2.3.
    """
    if whole("stages", stages) > whole("layers", layers):
        raise larger_than("stages", stages, noted("the layers"), layers)
    layer = layer_activation_bytes(sequence, batch, hidden, heads, tensor_ranks, sequence_parallel, recompute)
    share = -(-int(layers) // int(stages))
    return share * positive("in_flight", in_flight) * layer


def checkpointing_overhead() -> Ratio:
    """Additional time of a step with full recomputation, relative to the step without it.

    A backward pass takes about twice as long as a forward pass, since each matrix product of the
    forward pass has two in the backward pass. Full recomputation runs the forward pass F again.

        F = 1
        X = F / (F + 2 F)

    Convention:
        Relative to the step without recomputation. It is a quarter of the longer step.

    Source:
        Chen et al., Training Deep Nets with Sublinear Memory Cost, arXiv:1604.06174 (one more
        forward pass); Korthikanti et al., arXiv:2205.05198, section 5 (its cost, 30-40 %
        measured).
    """
    return 1 / 3
