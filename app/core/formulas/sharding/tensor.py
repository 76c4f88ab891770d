"""Tensor parallelism: shards, traffic, overhead, and the largest group that pays."""

from typing import NamedTuple

from app.core.formulas.checks import at_least, divides, positive, whole
from app.core.translation import noted, value_error
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio, Seconds


class Shard(NamedTuple):
    """A rank's shard of a matrix."""

    rows: Count
    columns: Count


class Heads(NamedTuple):
    """A rank's heads, and how many ranks hold the same key-value head."""

    query: Count
    key_value: Count
    copies: Count


def column_shard(rows: Count, columns: Count, ranks: Count) -> Shard:
    """Shape of a rank's shard of a weight matrix that is split by columns.

    Each rank computes some columns of the result from the whole input; side by side they are the
    result, and nothing has to be summed.

        R = rows
        C = columns / ranks

    Convention:
        For a product X A, where A has *rows* rows and *columns* columns. PyTorch stores the weight
        of a Linear layer transposed.

    Args:
        rows: rows of the whole matrix.
        columns: columns of the whole matrix.
        ranks: ranks of tensor parallelism; must divide the columns.

    Source:
        Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    wide, parts = whole("columns", columns), whole("ranks", ranks)
    divides("ranks", parts, noted("columns"), wide)
    return Shard(whole("rows", rows), wide // parts)


def row_shard(rows: Count, columns: Count, ranks: Count) -> Shard:
    """Shape of a rank's shard of a weight matrix that is split by rows.

    Each rank has some columns of the input and computes a partial sum of the whole result; an
    all-reduce adds the partial sums.

        R = rows / ranks
        C = columns

    Convention:
        For a product X A, where A has *rows* rows and *columns* columns. After a column split, no
        communication is needed in between.

    Args:
        rows: rows of the whole matrix.
        columns: columns of the whole matrix.
        ranks: ranks of tensor parallelism; must divide the rows.

    Source:
        Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    high, parts = whole("rows", rows), whole("ranks", ranks)
    divides("ranks", parts, noted("rows"), high)
    return Shard(high // parts, whole("columns", columns))


def heads_per_rank(query_heads: Count, key_value_heads: Count, ranks: Count) -> Heads:
    """Attention heads of a tensor-parallel rank.

    Query heads are divided evenly. If there are fewer key-value heads than ranks, several ranks
    hold a copy of the same head.

        Q = query_heads / ranks
        K = max(1, key_value_heads / ranks)
        C = max(1, ranks / key_value_heads)

    Convention:
        Copies are the ranks that hold the same key-value head. Sequence parallelism does not
        split heads, so it does not avoid copies.

    Args:
        query_heads: query heads of the layer.
        key_value_heads: key-value heads; must divide the query heads.
        ranks: ranks of tensor parallelism; must divide the query heads, and divide or be a multiple
            of the key-value heads.

    Source:
        Grattafiori et al., arXiv:2407.21783, table 3 (8 heads for 8 ranks); Megatron-LM, attention
        with grouped queries.
    """
    queries, shared = (whole("query_heads", query_heads), whole("key_value_heads", key_value_heads))
    parts = whole("ranks", ranks)
    divides("key_value_heads", shared, noted("query heads"), queries)
    divides("ranks", parts, noted("query heads"), queries)
    if shared % parts and parts % shared:
        form = noted("{name} must divide or be a multiple of the key-value heads, {shared}, not {value}")
        raise value_error(form, name="ranks", shared=shared, value=ranks)
    return Heads(queries // parts, max(1, shared // parts), max(1, parts // shared))


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

    Source:
        Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3; Rajbhandari et al.,
        arXiv:1910.02054, section 8 (six with recomputation).
    """
    return 2 * whole("passes", passes) * whole("layers", layers)


def tensor_traffic_bytes(size: Bytes, layers: Ratio, ranks: Count, microbatches: Count = 1, passes: Count = 2) -> Bytes:
    """Bytes that each rank of tensor parallelism sends in a step.

    Two all-reduces per layer, pass and micro-batch; in each, a rank sends a ring's share of the activation.

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

    A reduce-scatter (R) and an all-gather (G) take the place of each all-reduce, each with half of its bytes.

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

    Source:
        Narayanan et al., arXiv:2104.04473, section 3.2.
    """
    each = at_least("all_reduce_time", all_reduce_time, 0)
    times = 2 * whole("passes", passes) * positive("layers", layers)
    return times * each / positive("compute_time", compute_time)


def largest_tensor_degree(
    feed_forward: Count, peak: FlopsPerSecond, bandwidth: BytesPerSecond, element_bytes: Bytes = 2
) -> Ratio:
    """Tensor-parallel degree at which a feed-forward communicates for as long as it computes.

    With sequence parallelism, T tokens of d numbers are gathered before the two products and
    reduce-scattered after them, while each rank computes 4 T d F / n FLOP. T and d cancel out.

        N = 1 + 2 FLOP * feed_forward * bandwidth / (element_bytes * peak)

    Convention:
        Not rounded; the forward pass of a feed-forward without a gate, with (n - 1) / n exactly,
        at the peak. With three matrices, a gated one computes half as much again for the same
        traffic. Nothing is hidden: this is where communication takes as long as computation.

    Args:
        feed_forward: inner size of the feed-forward.
        peak: dense peak FLOP per second of one GPU.
        bandwidth: bytes per second that a GPU sends while it receives as much.
        element_bytes: bytes of one number of an activation.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training" (Y < F W / C).
    """
    computed = positive("element_bytes", element_bytes) * positive("peak", peak)
    sent = 2 * whole("feed_forward", feed_forward) * positive("bandwidth", bandwidth)
    return 1 + sent / computed
