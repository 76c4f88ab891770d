"""Local steps, compressed gradients and late updates, beside runs that are played out."""

import pytest

from app.core.formulas import collectives, synchronization
from tests.each import each
from tests.oracles import synchronization as played


@each(("waiting", "step", "local_steps"), [(33.6, 2.0, 1), (33.6, 2.0, 320), (0.5, 4.0, 7)])
def test_local_steps_overhead_is_what_a_clock_shows(waiting: float, step: float, local_steps: int) -> None:
    share = synchronization.local_steps_overhead(waiting, step, local_steps)
    assert share == pytest.approx(played.shares_of_rounds(waiting, step, local_steps), rel=1e-12)


@each(("waiting", "step", "most"), [(33.6, 2.0, 0.05), (70.0, 11.0, 0.04), (8.0, 2.0, 0.5), (1.0, 9.0, 0.99)])
def test_fewest_local_steps_are_the_first_that_keep_the_share(waiting: float, step: float, most: float) -> None:
    count = 1
    while played.shares_of_rounds(waiting, step, count, rounds=1) > most:
        count += 1
    assert synchronization.fewest_local_steps(waiting, step, most) == count


def test_fewest_local_steps_of_a_share_that_is_met_exactly_are_not_one_more() -> None:
    assert synchronization.fewest_local_steps(8.0, 2.0, 0.5) == 4  # 8 s of 16 s
    with pytest.raises(ValueError, match="^largest_share"):
        synchronization.fewest_local_steps(8.0, 2.0, 1.0)


@each("ranks", [1, 2, 3, 8])
def test_top_k_bytes_are_those_of_lists_that_travel_around_a_ring(ranks: int) -> None:
    lists = [set(range(rank, rank + 30)) for rank in range(ranks)]  # 30 of 1,000 elements, at other places
    for sent in played.carried_lists(lists, 2.0, 4.0):
        assert sent == pytest.approx(synchronization.top_k_bytes(1000, 0.03, ranks), rel=1e-12)


def test_top_k_bytes_of_one_percent_exceed_the_whole_gradient_from_67_ranks_on() -> None:
    for ranks, is_more in ((66, False), (67, True)):
        whole = collectives.ring_all_reduce_bytes(2e6, ranks)
        assert (synchronization.top_k_bytes(1_000_000, 0.01, ranks) > whole) == is_more


@each(("rows", "columns", "rank", "ranks"), [(12, 7, 2, 3), (8, 8, 8, 4), (5, 9, 1, 1)])
def test_low_rank_bytes_are_those_of_two_all_reduces(rows: int, columns: int, rank: int, ranks: int) -> None:
    left = [[1.0] * rank for _ in range(rows)]
    right = [[1.0] * rank for _ in range(columns)]
    sizes = (2.0 * sum(map(len, matrix)) for matrix in (left, right))
    both = sum(collectives.ring_all_reduce_bytes(size, ranks) for size in sizes)
    assert synchronization.low_rank_bytes(rows, columns, rank, ranks) == pytest.approx(both, rel=1e-12)


def test_low_rank_bytes_need_a_rank_that_the_gradient_can_have() -> None:
    with pytest.raises(ValueError, match="^rank"):
        synchronization.low_rank_bytes(8, 4, 5, 2)


@each(("workers", "jitter"), [(1, 0.3), (2, 0.0), (8, 0.3), (16, 0.05)])
def test_mean_staleness_is_what_workers_see_that_do_not_wait(workers: int, jitter: float) -> None:
    seen = played.seen_staleness(workers, 20_000, jitter)
    assert synchronization.mean_staleness(workers) == pytest.approx(seen, abs=0.02)
