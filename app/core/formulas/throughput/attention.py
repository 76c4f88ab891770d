"""Bytes that attention moves between a GPU's memory and its chip, unfused and fused."""

import math

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, Count, Ratio


def standard_attention_bytes(sequence: Count, head_size: Count, element_bytes: Bytes = 2) -> Bytes:
    """Bytes that unfused attention moves for one head, forward.

    Queries, keys and values are read once and the result is written once. The scores are written,
    read by the softmax, written again, and read for the product with the values.

        V = (4 sequence * head_size + 4 sequence^2) * element_bytes

    Convention:
        One head of one sequence, all scores; no dropout, and no mask in memory.

    Args:
        sequence: tokens of the sequence.
        head_size: size of the head.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, algorithm 0 and theorem 2.
    """
    long, wide = whole("sequence", sequence), whole("head_size", head_size)
    return (4.0 * long * wide + 4.0 * long**2) * positive("element_bytes", element_bytes)


def flash_attention_bytes(sequence: Count, head_size: Count, on_chip_bytes: Bytes, element_bytes: Bytes = 2) -> Bytes:
    """Bytes that FlashAttention moves for one head, forward.

    A block of keys and values of C tokens stays on the chip while all queries are streamed
    through. For each of the T blocks, queries and partial results are read and results are
    written; for each token, two numbers of the softmax are read and written.

        C = ceil(on_chip_bytes / (4 head_size * element_bytes))
        T = ceil(sequence / C)
        V = (2 sequence * head_size + T * (3 sequence * head_size + 4 sequence)) * element_bytes

    Convention:
        Algorithm 1 as printed, where M is the on-chip memory in numbers, not bytes. Later versions
        keep the queries on the chip instead and write each result once.

    Args:
        sequence: tokens of the sequence.
        head_size: size of the head.
        on_chip_bytes: bytes of on-chip memory, at least one row of each of four blocks.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, algorithm 1.
    """
    long, wide = whole("sequence", sequence), whole("head_size", head_size)
    each = positive("element_bytes", element_bytes)
    row = 4 * wide * each
    block = math.ceil(at_least("on_chip_bytes", on_chip_bytes, row) / row)
    blocks = -(-long // block)
    return (2.0 * long * wide + float(blocks) * long * (3 * wide + 4)) * each


def flash_attention_share(head_size: Count, on_chip_bytes: Bytes, element_bytes: Bytes = 2) -> Ratio:
    """Traffic of FlashAttention relative to unfused attention, up to a constant.

    N² d² / M over N², where M is the number of elements that fit on the chip.

        M = on_chip_bytes / element_bytes
        F = head_size^2 / M

    Convention:
        The ratio of the two orders of growth, for long sequences; M counts numbers, not bytes.
        Algorithm 1 itself tends to 3 F: it moves three arrays of N d for each of 4 N d / M blocks,
        where unfused attention moves 4 N². For its bytes see flash_attention_bytes.

    Args:
        head_size: size of the head.
        on_chip_bytes: bytes of on-chip memory.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, theorem 2.
    """
    numbers = positive("on_chip_bytes", on_chip_bytes) / positive("element_bytes", element_bytes)
    return float(whole("head_size", head_size)) ** 2 / numbers
