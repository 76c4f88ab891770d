"""The time, the memory and the price of answers: prefill, decoding, caches and queues.

A *pass* runs the model once over the tokens that are given to it. Prefill is a pass over a whole
prompt; decoding makes one token of each sequence of a batch in every pass, or *step*.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.core.formulas.checks import at_least, divides, fraction, larger_than, positive, several, too_large, whole
from app.core.translation import noted, value_error
from app.core.units import (
    Bytes,
    BytesPerSecond,
    Count,
    Dollars,
    DollarsPerHour,
    FlopsPerByte,
    FlopsPerSecond,
    PerSecond,
    Ratio,
    Seconds,
)


def prefill_time(parameters: Count, tokens: Ratio, gpus: Count, peak: FlopsPerSecond, utilization: Ratio) -> Seconds:
    """Time to read a prompt.

    A forward pass: two FLOP per parameter and token.

        T = 2 FLOP * parameters * tokens / (gpus * peak * utilization)

    Convention:
        Attention's own products are left out, and so is what a prefix in the cache saves. Of a
        mixture of experts only the active parameters count.

    Args:
        parameters: parameters that process a token.
        tokens: tokens of the prompt that are not cached.
        gpus: GPUs that work on it together.
        peak: dense peak FLOP per second of one GPU.
        utilization: share of the peak that is reached.

    Source:
        Kaplan et al., arXiv:2001.08361, section 2.1 (2 FLOP); Pope et al., arXiv:2211.05102, section 2.
    """
    computed = 2 * whole("parameters", parameters) * at_least("tokens", tokens, 0)
    reached = positive("peak", peak) * fraction("utilization", utilization)
    return computed / (whole("gpus", gpus) * reached)


def free_prefill_tokens(
    step_time: Seconds, gpus: Count, peak: FlopsPerSecond, parameters: Count, batch: Count, utilization: Ratio = 1
) -> Count:
    """Tokens of prompts that a decoding step can process without becoming longer.

    While memory is read, the GPUs could compute step_time * gpus * peak FLOP. Each token takes two
    per parameter, those of the sequences that decode too.

        N = max(0, floor(step_time * gpus * peak * utilization / (2 FLOP * parameters) - batch))

    Convention:
        Perfect overlap of computing and memory traffic; attention's own products are left out.

    Args:
        step_time: seconds in which the step reads weights and caches.
        gpus: GPUs that run the step.
        peak: dense peak FLOP per second of one GPU.
        parameters: parameters that process a token.
        batch: sequences that are decoded in the step.
        utilization: share of the peak that is reached.

    Source:
        Agrawal et al., Sarathi-Serve, arXiv:2403.02310, section 4 (chunked prefill).
    """
    reached = positive("peak", peak) * fraction("utilization", utilization)
    computed = positive("step_time", step_time) * whole("gpus", gpus) * reached
    tokens = computed / (2 * whole("parameters", parameters))
    return max(0, math.floor(tokens - whole("batch", batch)))


def time_to_first_token(service_time: Seconds, load: Ratio) -> Seconds:
    """Mean time from the arrival of a prompt until it has been read, with the wait in the queue.

    Prompts arrive at random times at one server that takes equally long for each (an M/D/1 queue).
    The wait alone takes load / (2 (1 - load)) services on average.

        T = service_time * (1 + load / (2 * (1 - load)))

    Convention:
        A mean over a long time, in order of arrival. Services of varying length wait longer: twice
        as long if they vary exponentially.

    Args:
        service_time: seconds to read one prompt.
        load: share of the time in which the server is busy, below 1.

    Source:
        Pollaczek and Khinchine's formula; Zhong et al., DistServe, arXiv:2401.09670, section 3.1.
    """
    if at_least("load", load, 0) >= 1:
        raise value_error(
            "{name} must be below 1, or the queue grows without end, not {value}", name="load", value=load
        )
    return positive("service_time", service_time) * (1 + load / (2 * (1 - load)))


def largest_batch(
    memory: Bytes, weight_bytes: Bytes, context: Ratio, cache_bytes_per_token: Bytes, reserved: Bytes = 0
) -> Count:
    """Number of sequences whose caches fit beside the weights.

    F are the bytes that are left for caches.

        F = memory - reserved - weight_bytes
        B = max(0, floor(F / (context * cache_bytes_per_token)))

    Convention:
        Memory of all GPUs that share the model. Zero if the weights alone do not fit.

    Args:
        memory: bytes of memory of all GPUs together.
        weight_bytes: bytes of all weights.
        context: tokens that each sequence may have in its cache.
        cache_bytes_per_token: bytes of the keys and values of a token, in every layer.
        reserved: bytes kept free for activations and buffers, on all GPUs together.

    Source:
        From the definition; Kwon et al., arXiv:2309.06180, section 1 and figure 1 (what fills the memory of a server).
    """
    free = positive("memory", memory) - at_least("reserved", reserved, 0)
    each = positive("context", context) * positive("cache_bytes_per_token", cache_bytes_per_token)
    return max(0, math.floor((free - positive("weight_bytes", weight_bytes)) / each))


def cache_pages(lengths: Sequence[Count], page: Count) -> Count:
    """Pages of a paged cache that some sequences take.

    Each sequence has pages of its own, the last of which may be partly empty. A sequence of T tokens takes

        N = ceil(T / page)

    pages; the result is their sum.

    Convention:
        Without prefixes that sequences share.

    Args:
        lengths: tokens of each sequence.
        page: tokens in a page.

    Raises:
        ValueError: *lengths* is empty, or an argument is outside its domain.

    Source:
        Kwon et al., Efficient Memory Management for Large Language Model Serving with
        PagedAttention, arXiv:2309.06180, section 4.
    """
    several("lengths", lengths)
    tokens = [whole("lengths", length) for length in lengths]
    return sum(-(-one // whole("page", page)) for one in tokens)


def cache_used(lengths: Sequence[Count], longest: Count) -> Ratio:
    """Share that is used of a cache in which each sequence reserves room for *longest* tokens.

        U = mean / longest

    where mean is that of the lengths.

    Convention:
        Reserved when a sequence starts, and not shared before it ends.

    Args:
        lengths: tokens of each sequence, at most as many as are reserved for it.
        longest: tokens that are reserved for each sequence.

    Raises:
        ValueError: *lengths* is empty, or an argument is outside its domain.

    Source:
        Kwon et al., arXiv:2309.06180, section 3.1 and figure 2.
    """
    several("lengths", lengths)
    reserved = whole("longest", longest)
    for length in lengths:
        if whole("lengths", length) > reserved:
            raise larger_than("lengths", length, noted("the longest"), reserved)
    return sum(lengths) / len(lengths) / reserved


def cache_transfer_time(context: Ratio, cache_bytes_per_token: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Time to send the cache of a sequence to another machine.

        T = context * cache_bytes_per_token / bandwidth

    Convention:
        After prefill and without overlap. Layers may be sent as soon as they are computed, and then
        most of this time is hidden.

    Args:
        context: tokens in the cache.
        cache_bytes_per_token: bytes of the keys and values of a token, in every layer.
        bandwidth: bytes per second that the machine sends, over all of its network cards.

    Source:
        From the definition; Patel et al., Splitwise, arXiv:2311.18677, section IV-C.
    """
    size = positive("context", context) * positive("cache_bytes_per_token", cache_bytes_per_token)
    return size / positive("bandwidth", bandwidth)


_SUMMED = 100  # terms of a harmonic number; a series is exact beyond
_EULER = 0.57721566490153286


class PoolSizes(NamedTuple):
    """Nodes that read prompts, nodes that write answers, and both together."""

    prefill: Ratio
    decode: Ratio
    total: Ratio


def pool_sizes(
    input_rate: PerSecond, output_rate: PerSecond, prefill_rate: PerSecond, decode_rate: PerSecond
) -> PoolSizes:
    """Nodes for the mean load of a service that reads prompts and writes answers on separate nodes.

        P = input_rate / prefill_rate
        D = output_rate / decode_rate
        N = P + D

    Convention:
        Not rounded, and for the mean load: peaks and failures need more.

    Args:
        input_rate: tokens of prompts that arrive per second.
        output_rate: tokens of answers that are written per second.
        prefill_rate: tokens per second that a node reads.
        decode_rate: tokens per second that a node writes.

    Source:
        From the definition; DeepSeek, DeepSeek-V3/R1 Inference System Overview, 2025.
    """
    prefill = positive("input_rate", input_rate) / positive("prefill_rate", prefill_rate)
    decode = positive("output_rate", output_rate) / positive("decode_rate", decode_rate)
    return PoolSizes(prefill, decode, prefill + decode)


def static_batch_idle(lengths: Sequence[Count]) -> Ratio:
    """Share of the time for which the slots of a static batch have nothing to do.

    All slots are held until the longest answer is done.

        I = 1 - mean / largest

    Convention:
        Every slot generates one token per step until its answer is done.

    Args:
        lengths: tokens of each answer in the batch.

    Raises:
        ValueError: *lengths* is empty, or a length is outside its domain.

    Source:
        Yu et al., Orca, OSDI 2022, section 3 (early-finished and late-joining requests).
    """
    several("lengths", lengths)
    tokens = [whole("lengths", length) for length in lengths]
    return 1 - sum(tokens) / (len(tokens) * max(tokens))


def expected_longest(mean: Ratio, batch: Count) -> Ratio:
    """Expected length of the longest of several answers of exponentially distributed lengths.

    With k answers left, the next one ends after mean / k steps on average. H is the sum of 1 / k
    for k from 1 to batch, about ln(batch) + 0.577.

        L = mean * H

    Convention:
        Independent answers of the same mean. An exponential distribution has no memory: how long an
        answer has become says nothing about how much is to come.

    Args:
        mean: mean tokens of an answer.
        batch: answers that start together.

    Source:
        Order statistics of the exponential distribution: Rényi, On the theory of order statistics,
        Acta Mathematica Hungarica 4, 1953.
    """
    return positive("mean", mean) * _harmonic(whole("batch", batch))


def _harmonic(terms: int) -> float:
    """1 + 1/2 + ... + 1/terms."""
    if terms <= _SUMMED:
        return math.fsum(1 / k for k in range(1, terms + 1))
    return math.log(terms) + _EULER + 1 / (2 * terms) - 1 / (12 * terms**2) + 1 / (120 * terms**4)


def critical_batch(peak: FlopsPerSecond, memory_bandwidth: BytesPerSecond, weight_bytes: Bytes) -> Ratio:
    """Number of sequences from which the products of a decoding step are limited by FLOP/s.

    A weight is read once per step and takes two FLOP for each sequence; both times are equal at

        B = peak * weight_bytes / (2 FLOP * memory_bandwidth)

    Convention:
        The products with weights alone, not attention over the cache. Neither the size of the model
        nor the number of GPUs matters. The peak is that of the format in which the products are
        computed; the bytes are those of a weight as it is stored.

    Args:
        peak: dense peak FLOP per second of the GPU.
        memory_bandwidth: bytes per second of its memory.
        weight_bytes: bytes of one stored weight.

    Source:
        Austin et al., How to Scale Your Model, chapter 7 (the critical batch); Pope et al.,
        arXiv:2211.05102, section 2.
    """
    computed = positive("peak", peak) * positive("weight_bytes", weight_bytes)
    return computed / (2 * positive("memory_bandwidth", memory_bandwidth))


def decode_attention_intensity(query_heads: Count, key_value_heads: Count, element_bytes: Bytes = 2) -> FlopsPerByte:
    """Computation of attention for each byte of cache that a decoding step reads.

    A query head takes two FLOP for each number of a key, and two for each of a value. Keys and
    values are read once for all query heads that share them.

        I = 2 FLOP * query_heads / (key_value_heads * element_bytes)

    Convention:
        The same for every size of a head, length and batch: each sequence brings its own cache.

    Args:
        query_heads: query heads.
        key_value_heads: key-value heads, a divisor of the query heads.
        element_bytes: bytes of one number in the cache.

    Source:
        Counted; Shazeer, Fast Transformer Decoding, arXiv:1911.02150; Ainslie et al., arXiv:2305.13245.
    """
    heads, shared = (whole("query_heads", query_heads), whole("key_value_heads", key_value_heads))
    divides("key_value_heads", shared, "query_heads", heads)
    return 2 * heads / (shared * positive("element_bytes", element_bytes))


def latent_attention_intensity(heads: Count, latent: Count, rope: Count, element_bytes: Bytes = 2) -> FlopsPerByte:
    """Computation of latent attention for each byte of cache that a decoding step reads.

    All heads read the same numbers of a token. The scores use the compressed vector and the part
    for the position; the weighted sum uses the compressed vector alone.

        I = 2 FLOP * heads * (2 latent + rope) / ((latent + rope) * element_bytes)

    Convention:
        With the projections absorbed into queries and outputs, as in decoding: no key or value of
        full size is computed. Those projections are not counted.

    Args:
        heads: query heads.
        latent: size of the compressed vector.
        rope: size of the key's part for the position.
        element_bytes: bytes of one number in the cache.

    Source:
        Counted from DeepSeek-V2, arXiv:2405.04434, section 2.1.
    """
    compressed, position = whole("latent", latent), whole("rope", rope, 0)
    used = 2 * whole("heads", heads) * (2 * compressed + position)
    return used / ((compressed + position) * positive("element_bytes", element_bytes))


_HOUR = 3600
_MILLION = 10**6


def decode_step_time(
    weight_bytes: Bytes,
    batch: Count,
    context: Ratio,
    cache_bytes_per_token: Bytes,
    gpus: Count,
    memory_bandwidth: BytesPerSecond,
) -> Seconds:
    """Least time of a decoding step: the time to read what it needs from memory.

    Every step reads all weights once, whatever the batch, and the keys and values of each sequence: R bytes in total.

        R = weight_bytes + batch * context * cache_bytes_per_token
        T = R / (gpus * memory_bandwidth)

    Convention:
        A floor. All GPUs read their own shares at the same time; messages between them, and
        activations, are left out. Computing hides behind the reads below the critical batch.

    Args:
        weight_bytes: bytes of all weights that a step reads.
        batch: sequences that are decoded together.
        context: mean tokens in the cache of a sequence.
        cache_bytes_per_token: bytes of the keys and values of a token, in every layer.
        gpus: GPUs that share weights and caches evenly.
        memory_bandwidth: bytes per second from the memory of one GPU.

    Source:
        Pope et al., Efficiently Scaling Transformer Inference, arXiv:2211.05102, section 2.
    """
    cached = positive("context", context) * positive("cache_bytes_per_token", cache_bytes_per_token)
    read = positive("weight_bytes", weight_bytes) + whole("batch", batch) * cached
    return read / (whole("gpus", gpus) * positive("memory_bandwidth", memory_bandwidth))


def dollars_per_million_tokens(
    step_time: Seconds, batch: Count, gpus: Count, dollars_per_gpu_hour: DollarsPerHour
) -> Dollars:
    """Price of a million generated tokens.

    A step generates one token for every sequence in the batch, and all GPUs are paid while it runs.

        D = 10^6 * gpus * dollars_per_gpu_hour * step_time / batch

    Convention:
        GPU time alone, with every slot of the batch in use.

    Args:
        step_time: seconds of a decoding step.
        batch: sequences that are decoded together.
        gpus: GPUs that run the step.
        dollars_per_gpu_hour: price of one GPU for one hour.

    Source:
        From the definition; Pope et al., arXiv:2211.05102, section 1 (cost in chip-seconds per token).
    """
    paid = whole("gpus", gpus) * at_least("dollars_per_gpu_hour", dollars_per_gpu_hour, 0)
    return paid * positive("step_time", step_time) / _HOUR / whole("batch", batch) * _MILLION


def best_tensor_degree(weight_bytes: Bytes, memory_bandwidth: BytesPerSecond, layers: Count, latency: Seconds) -> Ratio:
    """Number of GPUs on which a decoding step of a single sequence is fastest.

    Reading the weights takes W / (n b). Each layer has two ring all-reduces of 2 (n - 1) hops, so every further GPU
    adds four hops per layer. The sum is smallest where one more GPU shortens the reading by as much as it adds in hops.

        n = sqrt(weight_bytes / (4 * memory_bandwidth * layers * latency))

    Convention:
        Not rounded, and not limited to a node; below 1, a single GPU is fastest. Messages of one
        token are small: only their latency counts. The cache is left out.

    Args:
        weight_bytes: bytes of all weights.
        memory_bandwidth: bytes per second from the memory of one GPU.
        layers: layers of the model.
        latency: seconds of one hop.

    Source:
        Derived from decode_step_time and collectives.ring_all_reduce_time; Pope et al.,
        arXiv:2211.05102, section 3.2 (layouts for low latency).
    """
    hops = 4 * whole("layers", layers) * positive("latency", latency)
    size = positive("weight_bytes", weight_bytes)
    return math.sqrt(size / positive("memory_bandwidth", memory_bandwidth) / hops)


def speculative_tokens(acceptance: Ratio, drafted: Count) -> Ratio:
    """Expected tokens that a pass of the large model yields when it checks a draft.

    A drafted token counts if it and all before it are accepted, and the pass itself gives one more:
    the sum of acceptance^i for i from 0 to drafted.

        E = (1 - acceptance^(drafted + 1)) / (1 - acceptance)

    Convention:
        Each token is accepted with the same probability, independently. If all are accepted, the
        result is drafted + 1.

    Args:
        acceptance: probability that a drafted token is accepted.
        drafted: tokens that the small model drafts for each pass.

    Source:
        Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative Decoding,
        arXiv:2211.17192, equation 1.
    """
    terms = whole("drafted", drafted, 0) + 1
    chance = at_least("acceptance", acceptance, 0)
    if chance > 1:
        raise too_large("acceptance", acceptance, 1)
    if chance in (0, 1):
        return float(terms) if chance else 1.0
    return -math.expm1(terms * math.log(chance)) / (1 - chance)


def speculative_speedup(acceptance: Ratio, drafted: Count, draft_cost: Ratio) -> Ratio:
    """Expected factor by which drafting makes decoding faster.

    Without a draft, a pass yields one token. With it, a pass and its draft take 1 + drafted *
    draft_cost passes of time and yield E tokens.

        E = (1 - acceptance^(drafted + 1)) / (1 - acceptance)
        S = E / (1 + drafted * draft_cost)

    Convention:
        A pass over drafted + 1 tokens takes as long as one over a single token, which holds while
        reading the weights is the limit. If all are accepted, E is drafted + 1.

    Args:
        acceptance: probability that a drafted token is accepted.
        drafted: tokens that the small model drafts for each pass, one after the other.
        draft_cost: time to draft one token, relative to a pass of the large model.

    Source:
        Leviathan, Kalman and Matias, arXiv:2211.17192, theorem 3.8.
    """
    taken = 1 + whole("drafted", drafted, 0) * at_least("draft_cost", draft_cost, 0)
    return speculative_tokens(acceptance, drafted) / taken
