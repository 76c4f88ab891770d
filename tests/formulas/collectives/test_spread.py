import pytest

from app.formulas import collectives
from app.simulators import collectives as simulated
from tests.formulas.grid import BANDWIDTH, SIZE, over_latencies, over_ranks


@over_ranks
def test_all_to_all_bytes_are_those_that_every_rank_was_seen_to_send(ranks: int) -> None:
    played = simulated.all_to_all(SIZE, ranks, BANDWIDTH)
    for rank in range(ranks):
        assert collectives.all_to_all_bytes(SIZE, ranks) == (
            pytest.approx(played.sent(rank), rel=1e-12)
        )


@over_ranks
@over_latencies
def test_all_to_all_time_is_that_of_the_rounds_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.all_to_all_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.all_to_all(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 64])
@pytest.mark.parametrize("latency", [0.0, 0.05])
def test_broadcast_time_is_the_limit_of_many_chunks(ranks: int, latency: float) -> None:
    limit = collectives.broadcast_time(1.0, ranks, 1.0, latency)
    hops = ranks - 1
    for chunks in (16, 64, 256):
        played = simulated.broadcast(1.0, ranks, 1.0, latency, chunks)
        assert played.time - limit == pytest.approx((hops - 1) / chunks, abs=1e-12)


def test_broadcast_time_of_one_rank_is_nothing() -> None:
    assert collectives.broadcast_time(SIZE, 1, BANDWIDTH, 5e-6) == 0
