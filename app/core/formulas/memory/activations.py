"""Activations that are stored for the backward pass, and memory that is full only for a moment."""

from typing import get_args

from app.core.formulas import checks
from app.core.translation import noted
from app.core.units import Bytes, BytesPerSecond, Count, Flops, FlopsPerSecond, Ratio, Seconds


def layer_activation_bytes(
    sequence: Count,
    batch: Count,
    hidden: Count,
    heads: Count,
    tensor_ranks: Count = 1,
    sequence_parallel: bool = False,
    recompute: checks.Recompute = "none",
) -> Bytes:
    """Bytes of activations that one transformer layer stores on a rank for its backward pass.

    16-bit activations and one-byte dropout masks, tensor by tensor: per element of the layer's input, 24 bytes inside
    attention and feed-forward, which tensor parallelism divides; 10 in norms, dropouts and their inputs, which only
    sequence parallelism divides; and 5 per attention score. Selective recomputation drops the scores, S; full
    recomputation drops everything but the input. A is without sequence parallelism, B with it, F and G the same with
    full recomputation.

        E = sequence * batch * hidden
        S = 5 heads * sequence / hidden
        A = E * (10 + (24 + S) / tensor_ranks)
        B = E * (34 + S) / tensor_ranks
        F = 2 E
        G = 2 E / tensor_ranks

    Convention:
        34 and 5 hold for a layer with multi-head attention, a feed-forward of four times the
        hidden size, GELU and dropout. FlashAttention stores no scores, which is the selective
        count. Gated feed-forwards, grouped heads or no dropout change it. The papers' GB are GiB.
        Table 2 has F alone, for an input that is not split.

    Args:
        sequence: tokens of one sequence.
        batch: sequences in one micro-batch.
        hidden: hidden size of the layer.
        heads: attention heads.
        tensor_ranks: ranks of tensor parallelism; must divide the heads.
        sequence_parallel: whether norms and dropouts are divided along the sequence too.
        recompute: none, selective (attention scores) or full (everything but the input).

    Source:
        Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models,
        arXiv:2205.05198, section 4, equations 1 to 6, and table 2.
    """
    checks.one_of("sequence_parallel", sequence_parallel, (False, True))
    checks.one_of("recompute", recompute, get_args(checks.Recompute))
    elements = checks.whole("sequence", sequence) * checks.whole("batch", batch) * checks.whole("hidden", hidden)
    checks.whole("tensor_ranks", tensor_ranks)
    checks.divides("tensor_ranks", tensor_ranks, noted("heads"), checks.whole("heads", heads))
    if sequence_parallel:
        checks.divides("tensor_ranks", tensor_ranks, noted("tokens of a sequence"), sequence)
    split = tensor_ranks if sequence_parallel else 1
    if recompute == "full":
        return 2 * elements / split
    outside = 10 / split
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
    recompute: checks.Recompute = "none",
    stages: Count = 1,
    in_flight: Ratio = 1,
) -> Bytes:
    """Bytes of activations that a rank stores for its share of the layers.

    A pipeline stage has a share of the layers and stores each micro-batch from its forward to its backward pass. On the
    first stage of a one-forward-one-backward schedule, as many micro-batches are in flight as there are stages, so the
    pipeline saves it no memory. A are the bytes of one layer.

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

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4.2.3.
    """
    if checks.whole("stages", stages) > checks.whole("layers", layers):
        raise checks.larger_than("stages", stages, noted("the layers"), layers)
    layer = layer_activation_bytes(sequence, batch, hidden, heads, tensor_ranks, sequence_parallel, recompute)
    share = -(-int(layers) // int(stages))
    return share * checks.positive("in_flight", in_flight) * layer


def checkpointing_overhead() -> Ratio:
    """Additional time of a step with full recomputation, relative to the step without it.

    A backward pass takes about twice as long as a forward pass, since each matrix product of the
    forward pass has two in the backward pass. Full recomputation runs the forward pass F again.

        F = 1
        X = F / (F + 2 F)

    Convention:
        Relative to the step without recomputation. It is a quarter of the longer step.

    Source:
        Chen et al., Training Deep Nets with Sublinear Memory Cost, arXiv:1604.06174 (one more forward pass);
        Korthikanti et al., arXiv:2205.05198, section 5 (its cost, 30-40 % measured).
    """
    return 1 / 3


def fully_sharded_peak_bytes(
    parameters: Count,
    ranks: Count,
    units: Count,
    prefetched: Count = 1,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Bytes:
    """Bytes of model state on a rank at the peak of the backward pass under ZeRO stage 3 or FSDP.

    At rest, a rank has its share of everything. While a unit is in the backward pass, its weights
    and its gradients are whole, and so are the weights of the units that are prefetched.

        s = (weight_bytes + gradient_bytes + optimizer_bytes) * parameters / ranks
        M = s + ((1 + prefetched) * weight_bytes + gradient_bytes) * parameters / units

    Convention:
        Equal units. A rank's own share of a gathered unit is counted twice, in its shard and in
        the whole. Activations, buffers of collectives, and fragmentation are not counted.

    Args:
        parameters: parameters of the whole model.
        ranks: ranks that share the state.
        units: units that are gathered one by one, such as layers.
        prefetched: units whose weights are gathered ahead; 0 with a single unit.
        weight_bytes: bytes of one weight.
        gradient_bytes: bytes of one gradient.
        optimizer_bytes: bytes of optimizer state per parameter.

    Raises:
        ValueError: an argument is outside its domain, or *prefetched* leaves no unit to compute.

    Source:
        Zhao et al., PyTorch FSDP, arXiv:2304.11277, section 3 (what is gathered, and when).
    """
    weight = checks.positive("weight_bytes", weight_bytes)
    gradient = checks.at_least("gradient_bytes", gradient_bytes, 0)
    each = weight + gradient + checks.at_least("optimizer_bytes", optimizer_bytes, 0)
    count, many = checks.whole("parameters", parameters), checks.whole("units", units)
    ahead = checks.whole("prefetched", prefetched, 0)
    if ahead >= many:
        raise checks.not_below("prefetched", ahead, noted("the units"), many)
    gathered = ((1 + ahead) * weight + gradient) * count / many
    return each * count / checks.whole("ranks", ranks) + gathered


def logits_bytes(tokens: Count, vocabulary: Count, bytes_per_logit: Bytes = 10) -> Bytes:
    """Bytes of the logits of some tokens, with whatever is stored beside them.

    One logit for each token and each entry of the vocabulary.

        M = tokens * vocabulary * bytes_per_logit

    Convention:
        10 bytes: the result of the product in BF16, its copy in FP32, and the gradient in FP32.
        With a loss computed in chunks, *tokens* are those of one chunk.

    Args:
        tokens: tokens whose logits exist at the same time.
        vocabulary: entries of the vocabulary.
        bytes_per_logit: bytes stored for each logit.

    Source:
        Counted; Wijmans et al., Cut Your Losses in Large-Vocabulary Language Models, arXiv:2411.09009.
    """
    logits = checks.whole("tokens", tokens) * checks.whole("vocabulary", vocabulary)
    return logits * checks.positive("bytes_per_logit", bytes_per_logit)


def offload_time(size: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Time to move activations between a GPU and its host.

        T = size / bandwidth

    Convention:
        One direction of the link, for one GPU that has it to itself, without latency.

    Args:
        size: bytes that are moved.
        bandwidth: bytes per second in that direction.

    Source:
        From the definition.
    """
    return checks.positive("size", size) / checks.positive("bandwidth", bandwidth)


def width_to_hide_offload(
    bytes_per_element: Bytes,
    peak: FlopsPerSecond,
    utilization: Ratio,
    bandwidth: BytesPerSecond,
    flops_per_square: Flops = 24,
) -> Ratio:
    """Hidden size from which on a layer's forward pass hides the transfer of its activations.

    For s tokens, the pass takes flops_per_square * s * d^2 FLOP and keeps bytes_per_element * s *
    d bytes; s and one d cancel.

        d = bytes_per_element * utilization * peak / (flops_per_square * bandwidth)

    Convention:
        A layer with 12 d^2 parameters, without the scores of attention, which make the pass longer
        and are not stored by fused kernels. The link moves the activations of one layer while the
        next one computes.

    Args:
        bytes_per_element: bytes kept for each token and each element of the hidden size.
        peak: dense peak FLOP per second of the GPU.
        utilization: share of the peak that the pass reaches.
        bandwidth: bytes per second to the host.
        flops_per_square: FLOP for each token and each square of the hidden size.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4 (34 bytes); Rajbhandari et al.,
        ZeRO-Infinity, arXiv:2104.07857, section 4 (the method).
    """
    rate = checks.positive("peak", peak) * checks.fraction("utilization", utilization)
    moved = checks.positive("flops_per_square", flops_per_square) * checks.positive("bandwidth", bandwidth)
    return checks.positive("bytes_per_element", bytes_per_element) * rate / moved
