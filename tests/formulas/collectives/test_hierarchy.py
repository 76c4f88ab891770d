import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas import collectives
from tests.each import each
from tests.formulas.grid import BANDWIDTH, SIZE, over_latencies, over_ranks
from tests.oracles import collectives as simulated


@each(("nodes", "gpus_per_node"), [(1, 1), (1, 8), (8, 1), (3, 5), (8, 8)])
@each(("intra_latency", "inter_latency"), [(0.0, 0.0), (2e-6, 7e-6)])
def test_hierarchical_all_reduce_time_is_that_of_the_three_phases_played_out(
    nodes: int, gpus_per_node: int, intra_latency: float, inter_latency: float
) -> None:
    cluster = (SIZE, nodes, gpus_per_node, 450e9, 50e9, intra_latency, inter_latency)
    played = simulated.hierarchical_all_reduce(*cluster)
    assert collectives.hierarchical_all_reduce_time(*cluster) == (pytest.approx(played.time, rel=1e-12))


@given(st.floats(1, 1e15), st.integers(1, 1000), st.floats(1e3, 1e15), st.floats(0, 1))
def test_one_node_is_a_ring_inside_it(size: float, gpus: int, bandwidth: float, latency: float) -> None:
    inside = collectives.hierarchical_all_reduce_time(size, 1, gpus, bandwidth, 1.0, latency, 1.0)
    ring = collectives.ring_all_reduce_time(size, gpus, bandwidth, latency)
    assert inside == pytest.approx(ring, rel=1e-12)


@given(st.floats(1, 1e15), st.integers(1, 1000), st.floats(1e3, 1e15), st.floats(0, 1))
def test_nodes_of_one_gpu_are_a_ring_over_nodes(size: float, nodes: int, bandwidth: float, latency: float) -> None:
    across = collectives.hierarchical_all_reduce_time(size, nodes, 1, 1.0, bandwidth, 1.0, latency)
    ring = collectives.ring_all_reduce_time(size, nodes, bandwidth, latency)
    assert across == pytest.approx(ring, rel=1e-12)


@given(st.floats(1, 1e15), st.integers(1, 100), st.integers(1, 100), st.floats(1e3, 1e15))
def test_equal_links_inside_and_outside_are_as_good_as_one_flat_ring(
    size: float, nodes: int, gpus: int, bandwidth: float
) -> None:
    levels = collectives.hierarchical_all_reduce_time(size, nodes, gpus, bandwidth, bandwidth)
    flat = collectives.ring_all_reduce_time(size, nodes * gpus, bandwidth)
    assert levels == pytest.approx(flat, rel=1e-12)


@over_ranks
@over_latencies
def test_node_all_reduce_time_is_that_of_a_ring_of_nodes_played_out(ranks: int, latency: float) -> None:
    predicted = collectives.node_all_reduce_time(SIZE, ranks, BANDWIDTH, latency)
    played = simulated.ring_all_reduce(SIZE, ranks, BANDWIDTH, latency)
    assert predicted == pytest.approx(played.time, rel=1e-12)


# Erratum E-15 of the course: 20 GB over 8 nodes of 8 GPUs.
def test_one_link_of_100_gigabytes_per_second_a_node_takes_350_milliseconds() -> None:
    assert collectives.node_all_reduce_time(20e9, 8, 100e9) == pytest.approx(0.350)


def test_a_link_for_each_gpu_takes_87_5_milliseconds_between_and_58_3_inside_the_nodes() -> None:
    inside = collectives.hierarchical_all_reduce_time(20e9, 1, 8, 600e9, 50e9)
    whole = collectives.hierarchical_all_reduce_time(20e9, 8, 8, 600e9, 50e9)
    assert f"{inside * 1e3:.1f}" == "58.3"
    assert whole - inside == pytest.approx(0.0875)


@each("latency", [0.0, 0.05])
def test_in_network_all_reduce_time_is_the_limit_of_many_chunks(latency: float) -> None:
    limit = collectives.in_network_all_reduce_time(1.0, 1.0, latency)
    for chunks in (16, 64, 256):
        played = simulated.in_network_all_reduce(1.0, 5, 1.0, latency, chunks)
        assert played.time - limit == pytest.approx(1 / chunks)  # the last chunk, once more


def test_a_switch_makes_the_bus_bandwidth_exceed_the_wire() -> None:
    time = collectives.in_network_all_reduce_time(1e9, 450e9)
    assert collectives.bus_bandwidth("all_reduce", 1e9, 8, time) == pytest.approx(1.75 * 450e9)
