"""The key-value cache of inference."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, Count, Ratio


def key_value_cache_bytes(
    tokens: Ratio, layers: Count, key_value_heads: Count, head_size: Count, element_bytes: Bytes = 2
) -> Bytes:
    """Bytes of the keys and values of a number of tokens.

    One key and one value per head, in every layer.

        M = 2 tokens * layers * key_value_heads * head_size * element_bytes

    Convention:
        With the key-value heads, not the query heads: grouped-query attention has 8 for 128
        query heads in Llama 3.1 405B, 16 times fewer.

    Args:
        tokens: tokens of all sequences.
        layers: layers of the model.
        key_value_heads: key-value heads.
        head_size: size of a head.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Shazeer, Fast Transformer Decoding, arXiv:1911.02150; Ainslie et al., arXiv:2305.13245.
    """
    wide = whole("key_value_heads", key_value_heads) * whole("head_size", head_size)
    each = 2.0 * whole("layers", layers) * wide * positive("element_bytes", element_bytes)
    return at_least("tokens", tokens, 0) * each


def latent_cache_bytes(tokens: Ratio, layers: Count, latent: Count, rope: Count, element_bytes: Bytes = 2) -> Bytes:
    """Bytes of the cache of multi-head latent attention for a number of tokens.

    One compressed vector, from which the keys and values of all heads are computed, and a part of
    the key that encodes the position.

        M = tokens * layers * (latent + rope) * element_bytes

    Convention:
        No factor of two and no heads: keys and values come from the same vector. DeepSeek-V3 stores
        512 + 64 numbers in each of 61 layers, 57 times fewer than 128 full heads.

    Args:
        tokens: tokens of all sequences.
        layers: layers of the model.
        latent: size of the compressed vector.
        rope: size of the key's part for the position.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 2.1.1 and 4.2.
    """
    wide = whole("latent", latent) + whole("rope", rope, 0)
    each = 1.0 * whole("layers", layers) * wide * positive("element_bytes", element_bytes)
    return at_least("tokens", tokens, 0) * each
