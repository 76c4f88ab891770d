"""A decoding step: its time, its price, its intensity, and drafts that are checked in one pass."""

import math

from app.core.formulas.checks import at_least, divides, positive, too_large, whole
from app.core.units import (
    Bytes,
    BytesPerSecond,
    Count,
    Dollars,
    DollarsPerHour,
    FlopsPerByte,
    FlopsPerSecond,
    Ratio,
    Seconds,
)


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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted; Shazeer, Fast Transformer Decoding, arXiv:1911.02150; Ainslie et al.,
        arXiv:2305.13245.
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

    Raises:
        ValueError: an argument is outside its domain.

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

    Every step reads all weights once, whatever the batch, and the keys and values of each sequence:
    R bytes in total.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; Pope et al., arXiv:2211.05102, section 1 (cost in chip-seconds per
        token).
    """
    paid = whole("gpus", gpus) * at_least("dollars_per_gpu_hour", dollars_per_gpu_hour, 0)
    return paid * positive("step_time", step_time) / _HOUR / whole("batch", batch) * _MILLION


def best_tensor_degree(weight_bytes: Bytes, memory_bandwidth: BytesPerSecond, layers: Count, latency: Seconds) -> Ratio:
    """Number of GPUs on which a decoding step of a single sequence is fastest.

    Reading the weights takes W / (n b). Each layer has two ring all-reduces of 2 (n - 1) hops, so
    every further GPU adds four hops per layer. The sum is smallest where one more GPU shortens the
    reading by as much as it adds in hops.

        n = sqrt(weight_bytes / (4 * memory_bandwidth * layers * latency))

    Convention:
        Not rounded, and not limited to a node; below 1, a single GPU is fastest. Messages of one
        token are small: only their latency counts. The cache is left out.

    Args:
        weight_bytes: bytes of all weights.
        memory_bandwidth: bytes per second from the memory of one GPU.
        layers: layers of the model.
        latency: seconds of one hop.

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Leviathan, Kalman and Matias, arXiv:2211.17192, theorem 3.8.
    """
    taken = 1 + whole("drafted", drafted, 0) * at_least("draft_cost", draft_cost, 0)
    return speculative_tokens(acceptance, drafted) / taken
