from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.formulas import memory
from app.core.formulas.checks import ZeroStage
from tests.each import each
from tests.formulas.grid import STAGES
from tests.oracles import memory as simulated
from tests.tables import Row, rows


def held_bytes(parameters: int, ranks: int, stage: ZeroStage) -> Fraction:
    """Bytes on a rank, exactly: what all hold together, divided evenly."""
    dealt = simulated.zero_holding(parameters, ranks, stage)
    return Fraction(dealt.total()) / ranks


@given(st.integers(1, 40), st.integers(1, 700), st.sampled_from(STAGES), st.integers(0, 100))
def test_zero_smallest_ranks_fit_and_one_fewer_does_not(
    parameters: int, memory_size: int, stage: ZeroStage, reserved: int
) -> None:
    try:
        ranks = memory.zero_smallest_ranks(parameters, memory_size, stage, reserved)
    except ValueError:
        assert held_bytes(parameters, 1, stage) + reserved > memory_size
        return
    assume(ranks < 200)
    assert held_bytes(parameters, ranks, stage) + reserved <= memory_size
    if ranks > 1:
        assert held_bytes(parameters, ranks - 1, stage) + reserved > memory_size


@given(st.integers(1, 700), st.integers(1, 12), st.sampled_from(STAGES), st.integers(0, 100))
def test_zero_largest_model_fits_and_one_parameter_more_does_not(
    memory_size: int, ranks: int, stage: ZeroStage, reserved: int
) -> None:
    assume(reserved <= memory_size)
    parameters = memory.zero_largest_model(memory_size, ranks, stage, reserved)
    assert held_bytes(parameters, ranks, stage) + reserved <= memory_size
    assert held_bytes(parameters + 1, ranks, stage) + reserved > memory_size


@given(st.integers(1, 10**15), st.integers(1, 10**6), st.sampled_from(STAGES))
def test_a_model_that_is_the_largest_needs_those_ranks_and_no_more(
    parameters: int, ranks: int, stage: ZeroStage
) -> None:
    exactly = memory.zero_state_bytes(parameters, ranks, stage)
    needed = memory.zero_smallest_ranks(parameters, exactly * (1 + 1e-9), stage)
    assert needed <= ranks
    assert memory.zero_largest_model(exactly * (1 + 1e-9), ranks, stage) >= parameters


COLUMNS: tuple[tuple[str, ZeroStage], ...] = (
    ("baseline_theory", 0),
    ("p_os_theory", 1),
    ("p_os_g_theory", 2),
    ("p_os_g_p_theory", 3),
)


@each(("column", "stage"), COLUMNS)
@each("row", rows("zero_table2_max_model"), ids=lambda row: row.text("gpus"))
def test_every_theoretical_cell_of_table_2_of_the_zero_paper_comes_out(row: Row, column: str, stage: ZeroStage) -> None:
    """32 GB cards; 64 data-parallel ranks; the other GPUs of a row split each model.

    The paper doubles its first row from row to row after rounding that to a tenth of a billion,
    and prints 512, 1,024 and 2,048 billion as 0.5, 1 and 2 trillion.
    """
    ranks = row.count("gpus") // row.count("mp_degree")
    billions = memory.zero_largest_model(32e9, ranks, stage) / 1e9
    printed = row.number(column) / 1e9
    if printed >= 500:
        assert f"{billions * row.count('mp_degree') / 1e3:.0g}" == f"{printed / 1e3:.0g}"
    else:
        assert round(billions, 1) * row.count("mp_degree") == pytest.approx(printed, rel=1e-9)


def test_stage_3_needs_8_ranks_for_30_billion_parameters_and_10_for_some_air() -> None:
    assert memory.zero_smallest_ranks(30 * 10**9, 80e9, 3, reserved=20e9) == 8
    assert memory.zero_smallest_ranks(30 * 10**9, 80e9, 3, reserved=30e9) == 10


def test_405_billion_parameters_need_108_ranks_of_60_gigabytes() -> None:
    assert memory.zero_smallest_ranks(405 * 10**9, 60e9, 3) == 108


def test_what_no_number_of_ranks_can_shrink_is_said() -> None:
    floor = "memory must be above the 80 GB that stage 2 .* not 80 GB"
    with pytest.raises(ValueError, match=floor):
        memory.zero_smallest_ranks(30 * 10**9, 80e9, 2, reserved=20e9)


def test_a_reserve_larger_than_the_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="reserved must be at most the memory, 80 GB, not 90 GB"):
        memory.zero_largest_model(80e9, 8, 3, reserved=9e10)
