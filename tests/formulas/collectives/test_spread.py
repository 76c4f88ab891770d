import pytest

from app.core.formulas import collectives
from tests.each import each
from tests.formulas.grid import BANDWIDTH, SIZE, over_latencies, over_ranks
from tests.oracles import collectives as simulated


@over_ranks
def test_all_to_all_bytes_are_those_that_every_rank_was_seen_to_send(ranks: int) -> None:
    played = simulated.all_to_all(SIZE, ranks, BANDWIDTH)
    for rank in range(ranks):
        assert collectives.all_to_all_bytes(SIZE, ranks) == (pytest.approx(played.sent(rank), rel=1e-12))


@over_ranks
@over_latencies
def test_all_to_all_time_is_that_of_the_rounds_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.all_to_all_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.all_to_all(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


@each(("nodes", "gpus_per_node"), [(1, 1), (1, 5), (6, 1), (3, 4), (5, 2)])
@each(("intra_latency", "inter_latency"), [(0.0, 0.0), (2e-6, 7e-6)])
def test_hierarchical_all_to_all_time_is_that_of_pieces_that_were_followed(
    nodes: int, gpus_per_node: int, intra_latency: float, inter_latency: float
) -> None:
    played = simulated.hierarchical_all_to_all(
        SIZE, nodes, gpus_per_node, (450e9, intra_latency), (50e9, inter_latency)
    )
    assert collectives.hierarchical_all_to_all_time(
        SIZE, nodes, gpus_per_node, 450e9, 50e9, intra_latency, inter_latency
    ) == pytest.approx(played.time, rel=1e-12)
    assert played.steps == gpus_per_node + nodes - 2


def test_hierarchical_all_to_all_time_with_free_links_inside_is_that_of_nodes_alone() -> None:
    between = collectives.hierarchical_all_to_all_time(SIZE, 7, 8, 1e30, 50e9, 0.0, 3e-6)
    assert between == pytest.approx(collectives.all_to_all_time(SIZE, 7, 50e9, 3e-6), rel=1e-12)


@each("ranks", [2, 3, 5, 8, 64])
@each("latency", [0.0, 0.05])
def test_broadcast_time_is_the_limit_of_many_chunks(ranks: int, latency: float) -> None:
    limit = collectives.broadcast_time(1.0, ranks, 1.0, latency)
    hops = ranks - 1
    for chunks in (16, 64, 256):
        played = simulated.broadcast(1.0, ranks, 1.0, latency, chunks)
        assert played.time - limit == pytest.approx((hops - 1) / chunks, abs=1e-12)


def test_broadcast_time_of_one_rank_is_nothing() -> None:
    assert collectives.broadcast_time(SIZE, 1, BANDWIDTH, 5e-6) == 0
