from typing import get_args

import pytest

from app.core.expressions import Quantity, evaluate
from app.core.formulas import collectives
from app.core.formulas.collectives.ring import Collective
from tests.each import each
from tests.formulas.grid import BANDWIDTH, SIZE
from tests.oracles import collectives as simulated
from tests.tables import rows

SPELLED_OTHERWISE = {"alltoall": "all_to_all", "sendrecv": "send_recv"}
FACTORS = {
    SPELLED_OTHERWISE.get(row.text("collective"), row.text("collective")): row.text("factor")
    for row in rows("nccl_busbw_factors")
}
NVLINK = {row.text("gpu"): row for row in rows("nvlink_effective_bandwidth")}


def test_algorithm_bandwidth_is_what_undoes_a_transfer() -> None:
    assert collectives.algorithm_bandwidth(2e9, 0.090) == pytest.approx(22.22e9, rel=1e-3)
    assert collectives.algorithm_bandwidth(SIZE, SIZE / BANDWIDTH) == pytest.approx(BANDWIDTH)


@each("collective", get_args(Collective))
@each("ranks", [1, 2, 3, 8])
def test_bus_bandwidth_has_the_factor_of_the_table_of_nccl_tests(collective: Collective, ranks: int) -> None:
    factor = evaluate(FACTORS[collective], {"n": Quantity(ranks)}).value
    assert collectives.bus_bandwidth(collective, 1.0, ranks, 1.0) == pytest.approx(factor)


@each("ranks", [2, 3, 5, 8])
def test_bus_bandwidth_of_a_collective_played_out_is_the_speed_of_its_links(ranks: int) -> None:
    times: dict[Collective, float] = {
        "all_reduce": simulated.ring_all_reduce(SIZE, ranks, BANDWIDTH).time,
        "all_gather": simulated.ring_all_gather(SIZE, ranks, BANDWIDTH).time,
        "reduce_scatter": simulated.ring_reduce_scatter(SIZE, ranks, BANDWIDTH).time,
        "all_to_all": simulated.all_to_all(SIZE, ranks, BANDWIDTH).time,
    }
    for collective, time in times.items():
        speed = collectives.bus_bandwidth(collective, SIZE, ranks, time)
        assert speed == pytest.approx(BANDWIDTH, rel=1e-12)


def test_a_broadcast_of_many_chunks_has_nearly_the_bus_bandwidth_of_its_links() -> None:
    time = simulated.broadcast(SIZE, 8, BANDWIDTH, chunks=4096).time
    assert collectives.bus_bandwidth("broadcast", SIZE, 8, time) == (pytest.approx(BANDWIDTH, rel=2e-3))


def test_90_milliseconds_for_2_gigabytes_on_8_ranks_use_77_8_percent_of_the_link() -> None:
    speed = collectives.bus_bandwidth("all_reduce", 2e9, 8, 0.090)
    assert f"{speed / 1e9:.2f}" == "38.89"
    assert f"{collectives.link_utilization(speed, 50e9):.1%}" == "77.8%"


def test_link_utilization_exceeds_one_where_the_switch_reduces() -> None:
    """A maintainer's figures: algorithm bandwidth 275, bus bandwidth "480", rounded."""
    row = NVLINK["H100 NVLS all-reduce 8 GPUs"]
    speed = collectives.bus_bandwidth("all_reduce", 275e9, 8, 1.0)
    assert speed / 1e9 == pytest.approx(row.number("effective_busbw"), abs=5)
    wire = row.number("line_rate_per_direction") * 1e9
    assert f"{collectives.link_utilization(speed, wire):.2f}" == "1.07"
