"""Context and expert parallelism: traffic, capacity and load, and how a run's GPUs are divided."""

import math
from collections.abc import Sequence

from app.core.formulas.checks import at_least, chosen_experts, divides, positive, several, too_large, whole
from app.core.translation import noted, value_error
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio


def context_ring_bytes(
    batch: Count, sequence: Count, key_value_heads: Count, head_size: Count, element_bytes: Bytes, ranks: Count
) -> Bytes:
    """Bytes that each rank sends in ring attention, in one layer, forward.

    Each rank has a part of the sequence. The keys and values of a part (B) move around the ring:
    in each of ranks - 1 steps, a rank sends the block that it holds to the next rank.

        B = 2 batch * sequence / ranks * key_value_heads * head_size * element_bytes
        V = (ranks - 1) * B

    Convention:
        Forward, for one layer and micro-batch. With the key-value heads, not the query heads.

    Args:
        batch: sequences in one micro-batch.
        sequence: tokens of one whole sequence.
        key_value_heads: key-value heads.
        head_size: size of a head.
        element_bytes: bytes of one number.
        ranks: ranks of context parallelism; must divide the sequence.

    Source:
        Liu et al., Ring Attention with Blockwise Transformers, arXiv:2310.01889, section 3.
    """
    block = _block(batch, sequence, key_value_heads, head_size, element_bytes, ranks)
    return (int(ranks) - 1) * block


def context_gather_bytes(
    batch: Count, sequence: Count, key_value_heads: Count, head_size: Count, element_bytes: Bytes, ranks: Count
) -> Bytes:
    """Bytes that each rank sends when keys and values are gathered, in one layer, forward.

    All keys and values are gathered on every rank before attention starts: a ring all-gather of an array of S bytes.

        S = 2 batch * sequence * key_value_heads * head_size * element_bytes
        V = S * (ranks - 1) / ranks

    Convention:
        As in Llama 3, which has few key-value heads. The bytes are those of ring attention;
        but attention hides none of the communication, and any mask is easy to support.

    Args:
        batch: sequences in one micro-batch.
        sequence: tokens of one whole sequence.
        key_value_heads: key-value heads.
        head_size: size of a head.
        element_bytes: bytes of one number.
        ranks: ranks of context parallelism; must divide the sequence.

    Source:
        Grattafiori et al., arXiv:2407.21783, section 3.3.2.
    """
    block = _block(batch, sequence, key_value_heads, head_size, element_bytes, ranks)
    return block * ranks * (ranks - 1) / ranks


def context_ring_hides(
    sequence: Count,
    heads: Count,
    key_value_heads: Count,
    ranks: Count,
    rate: FlopsPerSecond,
    bandwidth: BytesPerSecond,
    element_bytes: Bytes = 2,
) -> bool:
    """Whether ring attention can hide its communication: a block is sent while one is computed.

    With C tokens of the sequence on a rank, attention to a block costs 4 C² FLOP per query head and element of a head;
    the next block has 2 C numbers per key-value head and element. The size of a head cancels out, which leaves

        C = sequence / ranks
        L = key_value_heads * element_bytes * rate / (2 heads * bandwidth * 1 FLOP)

    Convention:
        The communication is hidden if C is at least L, or if there is a single rank, which sends
        nothing. Without a causal mask, and at the rate that attention really reaches.

    Args:
        sequence: tokens of one whole sequence.
        heads: query heads.
        key_value_heads: key-value heads; must divide the heads.
        ranks: ranks of context parallelism; must divide the sequence.
        rate: FLOP per second that the GPU reaches.
        bandwidth: bytes per second that one rank sends while it receives as much.
        element_bytes: bytes of one number.

    Source:
        Liu et al., arXiv:2310.01889, section 3 (arithmetic intensity between hosts), with shared key-value heads.
    """
    long, parts = whole("sequence", sequence), whole("ranks", ranks)
    divides("ranks", parts, noted("tokens of a sequence"), long)
    queries, shared = (whole("heads", heads), whole("key_value_heads", key_value_heads))
    divides("key_value_heads", shared, noted("heads"), queries)
    least = shared * positive("element_bytes", element_bytes) * positive("rate", rate)
    enough = least / (2 * queries * positive("bandwidth", bandwidth))
    return parts == 1 or long / parts >= enough


def _block(
    batch: Count, sequence: Count, key_value_heads: Count, head_size: Count, element_bytes: Bytes, ranks: Count
) -> float:
    long, parts = whole("sequence", sequence), whole("ranks", ranks)
    divides("ranks", parts, noted("tokens of a sequence"), long)
    wide = whole("key_value_heads", key_value_heads) * whole("head_size", head_size)
    tokens = whole("batch", batch) * (long // parts)
    return 2.0 * tokens * wide * positive("element_bytes", element_bytes)


def causal_ring_imbalance(ranks: Count) -> Ratio:
    """Time of causal ring attention over a sequence in order, relative to a perfect division.

    Of n ranks, each has 1/n of the sequence. All have half a block of work in the first step; in
    each of the others, some rank has a whole block. A perfect division is n/2 blocks each.

        I = (1 / 2 + ranks - 1) / (ranks / 2)

    Convention:
        Every step waits for its slowest rank. The last rank's work relative to the mean is the
        same number. Less than 2; 1 for a zigzag, where each rank has an early and a late part.

    Args:
        ranks: ranks in the ring, each with one contiguous part.

    Raises:
        ValueError: *ranks* is outside its domain.

    Source:
        Brandon et al., Striped Attention, arXiv:2311.09431, section 2 (the imbalance of ring attention).
    """
    return (2 * whole("ranks", ranks) - 1) / ranks


def ulysses_bytes(sequence: Count, hidden: Count, key_value_hidden: Count, element_bytes: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends to divide attention by heads, in one layer, forward.

    Queries, keys and values go from parts of the sequence to heads, and the result goes back: four
    all-to-alls of what a rank has of them (B).

        B = 2 (hidden + key_value_hidden) * sequence / ranks * element_bytes
        V = B * (ranks - 1) / ranks

    Convention:
        Forward, for one sequence and layer. Whole heads only: at most as many ranks as there are
        key-value heads, or these have to be copied.

    Args:
        sequence: tokens of one whole sequence.
        hidden: size of all query heads together.
        key_value_hidden: size of all key heads together, which is also that of the values.
        element_bytes: bytes of one number.
        ranks: ranks of context parallelism; must divide the sequence.

    Source:
        Jacobs et al., DeepSpeed Ulysses, arXiv:2309.14509, section 3.2 (with as many key heads as
        query heads: 4 N h / P).
    """
    long, parts = whole("sequence", sequence), whole("ranks", ranks)
    divides("ranks", parts, noted("tokens of a sequence"), long)
    wide = 2 * (whole("hidden", hidden) + whole("key_value_hidden", key_value_hidden))
    held = float(wide * (long // parts)) * positive("element_bytes", element_bytes)
    return held * (parts - 1) / parts


def data_parallel_degree(gpus: Count, tensor: Count, pipeline: Count, context: Count = 1, expert: Count = 1) -> Count:
    """Data-parallel degree: copies of the model that work in parallel.

    The product of the tensor, pipeline, context and data-parallel degrees is the number of GPUs.

        D = gpus / (tensor * pipeline * context)

    Convention:
        Expert parallelism is not another factor: experts are spread over ranks that are data or
        context parallel for everything else, so it has to divide those.

    Args:
        gpus: GPUs of the run.
        tensor: ranks of tensor parallelism.
        pipeline: stages of the pipeline.
        context: ranks of context parallelism.
        expert: ranks that experts are spread over.

    Raises:
        ValueError: an argument is outside its domain, or the degrees do not divide the GPUs.

    Source:
        Grattafiori et al., arXiv:2407.21783, section 3.3.2 and table 4; Megatron-LM, expert parallelism.
    """
    total, one_copy = whole("gpus", gpus), 1
    for name, degree in (("tensor", tensor), ("pipeline", pipeline), ("context", context)):
        left = total // one_copy
        one_copy *= whole(name, degree)
        if total % one_copy:
            form = noted("{name} must divide the GPUs that other degrees leave, {left} of {total}, not {value}")
            raise value_error(form, name=name, left=f"{left:,}", total=f"{total:,}", value=degree)
    copies = total // one_copy
    if copies * int(context) % whole("expert", expert):
        form = noted("{name} must divide the data and context parallel ranks, {whole}, not {value}")
        raise value_error(form, name="expert", whole=copies * int(context), value=expert)
    return copies


def parallelism_order() -> tuple[str, ...]:
    """Kinds of parallelism, from the fastest links to the slowest.

    The kind that communicates most often, and waits for it, gets the fastest links. Tensor
    parallelism needs N all-reduces per layer; context parallelism gathers keys and values once per
    layer; the pipeline sends one activation per stage; data parallelism communicates once per step.

        N = 4

    Convention:
        The order of Llama 3: tensor, context, pipeline, data. Megatron-LM's default swaps the last
        two: its pipeline, whose messages are the smallest, gets the slowest links.

    Source:
        Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.2 and
        figure 5; Megatron-LM, megatron/core/parallel_state.py (tp-cp-ep-dp-pp).
    """
    return ("tensor", "context", "pipeline", "data")


def expert_all_to_all_bytes(tokens: Count, hidden: Count, top_k: Count, element_bytes: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends to dispatch its tokens to their experts.

    A copy of a token goes to each of its experts; with even routing, one in *ranks* copies stays on its own rank.

        V = tokens * top_k * hidden * element_bytes * (ranks - 1) / ranks

    Convention:
        One way, in one layer: returning the results costs as much again, in its own number format,
        and the backward pass repeats both. Here, a token with several experts on one rank is sent
        once for each of them; DeepSeek-V3 sends it once per node.

    Args:
        tokens: tokens of one rank.
        hidden: hidden size of the model.
        top_k: experts that each token is sent to.
        element_bytes: bytes of one number.
        ranks: ranks that the experts are spread over.

    Source:
        Lepikhin et al., GShard, arXiv:2006.16668, section 3.2; DeepSeek-V3 Technical Report,
        arXiv:2412.19437, section 3.2.2.
    """
    copies = whole("tokens", tokens) * whole("top_k", top_k)
    size = float(copies * whole("hidden", hidden)) * positive("element_bytes", element_bytes)
    return size * (whole("ranks", ranks) - 1) / ranks


def expert_capacity(tokens: Count, experts: Count, top_k: Count, factor: Ratio = 1.0) -> Count:
    """Most tokens that an expert accepts.

    Its even share of all copies of tokens, times a capacity factor; tokens beyond that are dropped or rerouted.

        C = ceil(tokens * top_k * factor / experts)

    Convention:
        Rounded up. Implementations round differently, which matters only for small batches.

    Args:
        tokens: tokens that are routed together.
        experts: experts that they are spread over.
        top_k: experts that each token is sent to; at most all of them.
        factor: capacity relative to an even share.

    Source:
        Fedus et al., Switch Transformers, arXiv:2101.03961, section 2.2, equation 3.
    """
    among = whole("experts", experts)
    copies = whole("tokens", tokens) * chosen_experts(top_k, among)
    share = copies * positive("factor", factor) / among
    return max(1, math.ceil(share * (1 - 1e-12)))


def expert_imbalance(loads: Sequence[Ratio]) -> Ratio:
    """Load of the busiest expert, relative to the mean load.

    All ranks wait for the busiest expert, so this is the factor by which imbalance slows a layer.

        I = largest / mean

    Convention:
        1 is perfect balance; the number of experts if one expert gets every token.

    Args:
        loads: tokens of each expert, not all zero.

    Raises:
        ValueError: *loads* is empty, or a load is outside its domain.

    Source:
        Lepikhin et al., GShard, arXiv:2006.16668, section 2.2 (load balance).
    """
    several("loads", loads)
    largest = max(at_least("loads", load, 0) for load in loads)
    if not largest:
        raise value_error("{name} must not all be 0, but {count} of them are", name="loads", count=len(loads))
    return largest * len(loads) / math.fsum(loads)


_MOST = 10**6  # experts: the chance below is a product over the chosen ones


def expert_critical_batch(
    peak: FlopsPerSecond, memory_bandwidth: BytesPerSecond, weight_bytes: Bytes, experts: Count, top_k: Count
) -> Ratio:
    """Tokens of a batch from which the products of experts are limited by FLOP/s, not by memory.

    A weight is read once and computes two FLOP for each of its tokens. An expert gets top_k in experts of the batch.

        B = weight_bytes * peak / (2 FLOP * memory_bandwidth) * experts / top_k

    Convention:
        With even routing, for weights that are read once per step. *weight_bytes* are those of one
        weight, and the peak is that of the precision in which it is multiplied.

    Args:
        peak: dense peak FLOP per second of one GPU.
        memory_bandwidth: bytes per second that a GPU reads from its memory.
        weight_bytes: bytes of one weight.
        experts: experts that tokens are spread over.
        top_k: experts that each token is sent to; at most all of them.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Inference" (mixtures of experts);
        DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.4 (batches of experts).
    """
    read = positive("weight_bytes", weight_bytes) * positive("peak", peak)
    dense = read / (2 * positive("memory_bandwidth", memory_bandwidth))
    return dense * whole("experts", experts) / chosen_experts(top_k, experts)


def tokens_per_expert(tokens: Count, gpus: Count, top_k: Count, experts: Count) -> Ratio:
    """Tokens that an expert gets in a step of expert parallelism.

    All GPUs send their tokens to the same experts, a copy to each of top_k.

        T = tokens * gpus * top_k / experts

    Convention:
        The mean, as with even routing. Count copies of busy experts as experts.

    Args:
        tokens: tokens of each GPU.
        gpus: GPUs that share the experts.
        top_k: experts that each token is sent to; at most all of them.
        experts: experts that the copies are spread over.

    Source:
        From the definition; DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.4.
    """
    whole("experts", experts)
    copies = whole("tokens", tokens) * whole("gpus", gpus) * chosen_experts(top_k, experts)
    return copies / int(experts)


def expected_nodes(experts: Count, nodes: Count, top_k: Count) -> Ratio:
    """Nodes that a token reaches on average if its experts are drawn at random.

    M is the share of choices of top_k different experts of which none lies on a given node: the
    product of (E - E/n - i) / (E - i) for E experts, n nodes, and i from 0 to top_k - 1.

        N = nodes * (1 - M)

    Convention:
        Experts differ and all choices are equally likely. The token's own node counts; it is one of
        them with a probability of N / n.

    Args:
        experts: experts, as many on each node; at most a million.
        nodes: nodes that the experts are spread over; must divide the experts.
        top_k: experts that each token is sent to; at most all of them.

    Source:
        Drawing without replacement (hypergeometric); the routing: DeepSeek-V3 Technical Report,
        arXiv:2412.19437, section 2.1.2.
    """
    total, parts = whole("experts", experts), whole("nodes", nodes)
    if total > _MOST:
        raise too_large("experts", experts, f"{_MOST:,}")
    divides("nodes", parts, noted("experts"), total)
    elsewhere, missed = total - total // parts, 1.0
    for drawn in range(chosen_experts(top_k, experts)):
        missed *= max(0, elsewhere - drawn) / (total - drawn)
        if not missed:
            break
    return parts * (1 - missed)


def dispatch_bytes(
    tokens: Count,
    hidden: Count,
    top_k: Count,
    element_bytes: Bytes = 1,
    scale_group: Count = 128,
    scale_bytes: Bytes = 4,
) -> Bytes:
    """Bytes of all copies of tokens that a GPU dispatches, with their scales.

        C = hidden * element_bytes + ceil(hidden / scale_group) * scale_bytes
        V = tokens * top_k * C

    Convention:
        One way, a copy to each expert, including those on the GPU itself. The defaults are those of
        DeepSeek-V3: FP8 with an FP32 scale for each 128 values. Results come back in 16 bits.

    Args:
        tokens: tokens of one GPU.
        hidden: hidden size of the model.
        top_k: experts that each token is sent to.
        element_bytes: bytes of one number.
        scale_group: numbers that share a scale.
        scale_bytes: bytes of a scale.

    Source:
        DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 3.2.2 and 3.3; DeepEP, legacy.md (low-latency mode).
    """
    wide = whole("hidden", hidden)
    scales = math.ceil(wide / whole("scale_group", scale_group))
    copy = wide * positive("element_bytes", element_bytes)
    copy += scales * positive("scale_bytes", scale_bytes)
    return whole("tokens", tokens) * whole("top_k", top_k) * float(copy)


def expert_idle(loads: Sequence[Ratio]) -> Ratio:
    """Share of time for which experts' GPUs wait for the busiest one.

        I = 1 - mean / largest

    Convention:
        One expert per GPU, in time proportional to its tokens; a share of the longest time, as all
        wait for it. 0 is perfect balance.

    Args:
        loads: tokens of each expert, not all zero.

    Raises:
        ValueError: *loads* is empty, or a load is outside its domain.

    Source:
        Follows from expert_imbalance; Fedus et al., Switch Transformers, arXiv:2101.03961.
    """
    return max(0.0, 1 - 1 / expert_imbalance(loads))
