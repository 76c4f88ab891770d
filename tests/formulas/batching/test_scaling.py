from fractions import Fraction

import pytest

from app.core.formulas.batching import (
    examples_to_target,
    linear_scaled_rate,
    scaled_decay,
    square_root_scaled_rate,
    steps_to_target,
)
from tests.each import each
from tests.oracles.batching import best_gain, descend, spread

RATE, GRADIENT = Fraction(3, 10_000), Fraction(7, 5)


@each("growth", [1, 2, 3, 8])
def test_linear_scaled_rate_goes_as_far_in_one_step_as_the_small_ones_together(growth: int) -> None:
    scaled = Fraction(linear_scaled_rate(float(RATE), 256, 256 * growth))
    small, large = descend(growth, RATE, GRADIENT), descend(1, scaled, GRADIENT)
    assert float(large) == pytest.approx(float(small), rel=1e-12)


@each("growth", [2, 3, 4])
@each("base", [1, 4, 9])
def test_square_root_scaled_rate_keeps_the_spread_of_a_step(base: int, growth: int) -> None:
    scaled = Fraction(square_root_scaled_rate(float(RATE), base, base * growth))
    before, after = spread(base, RATE), spread(base * growth, scaled)
    assert float(after) == pytest.approx(float(before), rel=1e-12)


def test_linear_scaled_rate_and_square_root_scaled_rate_of_a_known_plan() -> None:
    assert linear_scaled_rate(3e-4, 256, 2048) == pytest.approx(2.4e-3, rel=1e-12)
    assert square_root_scaled_rate(3e-4, 256, 2048) == pytest.approx(8.485e-4, rel=1e-4)


@each("batch", [1, 2, 5, 20, 80])
def test_steps_to_target_are_those_of_steps_that_gain_their_best(batch: int) -> None:
    needed = 1 / best_gain(batch, Fraction(20))
    assert steps_to_target(batch, 20, 1) == pytest.approx(float(needed), rel=1e-4)


@each("batch", [1, 2, 5, 20, 80])
def test_examples_to_target_are_the_steps_times_the_batch(batch: int) -> None:
    needed = batch / best_gain(batch, Fraction(20))
    assert examples_to_target(batch, 20, 1) == pytest.approx(float(needed), rel=1e-4)


def test_steps_to_target_far_below_and_far_above_the_critical_batch() -> None:
    def ratio(small: float, large: float) -> float:
        return steps_to_target(small, 1, 1) / steps_to_target(large, 1, 1)

    assert ratio(1 / 4, 1 / 2) == pytest.approx(5 / 3, rel=1e-12)
    assert ratio(4, 8) == pytest.approx(1.25 / 1.125, rel=1e-12)


@each(("decay", "parts"), [(0.95, 8), (0.98, 4), (0.9, 3)])
def test_scaled_decay_forgets_as_much_over_the_same_tokens(decay: float, parts: int) -> None:
    left, scaled = 1.0, scaled_decay(decay, 512 * parts, 512)
    for _ in range(parts):  # small batches that have the tokens of a large one
        left *= scaled
    assert left == pytest.approx(decay, rel=1e-12)


def test_scaled_decay_keeps_the_half_life_in_tokens() -> None:
    def half_life(decay: float, batch: int) -> int:
        left, tokens = 1.0, 0
        while left > 0.5:
            left, tokens = left * decay, tokens + batch
        return tokens

    scaled = scaled_decay(0.95, 4194304, 524288)
    assert half_life(scaled, 524288) == pytest.approx(half_life(0.95, 4194304), abs=4194304)
    assert scaled == pytest.approx(0.99361, abs=5e-6)
    assert scaled_decay(0.7, 100, 100) == 0.7
