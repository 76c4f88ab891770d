import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.pipeline import bubble_fraction, bubble_ratio, microbatches_for_fraction, microbatches_for_ratio
from app.core.simulators.pipeline import Times, build, simulate_schedule
from tests.each import each
from tests.tables import rows

EQUAL = Times(1, 1, 1)
counts = st.integers(1, 60)


def played(stages: int, microbatches: int, virtual: int = 1) -> tuple[float, float]:
    """Idle over ideal, and idle over the whole step."""
    name = "interleaved" if virtual > 1 else "1f1b"
    step = simulate_schedule(build(name, stages, microbatches, virtual), EQUAL)
    return step.bubble / step.ideal_time, step.bubble / step.step_time


@each("virtual", [1, 2, 4])
@each(("stages", "microbatches"), [(1, 3), (3, 9), (4, 12), (8, 8), (16, 16)])
def test_bubble_ratio_is_what_a_stage_waits_over_what_it_works(stages: int, microbatches: int, virtual: int) -> None:
    ratio, _ = played(stages, microbatches, virtual)
    assert bubble_ratio(stages, microbatches, virtual) == pytest.approx(ratio, rel=1e-12)


@each("virtual", [1, 2, 4])
@each(("stages", "microbatches"), [(1, 3), (3, 9), (4, 12), (8, 8), (16, 16)])
def test_bubble_fraction_is_what_a_stage_waits_over_the_step(stages: int, microbatches: int, virtual: int) -> None:
    _, fraction = played(stages, microbatches, virtual)
    assert bubble_fraction(stages, microbatches, virtual) == pytest.approx(fraction, rel=1e-12)


def test_bubble_ratio_and_bubble_fraction_name_the_two_columns_of_the_same_bubble() -> None:
    table = [  # curriculum, section 6: total, ideal, fraction, ratio
        (4, 12, 1, 0.200, 0.250),
        (4, 12, 2, 0.111, 0.125),
        (4, 12, 4, 0.0588, 0.0625),
        (4, 8, 1, 0.273, 0.375),
        (16, 8, 1, 0.652, 1.875),
        (16, 64, 1, 0.190, 0.234),
        (16, 16, 8, 0.105, 0.117),
    ]
    for stages, microbatches, virtual, fraction, ratio in table:
        assert bubble_fraction(stages, microbatches, virtual) == pytest.approx(fraction, abs=6e-4)
        assert bubble_ratio(stages, microbatches, virtual) == pytest.approx(ratio, abs=6e-4)


def test_bubble_ratio_and_bubble_fraction_are_the_papers_own_lines() -> None:
    megatron = {row.text("quantity"): row.text("value") for row in rows("megatron_sc21_text")}
    assert megatron["bubble time fraction GPipe/1F1B"] == "(p-1)/m"
    assert megatron["bubble time fraction interleaved"] == "(p-1)/(v m)"
    zero_bubble = {r.text("schedule"): r.text("bubble_rate") for r in rows("zb_readme_schedules")}
    assert zero_bubble["1F1B"] == "B=(p-1)/(m+p-1)"
    p, m, v = 7, 11, 3
    assert bubble_ratio(p, m, v) == (p - 1) / (v * m)
    assert bubble_fraction(p, m) == (p - 1) / (m + p - 1)


@given(counts, counts, counts)
def test_bubble_fraction_is_the_ratio_over_one_more(p: int, m: int, v: int) -> None:
    ratio = bubble_ratio(p, m, v)
    assert bubble_fraction(p, m, v) == pytest.approx(ratio / (1 + ratio), rel=1e-12)


def test_microbatches_for_ratio_and_microbatches_for_fraction_of_a_known_question() -> None:
    assert [microbatches_for_ratio(8, 0.05, v, strict=True) for v in (1, 2, 4)] == [141, 71, 36]
    assert [microbatches_for_fraction(8, 0.05, v, strict=True) for v in (1, 2, 4)] == [134, 67, 34]
    assert [microbatches_for_ratio(8, 0.05, v) for v in (1, 2, 4)] == [140, 70, 35]


LIMITS = st.integers(1, 99).map(lambda percent: percent / 100)


@given(counts, LIMITS, st.integers(1, 8), st.booleans())
def test_microbatches_for_ratio_is_the_first_that_will_do(p: int, limit: float, v: int, strict: bool) -> None:
    percent = round(limit * 100)

    def will_do(m: int) -> bool:
        idle, allowed = 100 * (p - 1), percent * v * m
        return idle < allowed if strict else idle <= allowed

    fewest = microbatches_for_ratio(p, limit, v, strict)
    assert will_do(fewest)
    assert fewest == 1 or not will_do(fewest - 1)


@given(counts, LIMITS, st.integers(1, 8), st.booleans())
def test_microbatches_for_fraction_is_the_first_that_will_do(p: int, limit: float, v: int, strict: bool) -> None:
    percent = round(limit * 100)

    def will_do(m: int) -> bool:
        idle, allowed = 100 * (p - 1), percent * (v * m + p - 1)
        return idle < allowed if strict else idle <= allowed

    fewest = microbatches_for_fraction(p, limit, v, strict)
    assert will_do(fewest)
    assert fewest == 1 or not will_do(fewest - 1)


def test_microbatches_for_fraction_refuses_more_than_the_whole_step() -> None:
    with pytest.raises(ValueError, match=r"^limit must be at most 1"):
        microbatches_for_fraction(8, 1.5)
