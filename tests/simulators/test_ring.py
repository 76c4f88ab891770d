import pytest

from app.core.simulators.links import play_ring_all_reduce
from tests.each import each
from tests.oracles.collectives import ring_all_reduce


@each("ranks", [1, 2, 3, 8, 64])
def test_the_ring_of_the_explorer_ends_when_every_rank_has_the_whole_sum(ranks: int) -> None:
    *earlier, last = play_ring_all_reduce(3e9, ranks, 50e9, 2e-6)
    done = [[frozenset(range(ranks))] * ranks] * ranks
    assert last.held == done
    assert all(step.held != done for step in earlier)


@each("ranks", [1, 2, 3, 8, 64])
def test_the_ring_of_the_explorer_takes_what_the_oracle_takes(ranks: int) -> None:
    *earlier, last = play_ring_all_reduce(3e9, ranks, 50e9, 2e-6)
    oracle = ring_all_reduce(3e9, ranks, 50e9, 2e-6)
    assert len(earlier) == oracle.steps
    assert last.time == pytest.approx(oracle.time, rel=1e-12)
    assert last.sent_bytes == pytest.approx(oracle.sent(0), rel=1e-12)
