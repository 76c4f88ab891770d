import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas import memory
from app.core.formulas.checks import ZeroStage
from tests.each import each
from tests.formulas.grid import STAGES, over_ranks, over_stages
from tests.oracles import memory as simulated
from tests.tables import rows

SIZE = 14e9


@over_ranks
@over_stages
def test_zero_traffic_bytes_are_those_that_every_rank_was_seen_to_send(ranks: int, stage: ZeroStage) -> None:
    played = simulated.zero_step(SIZE, ranks, stage)
    for rank in range(ranks):
        assert memory.zero_traffic_bytes(SIZE, ranks, stage) == (pytest.approx(played.sent(rank), rel=1e-12))


@each("ranks", [1, 3, 8])
@each("accumulation", [1, 2, 8])
@over_stages
def test_zero_accumulated_traffic_bytes_are_those_that_every_rank_was_seen_to_send(
    ranks: int, accumulation: int, stage: ZeroStage
) -> None:
    played = simulated.zero_step(SIZE, ranks, stage, accumulation)
    for rank in range(ranks):
        assert memory.zero_accumulated_traffic_bytes(SIZE, ranks, stage, accumulation) == (
            pytest.approx(played.sent(rank), rel=1e-12)
        )


@each(("shard_ranks", "replicas"), [(1, 1), (1, 5), (5, 1), (3, 2), (8, 8)])
def test_hybrid_shard_traffic_is_what_every_rank_was_seen_to_send(shard_ranks: int, replicas: int) -> None:
    inside, across = simulated.hybrid_step(SIZE, shard_ranks, replicas)
    traffic = memory.hybrid_shard_traffic(SIZE, shard_ranks, replicas)
    for rank in range(shard_ranks * replicas):
        assert traffic.intra_bytes == pytest.approx(inside.sent(rank), rel=1e-12)
        assert traffic.inter_bytes == pytest.approx(across.sent(rank), rel=1e-12)


@each(("row", "stages"), [(0, [0]), (1, [1, 2]), (2, [3])])
def test_many_ranks_tend_to_the_volumes_of_section_7_of_the_zero_paper(row: int, stages: list[ZeroStage]) -> None:
    printed = rows("zero_comm_volume")[row]
    plain = memory.zero_traffic_bytes(1.0, 10**6, 0)
    for stage in stages:
        sent = memory.zero_traffic_bytes(1.0, 10**6, stage)
        assert sent == pytest.approx(printed.number("volume_elements"), rel=1e-5)
        assert sent / plain == pytest.approx(printed.number("relative_to_dp"), rel=1e-12)


# Curriculum of the course: zero-05, zero-x9, fsdp-03, fsdp-04 and fsdp-05.
@each(("stage", "printed"), [(3, "41.34"), (0, "27.56")])
def test_the_traffic_of_14_gigabytes_of_weights_comes_out(stage: ZeroStage, printed: str) -> None:
    assert f"{memory.zero_traffic_bytes(14e9, 64, stage) / 1e9:.2f}" == printed


@each(("stage", "sizes"), [(2, 9), (1, 2), (0, 2)])
def test_stage_2_pays_for_each_of_8_micro_batches(stage: ZeroStage, sizes: int) -> None:
    sent = memory.zero_accumulated_traffic_bytes(1.0, 10**6, stage, 8)
    assert sent == pytest.approx(sizes, rel=1e-5)


def test_eight_groups_of_eight_send_36_75_gigabytes_inside_and_3_0625_across() -> None:
    assert memory.hybrid_shard_traffic(14e9, 8, 8) == (36.75e9, 3.0625e9)


def test_groups_of_eight_send_ten_and_a_half_times_as_much_inside() -> None:
    inside, across = memory.hybrid_shard_traffic(810e9, 8, 3072)
    assert f"{inside / across:.1f}" == "10.5"


@given(st.floats(1, 1e15), st.integers(1, 10**6))
def test_one_group_is_stage_3_and_groups_of_one_are_plain_replicas(size: float, ranks: int) -> None:
    inside, across = memory.hybrid_shard_traffic(size, ranks, 1)
    assert inside == pytest.approx(memory.zero_traffic_bytes(size, ranks, 3))
    assert across == 0
    inside, across = memory.hybrid_shard_traffic(size, 1, ranks)
    assert inside == 0
    assert across == pytest.approx(memory.zero_traffic_bytes(size, ranks, 0))


@given(st.floats(1, 1e15), st.integers(1, 10**6), st.sampled_from(STAGES))
def test_a_step_of_one_micro_batch_accumulates_nothing(size: float, ranks: int, stage: ZeroStage) -> None:
    once = memory.zero_accumulated_traffic_bytes(size, ranks, stage, 1)
    assert once == memory.zero_traffic_bytes(size, ranks, stage)
