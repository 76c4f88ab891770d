import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.sampling import inference_flops, lifetime_flops, pass_at_k, smaller_model_breakeven
from tests.oracles.sampling import share_with_a_right_one

B, T = 10**9, 10**12


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_hands_with_a_right_answer(samples: int, data: st.DataObject) -> None:
    correct, k = data.draw(st.integers(0, samples)), data.draw(st.integers(1, samples))
    share = share_with_a_right_one(samples, correct, k)
    assert pass_at_k(samples, correct, k) == pytest.approx(float(share), rel=1e-12)


def test_pass_at_k_of_known_questions() -> None:
    assert pass_at_k(20, 3, 5) == pytest.approx(0.600877, abs=5e-7)
    assert pass_at_k(10**6, 300_000, 4) == pytest.approx(1 - 0.7**4, rel=1e-5)
    assert pass_at_k(10**6, 300_000, 8) == pytest.approx(0.9424, abs=1e-4)
    with pytest.raises(ValueError, match=r"^k must be at most the samples, 20, not 21"):
        pass_at_k(20, 3, 21)
    with pytest.raises(ValueError, match=r"^correct must be at most the samples, 20, not 21"):
        pass_at_k(20, 21, 3)


def test_inference_flops_are_a_multiplication_and_an_addition_a_parameter() -> None:
    counted = 0
    for _token in range(3):
        for rows, columns in ((4, 8), (8, 5)):
            counted += sum(2 for _ in range(rows) for _ in range(columns))
    assert inference_flops(4 * 8 + 8 * 5, 3) == counted
    assert inference_flops(70 * B, 1) == 140e9


def test_lifetime_flops_are_training_and_serving() -> None:
    assert lifetime_flops(70 * B, 1.4 * T, 0) == pytest.approx(5.88e23, rel=1e-12)
    assert lifetime_flops(8 * B, 15 * T, 0) == pytest.approx(7.2e23, rel=1e-12)
    served = lifetime_flops(8 * B, 15 * T, 5 * T, 4) - lifetime_flops(8 * B, 15 * T, 0)
    assert served == pytest.approx(4 * inference_flops(8 * B, 5 * T), rel=1e-12)


def test_smaller_model_breakeven_of_8b_against_70b() -> None:
    tokens = smaller_model_breakeven(8 * B, 15 * T, 70 * B, 1.4 * T)
    assert tokens == pytest.approx(1.0645e12, rel=1e-4)
    assert smaller_model_breakeven(8 * B, 15 * T, 70 * B, 1.4 * T, samples=10) == pytest.approx(tokens / 10)
    assert smaller_model_breakeven(8 * B, T, 70 * B, 1.4 * T) == 0
    with pytest.raises(ValueError, match=r"^small_parameters must be below large_parameters"):
        smaller_model_breakeven(70 * B, T, 70 * B, T)


@given(st.integers(1, 100), st.floats(1, 100), st.integers(101, 1000), st.floats(1, 100), st.integers(1, 9))
def test_smaller_model_breakeven_is_where_both_have_cost_the_same(
    small: int, small_tokens: float, large: int, large_tokens: float, samples: int
) -> None:
    tokens = smaller_model_breakeven(small, small_tokens, large, large_tokens, samples)
    one = lifetime_flops(small, small_tokens, tokens, samples)
    other = lifetime_flops(large, large_tokens, tokens, samples)
    assert one <= other * (1 + 1e-9)
    if tokens:
        assert one == pytest.approx(other, rel=1e-9)
