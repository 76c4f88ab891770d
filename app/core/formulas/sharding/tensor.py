"""Traffic and overhead of tensor parallelism."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, Count, Ratio, Seconds


def tensor_all_reduce_size(batch: Count, sequence: Count, hidden: Count, element_bytes: Bytes = 2) -> Bytes:
    """Bytes of the activation that tensor parallelism all-reduces.

        S = batch * sequence * hidden * element_bytes

    Convention:
        The whole array, as in the size column of nccl-tests; each rank sends 2 (n - 1) / n of it.
        Note that 64 MiB are 67.1 MB.

    Args:
        batch: sequences in one micro-batch.
        sequence: tokens of one sequence.
        hidden: hidden size of the model.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, section 3.2.
    """
    tokens = whole("batch", batch) * whole("sequence", sequence)
    return float(tokens * whole("hidden", hidden)) * positive("element_bytes", element_bytes)


def tensor_all_reduces(layers: Count, passes: Count = 2) -> Count:
    """All-reduces of tensor parallelism for one micro-batch.

    One after attention and one after the feed-forward, in each pass through a layer.

        N = 2 * passes * layers

    Convention:
        For one micro-batch and the layers of a rank. Two passes, forward and backward, make four
        per layer; full recomputation makes three passes and six per layer.

    Args:
        layers: layers that process the micro-batch.
        passes: 2 for forward and backward, 3 with full recomputation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3; Rajbhandari et al.,
        arXiv:1910.02054, section 8 (six with recomputation).
    """
    return 2 * whole("passes", passes) * whole("layers", layers)


def tensor_traffic_bytes(size: Bytes, layers: Ratio, ranks: Count, microbatches: Count = 1, passes: Count = 2) -> Bytes:
    """Bytes that each rank of tensor parallelism sends in a step.

    Two all-reduces per layer, pass and micro-batch; in each, a rank sends a ring's share of the
    activation.

        V = 2 * passes * layers * microbatches * 2 size * (ranks - 1) / ranks

    Convention:
        Sent by one rank, with ring all-reduces. Without recomputation it is 8 b s h (t - 1) / t
        elements per layer and micro-batch.

    Args:
        size: bytes of one micro-batch's activation.
        layers: layers of one rank; the mean if stages differ.
        ranks: ranks of tensor parallelism.
        microbatches: micro-batches per step.
        passes: 2 for forward and backward, 3 with full recomputation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, section 3.2.
    """
    times = 2 * whole("passes", passes) * positive("layers", layers)
    sent = 2 * positive("size", size) * (whole("ranks", ranks) - 1) / ranks
    return times * whole("microbatches", microbatches) * sent


def sequence_parallel_traffic_bytes(
    size: Bytes, layers: Ratio, ranks: Count, microbatches: Count = 1, passes: Count = 2
) -> Bytes:
    """Bytes that each rank sends in a step with tensor and sequence parallelism.

    A reduce-scatter (R) and an all-gather (G) take the place of each all-reduce, each with half of
    its bytes.

        R = size * (ranks - 1) / ranks
        G = size * (ranks - 1) / ranks
        V = 2 * passes * layers * microbatches * (R + G)

    Convention:
        The same as tensor parallelism alone. In the backward pass, the sharded input is gathered
        once more, overlapped with other work; as in the paper, this is not counted.

    Args:
        size: bytes of one micro-batch's activation.
        layers: layers of one rank; the mean if stages differ.
        ranks: ranks of tensor parallelism.
        microbatches: micro-batches per step.
        passes: 2 for forward and backward, 3 with full recomputation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4.2.2.
    """
    part = positive("size", size) * (whole("ranks", ranks) - 1) / ranks
    times = 2 * whole("passes", passes) * positive("layers", layers)
    return times * whole("microbatches", microbatches) * (part + part)


def tensor_overhead(all_reduce_time: Seconds, layers: Ratio, compute_time: Seconds, passes: Count = 2) -> Ratio:
    """Time of tensor parallelism's all-reduces, relative to the computation.

        R = 2 * passes * layers * all_reduce_time / compute_time

    Convention:
        Relative to the computation, not to the step, with nothing overlapped. The forward
        all-reduces are on the critical path; weight gradients can hide part of the backward ones.

    Args:
        all_reduce_time: seconds of one all-reduce.
        layers: layers that process the micro-batch.
        compute_time: seconds of computation of the same micro-batch.
        passes: 2 for forward and backward, 3 with full recomputation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, section 3.2.
    """
    each = at_least("all_reduce_time", all_reduce_time, 0)
    times = 2 * whole("passes", passes) * positive("layers", layers)
    return times * each / positive("compute_time", compute_time)
