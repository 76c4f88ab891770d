import pytest

from app.core.formulas import collectives
from tests.formulas.grid import BANDWIDTH, SIZE, over_latencies, over_ranks
from tests.oracles import collectives as simulated


@over_ranks
def test_naive_all_reduce_root_bytes_are_those_seen_to_pass_through_the_root(ranks: int) -> None:
    played = simulated.naive_all_reduce(SIZE, ranks, BANDWIDTH)
    through = played.sent(0) + played.received(0)
    assert collectives.naive_all_reduce_root_bytes(SIZE, ranks) == (pytest.approx(through, rel=1e-12))


@over_ranks
@over_latencies
def test_naive_all_reduce_time_is_that_of_the_transfers_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.naive_all_reduce_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.naive_all_reduce(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


def test_eight_gigabyte_gradients_bring_14_gigabytes_through_the_root() -> None:
    assert collectives.naive_all_reduce_root_bytes(1e9, 8) == 14e9


def test_the_naive_scheme_takes_560_milliseconds_where_a_ring_takes_70() -> None:
    assert collectives.naive_all_reduce_time(2e9, 8, 50e9) == pytest.approx(0.560)
