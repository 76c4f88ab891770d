import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas import collectives
from tests.each import each
from tests.formulas.grid import BANDWIDTH, SIZE, over_latencies, over_ranks
from tests.oracles import collectives as simulated

sizes = st.floats(1, 1e15)
counts = st.integers(1, 10**6)
speeds = st.floats(1e3, 1e15)
latencies = st.floats(0, 1)


@over_ranks
def test_ring_all_reduce_steps_are_those_until_everyone_holds_the_sum(ranks: int) -> None:
    assert collectives.ring_all_reduce_steps(ranks) == (simulated.ring_all_reduce(1.0, ranks, 1.0).steps)


@over_ranks
def test_ring_all_reduce_bytes_are_those_that_every_rank_was_seen_to_send(ranks: int) -> None:
    played = simulated.ring_all_reduce(SIZE, ranks, BANDWIDTH)
    for rank in range(ranks):
        assert collectives.ring_all_reduce_bytes(SIZE, ranks) == (pytest.approx(played.sent(rank), rel=1e-12))


@over_ranks
@over_latencies
def test_ring_all_reduce_time_is_that_of_the_ring_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.ring_all_reduce_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.ring_all_reduce(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


@over_ranks
def test_ring_reduce_scatter_bytes_are_those_that_every_rank_was_seen_to_send(ranks: int) -> None:
    played = simulated.ring_reduce_scatter(SIZE, ranks, BANDWIDTH)
    for rank in range(ranks):
        assert collectives.ring_reduce_scatter_bytes(SIZE, ranks) == (pytest.approx(played.sent(rank), rel=1e-12))


@over_ranks
def test_ring_all_gather_bytes_are_those_that_every_rank_was_seen_to_send(ranks: int) -> None:
    played = simulated.ring_all_gather(SIZE, ranks, BANDWIDTH)
    for rank in range(ranks):
        assert collectives.ring_all_gather_bytes(SIZE, ranks) == (pytest.approx(played.sent(rank), rel=1e-12))


@over_ranks
@over_latencies
def test_ring_reduce_scatter_time_is_that_of_the_ring_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.ring_reduce_scatter_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.ring_reduce_scatter(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


@over_ranks
@over_latencies
def test_ring_all_gather_time_is_that_of_the_ring_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.ring_all_gather_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.ring_all_gather(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


@given(sizes, counts, speeds, latencies)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(
    size: float, ranks: int, bandwidth: float, latency: float
) -> None:
    halves = collectives.ring_reduce_scatter_time(size, ranks, bandwidth, latency)
    halves += collectives.ring_all_gather_time(size, ranks, bandwidth, latency)
    whole = collectives.ring_all_reduce_time(size, ranks, bandwidth, latency)
    assert whole == pytest.approx(halves, rel=1e-12)


@given(sizes, st.floats(1, 10), counts, speeds, latencies)
def test_a_larger_array_never_takes_less_time(
    size: float, growth: float, ranks: int, bandwidth: float, latency: float
) -> None:
    small = collectives.ring_all_reduce_time(size, ranks, bandwidth, latency)
    assert collectives.ring_all_reduce_time(size * growth, ranks, bandwidth, latency) >= small


@given(sizes, counts)
def test_no_rank_sends_two_whole_arrays(size: float, ranks: int) -> None:
    assert collectives.ring_all_reduce_bytes(size, ranks) < 2 * size


def test_one_rank_needs_no_time() -> None:
    assert collectives.ring_all_reduce_time(SIZE, 1, BANDWIDTH, 5e-6) == 0


def test_an_infinitely_fast_link_leaves_the_latency_of_each_step() -> None:
    steps = simulated.ring_all_reduce(1.0, 8, 1.0).steps
    assert collectives.ring_all_reduce_time(1.0, 8, 1e30, 5e-6) == pytest.approx(steps * 5e-6)


def test_a_huge_ring_without_latency_tends_to_two_transfers() -> None:
    assert collectives.ring_all_reduce_time(1e9, 10**6, 1e9) == pytest.approx(2.0, rel=1e-5)


# Curriculum of the course, section 1: worked by hand there, in other units.
@each(
    ("gigabytes", "ranks", "gigabytes_per_second", "microseconds", "milliseconds"),
    [
        (1, 8, 50, 5, 35.07),
        (2, 8, 50, 5, 70.07),
        (4, 64, 100, 10, 80.01),
        (2, 8, 50, 0, 70.0),
        (1e-6, 1024, 50, 5, 10.23004),
        (1, 1, 50, 5, 0.0),
    ],
)
def test_the_times_of_the_course_come_out(
    gigabytes: float, ranks: int, gigabytes_per_second: float, microseconds: float, milliseconds: float
) -> None:
    seconds = collectives.ring_all_reduce_time(gigabytes * 1e9, ranks, gigabytes_per_second * 1e9, microseconds * 1e-6)
    assert seconds * 1e3 == pytest.approx(milliseconds, rel=1e-6)


@each(("ranks", "gigabytes"), [(8, "1.750"), (1000, "1.998")])
def test_the_bytes_of_the_course_come_out(ranks: int, gigabytes: str) -> None:
    assert f"{collectives.ring_all_reduce_bytes(1e9, ranks) / 1e9:.3f}" == gigabytes


def test_gradients_of_405_billion_parameters_in_two_bytes_make_a_rank_send_1_62_terabytes() -> None:
    sent = collectives.ring_all_reduce_bytes(405e9 * 2, 16_384)
    assert sent == pytest.approx(1.62e12, rel=1e-4)


@each(("ranks", "microseconds", "milliseconds"), [(16_384, 5, "163.8"), (128, 10, "2.5")])
def test_latency_grows_with_the_ring(ranks: int, microseconds: float, milliseconds: str) -> None:
    seconds = collectives.ring_all_reduce_time(1.0, ranks, 1e30, microseconds * 1e-6)
    assert f"{seconds * 1e3:.1f}" == milliseconds


def test_a_tensor_parallel_all_reduce_of_64_mebibytes_sends_112_mebibytes() -> None:
    sent = collectives.ring_all_reduce_bytes(4096 * 8192 * 2, 8)
    assert sent == 112 * 2**20
