"""Every matrix product of a layer, and the multiply-adds in it."""

from collections.abc import Iterator

Product = tuple[int, int, int]  # (m, k) times (k, n), as m, n, k


def weight_products(tokens: int, hidden: int) -> Iterator[Product]:
    """Products of a layer's input with its weights: queries, keys, values, output, up, down."""
    for _ in range(4):
        yield tokens, hidden, hidden
    yield tokens, 4 * hidden, hidden
    yield tokens, hidden, 4 * hidden


def forward_products(sequence: int, batch: int, hidden: int, heads: int, *, causal: bool = False) -> Iterator[Product]:
    """Products of tokens with tokens, head by head: scores, and weighted values.

    With a causal mask, row i has i + 1 columns.
    """
    wide = hidden // heads
    for _ in range(batch * heads):
        if not causal:
            yield sequence, sequence, wide
            yield sequence, wide, sequence
            continue
        for row in range(sequence):
            yield 1, row + 1, wide
            yield 1, wide, row + 1


def backward(products: Iterator[Product]) -> Iterator[Product]:
    """The products of the backward pass: one per factor of each forward product."""
    for m, n, k in products:
        yield m, k, n
        yield k, n, m
