"""The time of a decoding step, its price, and how many GPUs make it fastest."""

import math

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Dollars, DollarsPerHour, Ratio, Seconds

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
