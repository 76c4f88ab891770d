"""Bytes between a GPU's memory and its chip for attention, unfused and fused."""

import math

from app.formulas.checks import positive, whole
from app.units import Bytes, Count, Ratio


def standard_attention_bytes(sequence: Count, head_size: Count, element_bytes: Bytes = 2) -> Bytes:
    """Bytes that unfused attention moves for one head, forward.

    Queries, keys and values are read and the result is written, each once. The scores are written,
    read by the softmax, written again and read for the product with the values.

        V = (4 sequence * head_size + 4 sequence^2) * element_bytes

    Convention:
        One head of one sequence, all scores; no dropout, no mask that is read.

    Args:
        sequence: tokens of the sequence.
        head_size: width of the head.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, algorithm 0 and theorem 2.
    """
    long, wide = whole("sequence", sequence), whole("head_size", head_size)
    return (4.0 * long * wide + 4.0 * long**2) * positive("element_bytes", element_bytes)


def flash_attention_bytes(
    sequence: Count, head_size: Count, on_chip_bytes: Bytes, element_bytes: Bytes = 2
) -> Bytes:
    """Bytes that FlashAttention moves for one head, forward.

    A block of keys and values stays on the chip, C tokens of them, while all queries pass by: with
    each block, queries and partial results are read and results written, and for each token two
    numbers of the softmax are read and written. T blocks are needed.

        C = ceil(on_chip_bytes / (4 head_size * element_bytes))
        T = ceil(sequence / C)
        V = (2 sequence * head_size + T * (3 sequence * head_size + 4 sequence)) * element_bytes

    Convention:
        Algorithm 1 as printed, where M is the chip's memory in numbers, not bytes. Later versions
        keep the queries on the chip instead and write each result once.

    Args:
        sequence: tokens of the sequence.
        head_size: width of the head.
        on_chip_bytes: bytes of memory on the chip, from one row of four blocks up.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, algorithm 1.
    """
    long, wide = whole("sequence", sequence), whole("head_size", head_size)
    each = positive("element_bytes", element_bytes)
    block = math.ceil(positive("on_chip_bytes", on_chip_bytes) / (4 * wide * each))
    blocks = -(-long // block)
    return (2.0 * long * wide + float(blocks) * long * (3 * wide + 4)) * each


def flash_attention_share(
    head_size: Count, on_chip_bytes: Bytes, element_bytes: Bytes = 2
) -> Ratio:
    """Traffic of FlashAttention relative to unfused attention, up to a constant.

    N² d² / M against N²: with M numbers on the chip,

        M = on_chip_bytes / element_bytes
        F = head_size^2 / M

    Convention:
        The ratio of the two orders of growth, for long sequences; M counts numbers, not bytes.
        Algorithm 1 itself tends to 3 F, since three arrays of N d pass with each of 4 N d / M
        blocks, against 4 N²; for its bytes see flash_attention_bytes.

    Args:
        head_size: width of the head.
        on_chip_bytes: bytes of memory on the chip.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, theorem 2.
    """
    numbers = positive("on_chip_bytes", on_chip_bytes) / positive("element_bytes", element_bytes)
    return float(whole("head_size", head_size)) ** 2 / numbers
