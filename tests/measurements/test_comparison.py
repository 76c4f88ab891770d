"""A test beside the wire: what limits it, and the likely cause where it is low."""

from dataclasses import replace

import pytest

from app.core.formulas.presets import cluster
from app.core.measurements.pieces import cluster_of_test, compare_test
from app.core.measurements.published import published_tests
from app.core.measurements.reports import CollectiveTest, SizeRow
from tests.each import each


def ran(collective: str, ranks: int, hosts: int, busbw: float, size: float = 2**33) -> CollectiveTest:
    row = SizeRow(size, size / busbw, busbw, busbw, 0.005e9)
    return CollectiveTest(
        collective=collective,
        ranks=ranks,
        hosts=hosts,
        hardware="NVIDIA H100 80GB HBM3",
        rows=(row,),
        pieces=(),
        doubts=(),
    )


def test_the_wire_of_a_node_is_nvlink_and_of_several_the_network() -> None:
    wires = {
        ("all_reduce", 8, 1): 450e9,
        ("all_reduce", 16, 2): 400e9,
        ("all_reduce", 2, 2): 50e9,
        ("alltoall", 16, 2): 50e9 * 15 / 8,
        ("sendrecv", 16, 2): 50e9,
    }
    for (collective, ranks, hosts), wire in wires.items():
        found = compare_test(ran(collective, ranks, hosts, 40e9))
        assert found is not None
        assert found.wire == pytest.approx(wire), collective
        assert found.share == pytest.approx(40e9 / wire)


def test_the_formula_of_a_ring_gives_the_bus_bandwidth_of_the_wire() -> None:
    found = compare_test(ran("all_reduce", 16, 2, 300e9))
    assert found is not None
    assert found.predicted == pytest.approx(2 * 15 / 16 * 2**33 / 400e9)


@each(
    ("test", "cause"),
    [
        (ran("all_reduce", 16, 2, 380e9), ""),
        (ran("all_reduce", 16, 2, 44e9), "One network card"),
        (ran("all_reduce", 16, 2, 5e9), "TCP sockets"),
        (ran("all_reduce", 16, 2, 200e9), "GPUDirect RDMA"),
        (ran("all_reduce", 8, 1, 20e9), "PCIe instead of NVLink"),
        (ran("all_reduce", 16, 2, 44e9, size=2**20), "latency counts more"),
    ],
)
def test_a_low_bandwidth_has_a_likely_cause(test: CollectiveTest, cause: str) -> None:
    found = compare_test(test)
    assert found is not None
    assert cause in found.cause
    assert bool(found.cause) == bool(cause)


def test_the_published_ones_reach_most_of_their_wire() -> None:
    found = {
        name: seen
        for name, one in published_tests().items()
        if isinstance(one.report, CollectiveTest) and (seen := compare_test(one.report))
    }
    assert found["gb200-72-nvl72"].share == pytest.approx(834.57 / 900)
    assert found["h100-8-p5"].share > 1  # NVLink SHARP
    racks = {"gb200-72-nvl72": 1, "gb200-128-two-racks": 2, "gb200-1440": 20}
    assert {name: found[name].nodes for name in racks} == racks
    assert found["h200-2-rdma"].wire == 50e9
    assert found["gb200-128-two-racks"].wire == 900e9  # 64 network cards carry more
    assert found["b200-2-nvlink-alltoall"].which == "NVLink of a GPU"


@each(("share", "says"), [(0.7, ""), (0.5, "Infinity Fabric")])
def test_gpus_of_amd_are_judged_on_their_own_links(share: float, says: str) -> None:
    amd = replace(ran("all_reduce", 8, 1, share * 448e9), hardware="AMD Instinct MI300X")
    found = compare_test(amd)
    assert found is not None
    assert found.which == "Infinity Fabric of a GPU"
    assert says in found.cause
    assert bool(says) is bool(found.cause)
    assert "NVLink" not in found.cause
    assert "nvidia" not in found.cause


def test_other_boards_and_unknown_ones_have_no_cluster() -> None:
    test = ran("all_reduce", 8, 1, 1e9)
    assert cluster_of_test(test) == cluster("DGX-H100")
    for name in ("NVIDIA H100 PCIe", "NVIDIA H100 NVL", "Tesla T4", ""):
        assert compare_test(replace(test, hardware=name)) is None
    assert compare_test(replace(test, ranks=None)) is None
