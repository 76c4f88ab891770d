import itertools

import pytest

from app.core.formulas.collectives import all_to_all_bytes
from app.core.formulas.sharding import causal_ring_imbalance, context_ring_bytes, ulysses_bytes
from tests.each import each


def played(owner: list[int], ranks: int) -> float:
    """The time of a causal ring, pair by pair of chunks."""
    steps = [[0.0] * ranks for _ in range(ranks)]
    for query, key in itertools.product(range(len(owner)), repeat=2):
        step = (owner[query] - owner[key]) % ranks
        steps[step][owner[query]] += 0.5 * ((key < query) + (key <= query))
    return sum(max(step) for step in steps)


@each("ranks", [1, 2, 3, 8, 16])
def test_causal_ring_imbalance_is_what_parts_in_order_cost_and_a_zigzag_does_not(ranks: int) -> None:
    perfect = (2 * ranks) ** 2 / 2 / ranks
    in_order = played([at // 2 for at in range(2 * ranks)], ranks)
    zigzag = played([*range(ranks), *reversed(range(ranks))], ranks)
    assert causal_ring_imbalance(ranks) == pytest.approx(in_order / perfect, rel=1e-12)
    assert zigzag == perfect


@each("ranks", [1, 3, 8])
def test_causal_ring_imbalance_is_that_of_the_last_rank_counted_token_by_token(ranks: int) -> None:
    each = 3000  # tokens of a rank; a token attends to itself, so parts must be large
    pairs = [sum(range(rank * each + 1, (rank + 1) * each + 1)) for rank in range(ranks)]
    relative = pairs[-1] * ranks / sum(pairs)
    assert causal_ring_imbalance(ranks) == pytest.approx(relative, rel=1e-3)


@each(("ranks", "heads", "shared"), [(2, 4, 2), (3, 6, 3), (4, 8, 4)])
def test_ulysses_bytes_are_what_moves_when_tokens_become_heads_and_heads_tokens(
    ranks: int, heads: int, shared: int
) -> None:
    tokens, size = 5 * ranks, 7
    sent = [0] * ranks
    for many in (heads, shared, shared, heads):  # queries, keys, values, result
        for token, head in itertools.product(range(tokens), range(many)):
            has, wants = token * ranks // tokens, head * ranks // many
            if many == heads:
                assert head * shared // heads * ranks // shared == wants  # with its keys
            sent[has] += size * 2 * (has != wants)
    assert sent == [sent[0]] * ranks
    found = ulysses_bytes(tokens, heads * size, shared * size, 2, ranks)
    assert found == pytest.approx(sent[0], rel=1e-12)


def test_ulysses_bytes_without_grouped_heads_are_four_all_to_alls_and_more_than_a_ring_of_two() -> None:
    tokens, hidden = 32768, 8192
    for ranks in (2, 4, 8):
        each = all_to_all_bytes(tokens * hidden * 2 / ranks, ranks)
        assert ulysses_bytes(tokens, hidden, hidden, 2, ranks) == pytest.approx(4 * each)
    ring = [context_ring_bytes(1, tokens, 64, 128, 2, ranks) for ranks in (2, 4)]
    heads = [ulysses_bytes(tokens, hidden, hidden, 2, ranks) for ranks in (2, 4)]
    assert ring[0] == heads[0]
    assert ring[1] > heads[1]


def test_ulysses_bytes_and_a_ring_tie_at_nine_ranks_with_an_eighth_of_the_heads() -> None:
    tokens = 9 * 4096
    ring = context_ring_bytes(1, tokens, 8, 128, 2, 9)
    assert ulysses_bytes(tokens, 8192, 1024, 2, 9) == pytest.approx(ring, rel=1e-12)
