"""FLOP per byte of a decoding step: of its matrix products, and of its attention."""

from app.core.formulas.checks import divides, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerByte, FlopsPerSecond, Ratio


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
