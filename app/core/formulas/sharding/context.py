"""Context parallelism: the traffic of keys and values."""

from app.core.formulas.checks import divides, positive, whole
from app.core.translation import noted
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond


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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Liu et al., Ring Attention with Blockwise Transformers, arXiv:2310.01889, section 3.
    """
    block = _block(batch, sequence, key_value_heads, head_size, element_bytes, ranks)
    return (int(ranks) - 1) * block


def context_gather_bytes(
    batch: Count, sequence: Count, key_value_heads: Count, head_size: Count, element_bytes: Bytes, ranks: Count
) -> Bytes:
    """Bytes that each rank sends when keys and values are gathered, in one layer, forward.

    All keys and values are gathered on every rank before attention starts: a ring all-gather of an
    array of S bytes.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    With C tokens of the sequence on a rank, attention to a block costs 4 C² FLOP per query head and
    element of a head; the next block has 2 C numbers per key-value head and element. The size
    of a head cancels out, which leaves

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Liu et al., arXiv:2310.01889, section 3 (arithmetic intensity between hosts), with shared
        key-value heads.
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
