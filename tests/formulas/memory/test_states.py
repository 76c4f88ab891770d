import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas import memory
from app.core.formulas.checks import ZeroStage
from tests.each import each
from tests.formulas.grid import STAGES, over_ranks, over_stages
from tests.oracles import memory as simulated
from tests.tables import Row, rows

PARAMETERS = 960  # divisible by every number of ranks here, so that all shares are equal

over_recipes = each("recipe", [(2, 2, 12), (2, 4, 12), (4, 4, 8)])
Recipe = tuple[float, float, float]


@over_recipes
def test_state_bytes_are_those_of_one_replica_dealt_out(recipe: Recipe) -> None:
    played = simulated.zero_holding(PARAMETERS, 1, 0, *recipe)
    assert memory.state_bytes(PARAMETERS, *recipe) == played.distinct()


def test_state_bytes_of_7_billion_parameters_are_112_gigabytes() -> None:
    assert memory.state_bytes(7 * 10**9) == 112e9


@over_ranks
@over_stages
@over_recipes
def test_zero_state_bytes_are_those_that_each_rank_was_seen_to_hold(
    ranks: int, stage: ZeroStage, recipe: Recipe
) -> None:
    played = simulated.zero_holding(PARAMETERS, ranks, stage, *recipe)
    for rank in range(ranks):
        assert memory.zero_state_bytes(PARAMETERS, ranks, stage, *recipe) == (pytest.approx(played.on(rank), rel=1e-12))


@over_ranks
@over_stages
@over_recipes
def test_zero_redundant_bytes_are_those_that_exist_more_than_once(ranks: int, stage: ZeroStage, recipe: Recipe) -> None:
    played = simulated.zero_holding(PARAMETERS, ranks, stage, *recipe)
    assert memory.zero_redundant_bytes(PARAMETERS, ranks, stage, *recipe) == (
        pytest.approx(played.total() - played.distinct(), rel=1e-12)
    )


@each(("shard_ranks", "replicas"), [(1, 1), (3, 1), (1, 3), (5, 2), (8, 8)])
@over_recipes
def test_hybrid_shard_state_bytes_are_those_that_each_rank_was_seen_to_hold(
    shard_ranks: int, replicas: int, recipe: Recipe
) -> None:
    played = simulated.hybrid_holding(PARAMETERS, shard_ranks, replicas, *recipe)
    for rank in range(shard_ranks * replicas):
        assert memory.hybrid_shard_state_bytes(PARAMETERS, shard_ranks, *recipe) == (
            pytest.approx(played.on(rank), rel=1e-12)
        )


def as_the_paper_prints(gigabytes: float, printed: str) -> str:
    """Like table 1 of the ZeRO paper, which rounds what it prints with decimals and truncates
    what it prints without: 257.75 is 257 there, and 41.25 is 41.3.
    """
    decimals = len(printed.partition(".")[2]) if not printed.endswith(".0") else 0
    if not decimals:
        return f"{math.floor(gigabytes)}"
    exact = Decimal(repr(round(gigabytes, 9)))
    return str(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


@each(("column", "stage"), [("p_os", 1), ("p_os_g", 2), ("p_os_g_p", 3)])
@each("row", rows("zero_table1"), ids=lambda row: f"{row.text('model')}-{row.text('dp_degree')}")
def test_every_cell_of_table_1_of_the_zero_paper_comes_out(row: Row, column: str, stage: ZeroStage) -> None:
    held = memory.zero_state_bytes(row.count("params"), row.count("dp_degree"), stage)
    printed = row.text(column)
    assert as_the_paper_prints(held / 1e9, printed) == printed.removesuffix(".0")


# Curriculum of the course, sections 2 and 12, worked by hand there.
@each(
    ("billions", "ranks", "stage", "gigabytes"),
    [
        (7, 64, 1, 29.3125),
        (7, 64, 2, 15.53125),
        (7, 64, 3, 1.75),
        (30, 64, 1, 125.625),
        (30, 8, 2, 112.5),
        (30, 16, 2, 86.25),
        (30, 8, 3, 60),
        (200, 64, 3, 50),
        (100, 64, 0, 1600),
        (100, 64, 3, 25),
    ],
)
def test_the_states_of_the_course_come_out(billions: int, ranks: int, stage: ZeroStage, gigabytes: float) -> None:
    assert memory.zero_state_bytes(billions * 10**9, ranks, stage) == gigabytes * 1e9


@each(
    ("stage", "optimizer_bytes", "printed"),
    [(1, 12, "1624.7"), (1, 8, "1623.2"), (2, 12, "815.5"), (3, 12, "6.3"), (3, 8, "4.7")],
)
def test_the_states_of_405_billion_parameters_come_out(stage: ZeroStage, optimizer_bytes: float, printed: str) -> None:
    held = memory.zero_state_bytes(405 * 10**9, 1024, stage, 2, 2, optimizer_bytes)
    assert f"{held / 1e9:.1f}" == printed


def test_64_plain_replicas_of_7_billion_parameters_are_98_percent_redundant() -> None:
    redundant = memory.zero_redundant_bytes(7 * 10**9, 64, 0)
    assert redundant == 7056e9
    assert f"{redundant / 7168e9:.1%}" == "98.4%"


@each(
    ("shard_ranks", "optimizer_bytes", "printed"),
    [(8, 8, "607.5"), (8, 12, "810.0"), (64, 8, "75.9"), (128, 12, "50.6"), (64, 12, "101.2")],
)
def test_groups_of_eight_cannot_hold_405_billion_parameters(
    shard_ranks: int, optimizer_bytes: float, printed: str
) -> None:
    held = memory.hybrid_shard_state_bytes(405 * 10**9, shard_ranks, 2, 2, optimizer_bytes)
    assert f"{held / 1e9:.1f}" == printed


@given(st.integers(1, 10**15), st.integers(1, 10**6))
def test_each_stage_holds_no_more_than_the_one_before(parameters: int, ranks: int) -> None:
    held = [memory.zero_state_bytes(parameters, ranks, stage) for stage in STAGES]
    assert held == sorted(held, reverse=True)


@given(st.integers(1, 10**15), st.integers(1, 10**6), st.sampled_from(STAGES))
def test_what_all_ranks_hold_is_one_replica_and_what_is_redundant(
    parameters: int, ranks: int, stage: ZeroStage
) -> None:
    held = ranks * memory.zero_state_bytes(parameters, ranks, stage)
    redundant = memory.zero_redundant_bytes(parameters, ranks, stage)
    assert held == pytest.approx(memory.state_bytes(parameters) + redundant, rel=1e-12)


@over_stages
def test_one_rank_shares_nothing(stage: ZeroStage) -> None:
    assert memory.zero_state_bytes(1000, 1, stage) == 16_000
    assert memory.zero_redundant_bytes(1000, 1, stage) == 0
