"""Sequences that fit into memory, and the pages, the waste and the sending of their caches."""

import math
from collections.abc import Sequence

from app.core.formulas.checks import at_least, positive, several, whole
from app.core.formulas.refusals import larger_than
from app.core.translation import noted
from app.core.units import Bytes, BytesPerSecond, Count, Ratio, Seconds


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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; Kwon et al., arXiv:2309.06180, section 1 and figure 1 (what fills the
        memory of a server).
    """
    free = positive("memory", memory) - at_least("reserved", reserved, 0)
    each = positive("context", context) * positive("cache_bytes_per_token", cache_bytes_per_token)
    return max(0, math.floor((free - positive("weight_bytes", weight_bytes)) / each))


def cache_pages(lengths: Sequence[Count], page: Count) -> Count:
    """Pages of a paged cache that some sequences take.

    Each sequence has pages of its own, the last of which may be partly empty. A sequence of T
    tokens takes

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; Patel et al., Splitwise, arXiv:2311.18677, section IV-C.
    """
    size = positive("context", context) * positive("cache_bytes_per_token", cache_bytes_per_token)
    return size / positive("bandwidth", bandwidth)
