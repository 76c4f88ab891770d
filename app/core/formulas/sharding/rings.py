"""Context parallelism with a causal mask, and by heads."""

from app.core.formulas.checks import divides, positive, whole
from app.core.translation import noted
from app.core.units import Bytes, Count, Ratio


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
        Brandon et al., Striped Attention, arXiv:2311.09431, section 2 (the imbalance of ring
        attention).
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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Jacobs et al., DeepSpeed Ulysses, arXiv:2309.14509, section 3.2 (with as many key heads as
        query heads: 4 N h / P).
    """
    long, parts = whole("sequence", sequence), whole("ranks", ranks)
    divides("ranks", parts, noted("tokens of a sequence"), long)
    wide = 2 * (whole("hidden", hidden) + whole("key_value_hidden", key_value_hidden))
    held = float(wide * (long // parts)) * positive("element_bytes", element_bytes)
    return held * (parts - 1) / parts
