from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.batching import cosine_rate, critical_batch, gradient_noise_scale, rate_exposure, warmup_steps
from tests.each import each
from tests.oracles.batching import spread

plans = st.tuples(st.integers(2, 300), st.integers(0, 299)).filter(lambda plan: plan[1] < plan[0])


def test_warmup_steps_of_eight_times_the_batch() -> None:
    assert warmup_steps(256, 2048) == 8000
    assert warmup_steps(256, 256) == 1000


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_warmup_steps_see_as_many_more_examples_as_the_batch_squared(base: int, batch: int) -> None:
    growth = warmup_steps(base, batch) * batch / (warmup_steps(base, base) * base)
    assert growth == pytest.approx((batch / base) ** 2, rel=1e-12)


def test_cosine_rate_of_llama_3_405b_at_its_corners() -> None:
    def rate(step: int) -> float:
        return cosine_rate(step, 1_200_000, 8e-5, 8e-7, 8000)

    assert rate(0) == 0
    assert rate(4000) == pytest.approx(4e-5, rel=1e-12)
    assert rate(8000) == pytest.approx(8e-5, rel=1e-12)
    assert rate(1_200_000) == pytest.approx(8e-7, rel=1e-12)
    assert rate(604_000) == pytest.approx((8e-5 + 8e-7) / 2, rel=1e-9)


@given(plans)
def test_cosine_rate_falls_and_is_a_half_turn(plan: tuple[int, int]) -> None:
    total, warmup = plan
    rates = [cosine_rate(step, total, 1.0, 0.1, warmup) for step in range(warmup, total + 1)]
    assert rates == sorted(rates, reverse=True)
    for early, late in zip(rates, reversed(rates), strict=True):
        assert early + late == pytest.approx(1.1, rel=1e-12)


@given(plans, st.floats(0, 1))
def test_rate_exposure_is_the_sum_of_all_rates(plan: tuple[int, int], floor: float) -> None:
    total, warmup = plan
    rates = [cosine_rate(step, total, 1.0, floor, warmup) for step in range(total + 1)]
    summed = sum((a + b) / 2 for a, b in zip(rates, rates[1:], strict=False))
    assert rate_exposure(total, 1.0, floor, warmup) == pytest.approx(summed, rel=1e-9)


def test_rate_exposure_is_the_same_with_batch_and_rate_doubled() -> None:
    assert rate_exposure(50_000, 6e-4) == pytest.approx(rate_exposure(100_000, 3e-4), rel=1e-12)
    never_down = cosine_rate(50_000, 100_000, 6e-4)
    assert never_down == pytest.approx(3e-4, rel=1e-9)


def test_cosine_rate_refuses_plans_that_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"^step must be at most total_steps, 10, not 11"):
        cosine_rate(11, 10, 1.0)
    with pytest.raises(ValueError, match=r"^warmup must be below total_steps, 10, not 10"):
        cosine_rate(5, 10, 1.0, warmup=10)
    with pytest.raises(ValueError, match=r"^floor must be at most the peak, 1, not 2"):
        cosine_rate(5, 10, 1.0, floor=2.0)


@given(st.integers(1, 12), st.integers(13, 30), st.integers(1, 50), st.integers(1, 50))
def test_gradient_noise_scale_is_that_of_gradients_with_known_noise(
    few: int, many: int, signal: int, noise: int
) -> None:
    def norm_squared(batch: int) -> float:
        return float(signal + noise * spread(batch, Fraction(1)))

    found = gradient_noise_scale(few, many, norm_squared(few), norm_squared(many))
    assert found == pytest.approx(noise / signal, rel=1e-6)


def test_gradient_noise_scale_needs_signal_and_noise() -> None:
    with pytest.raises(ValueError, match=r"^large_norm_squared must be above 0.5 \(all noise\)"):
        gradient_noise_scale(8, 16, 1.0, 0.5)
    with pytest.raises(ValueError, match=r"^large_norm_squared must be above 0.5"):
        gradient_noise_scale(8, 16, 1.0, 1.5)
    with pytest.raises(ValueError, match=r"^small_batch must be below large_batch"):
        gradient_noise_scale(16, 8, 1.0, 0.9)
    assert gradient_noise_scale(8, 16, 1.0, 1.0) == 0


@each(("loss", "millions"), [(3.0, 1.07), (2.3, 3.79), (2.0, 7.37)])
def test_critical_batch_at_losses_of_large_models(loss: float, millions: float) -> None:
    assert critical_batch(loss) / 1e6 == pytest.approx(millions, abs=5e-3)


@given(st.floats(0.5, 8))
def test_critical_batch_doubles_when_the_loss_falls_by_13_5_per_cent(loss: float) -> None:
    assert critical_batch(loss * 2**-0.21) == pytest.approx(2 * critical_batch(loss), rel=1e-9)
