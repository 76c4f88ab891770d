"""Memory that is full only for a moment: a gathered unit, the logits, what waits for the host."""

from app.core.formulas.checks import at_least, fraction, positive, whole
from app.core.formulas.refusals import not_below
from app.core.translation import noted
from app.core.units import Bytes, BytesPerSecond, Count, Flops, FlopsPerSecond, Ratio, Seconds


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
    weight = positive("weight_bytes", weight_bytes)
    gradient = at_least("gradient_bytes", gradient_bytes, 0)
    each = weight + gradient + at_least("optimizer_bytes", optimizer_bytes, 0)
    count, many = whole("parameters", parameters), whole("units", units)
    ahead = whole("prefetched", prefetched, 0)
    if ahead >= many:
        raise not_below("prefetched", ahead, noted("the units"), many)
    gathered = ((1 + ahead) * weight + gradient) * count / many
    return each * count / whole("ranks", ranks) + gathered


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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted; Wijmans et al., Cut Your Losses in Large-Vocabulary Language Models,
        arXiv:2411.09009.
    """
    logits = whole("tokens", tokens) * whole("vocabulary", vocabulary)
    return logits * positive("bytes_per_logit", bytes_per_logit)


def offload_time(size: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Time to move activations between a GPU and its host.

        T = size / bandwidth

    Convention:
        One direction of the link, for one GPU that has it to itself, without latency.

    Args:
        size: bytes that are moved.
        bandwidth: bytes per second in that direction.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    return positive("size", size) / positive("bandwidth", bandwidth)


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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4 (34 bytes); Rajbhandari et al.,
        ZeRO-Infinity, arXiv:2104.07857, section 4 (the method).
    """
    rate = positive("peak", peak) * fraction("utilization", utilization)
    moved = positive("flops_per_square", flops_per_square) * positive("bandwidth", bandwidth)
    return positive("bytes_per_element", bytes_per_element) * rate / moved
