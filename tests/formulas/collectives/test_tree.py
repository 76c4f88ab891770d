import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas import collectives
from tests.each import each
from tests.formulas.grid import BANDWIDTH, SIZE, over_latencies, over_ranks
from tests.oracles import collectives as simulated

AllReduceTime = Callable[[float, int, float, float], float]


@over_ranks
def test_tree_all_reduce_steps_are_those_until_everyone_knows_the_sum(ranks: int) -> None:
    assert collectives.tree_all_reduce_steps(ranks) == (simulated.tree_all_reduce(1.0, ranks, 1.0).steps)


@over_ranks
@over_latencies
def test_tree_all_reduce_time_is_that_of_the_tree_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.tree_all_reduce_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.tree_all_reduce(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


@each("ranks", [4, 5, 8, 13, 16])
@each("latency", [0.0, 0.05])
def test_double_binary_tree_all_reduce_time_is_the_limit_of_many_chunks(ranks: int, latency: float) -> None:
    limit = collectives.double_binary_tree_all_reduce_time(1.0, ranks, 1.0, latency)
    beyond = [
        simulated.double_binary_tree_all_reduce(1.0, ranks, 1.0, latency, chunks).time - limit
        for chunks in (16, 64, 256)
    ]
    assert all(excess > 0 for excess in beyond)
    assert beyond[1] < beyond[0] / 2
    assert beyond[2] < beyond[1] / 2
    assert beyond[2] < 16 / 256  # a few chunks, whatever their number


def test_double_binary_tree_all_reduce_time_of_one_rank_is_nothing() -> None:
    assert collectives.double_binary_tree_all_reduce_time(SIZE, 1, BANDWIDTH, 5e-6) == 0


def crossing(slow_start: AllReduceTime, ranks: int, bandwidth: float, latency: float) -> float:
    """The size from which the ring is faster than *slow_start*, found by halving."""
    low, high = 1.0, 1e18
    for _ in range(200):
        middle = math.sqrt(low * high)
        ring = collectives.ring_all_reduce_time(middle, ranks, bandwidth, latency)
        if ring > slow_start(middle, ranks, bandwidth, latency):
            low = middle
        else:
            high = middle
    return high


@each("ranks", [4, 5, 8, 64, 1024])
def test_ring_tree_crossover_size_is_where_bisection_finds_equal_times(ranks: int) -> None:
    found = crossing(collectives.tree_all_reduce_time, ranks, 50e9, 5e-6)
    assert collectives.ring_tree_crossover_size(ranks, 50e9, 5e-6) == pytest.approx(found, rel=1e-9)


@each("ranks", [4, 5, 8, 64, 1024])
def test_ring_double_tree_crossover_size_is_where_bisection_finds_equal_times(ranks: int) -> None:
    found = crossing(collectives.double_binary_tree_all_reduce_time, ranks, 50e9, 5e-6)
    assert collectives.ring_double_tree_crossover_size(ranks, 50e9, 5e-6) == (
        pytest.approx(found, rel=1e-6)  # both times are nearly 2 size / bandwidth
    )


@each("ranks", [2, 3])
def test_a_tree_of_two_or_three_ranks_saves_no_step(ranks: int) -> None:
    assert collectives.ring_tree_crossover_size(ranks, 50e9, 5e-6) == 0
    assert collectives.ring_double_tree_crossover_size(ranks, 50e9, 5e-6) == 0


# Curriculum of the course, ring-04, and its erratum E-20: 5 microseconds, 50 GB/s.
@each(("ranks", "printed"), [(8, "8.0e+06"), (64, "9.1e+08"), (1024, "2.6e+11")])
def test_the_ring_overtakes_the_double_tree_at_the_sizes_of_the_course(ranks: int, printed: str) -> None:
    assert f"{collectives.ring_double_tree_crossover_size(ranks, 50e9, 5e-6):.1e}" == printed


@given(st.integers(2, 10**6), st.floats(1e6, 1e13), st.floats(1e-9, 1))
def test_pipelining_only_ever_helps_the_tree(ranks: int, bandwidth: float, latency: float) -> None:
    plain = collectives.ring_tree_crossover_size(ranks, bandwidth, latency)
    assert plain <= collectives.ring_double_tree_crossover_size(ranks, bandwidth, latency)


@given(st.integers(1, 10**6))
def test_a_tree_never_takes_more_steps_than_a_ring(ranks: int) -> None:
    assert collectives.tree_all_reduce_steps(ranks) <= collectives.ring_all_reduce_steps(ranks)
