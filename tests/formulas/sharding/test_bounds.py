import random

import pytest

from app.core.formulas.sharding import largest_tensor_degree
from tests.each import each
from tests.oracles.sharding import parallel_mlp


@each(
    ("feed_forward", "peak", "bandwidth", "most"),
    [(28672, 989e12, 450e9, 14), (14336, 989e12, 450e9, 7), (53248, 2250e12, 900e9, 22)],
)
def test_largest_tensor_degree_is_the_last_group_that_sends_no_longer_than_it_computes(
    feed_forward: int, peak: float, bandwidth: float, most: int
) -> None:
    tokens, hidden = 4096, 8192

    def holds(ranks: int) -> bool:
        part = tokens * hidden * 2 / ranks
        sending = sum(part / bandwidth for _ in ("gather", "scatter") for _ in range(ranks - 1))
        return sending <= 2 * (2 * tokens * hidden * (feed_forward / ranks)) / peak

    assert [n for n in range(1, 65) if holds(n)] == list(range(1, most + 1))
    assert int(largest_tensor_degree(feed_forward, peak, bandwidth)) == most


@each("ranks", [2, 3, 4])
def test_largest_tensor_degree_of_a_machine_that_ties_is_the_group_that_was_played(ranks: int) -> None:
    source = random.Random(5)
    tokens, hidden, inner = 2 * ranks, 3, 4 * ranks
    given, up, down = (
        [[source.randint(-9, 9) for _ in range(wide)] for _ in range(high)]
        for high, wide in ((tokens, hidden), (hidden, inner), (inner, hidden))
    )
    sent = parallel_mlp(given, up, down, ranks, in_rows=True).sent[0]  # numbers of 2 bytes
    computed = 4 * tokens * hidden * inner / ranks
    bandwidth = 1e9
    peak = bandwidth * computed / (2 * sent)  # sends exactly as long as it computes
    assert largest_tensor_degree(inner, peak, bandwidth) == pytest.approx(ranks, rel=1e-12)
