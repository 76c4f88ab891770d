"""Sums and updates, one rounding after the other, with every code of the format."""

import random
import struct
from fractions import Fraction

import pytest

from app.core.formulas.precision import pairwise_sum, sequential_sum, stochastic_drift, sum_stops_at
from app.core.formulas.precision.formats import Format
from tests.each import each
from tests.oracles.precision import codes

SMALL: tuple[Format, ...] = ("bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "mxfp4")


def rounded(value: Fraction, name: Format) -> Fraction:
    found = codes(name).nearest(value)
    assert found is not None
    return found


def one_by_one(value: float, terms: int, name: Format) -> Fraction:
    term, total = rounded(Fraction(value), name), Fraction(0)
    for _ in range(terms):
        total = rounded(total + term, name)
    return total


def in_pairs(value: float, terms: int, name: Format) -> Fraction:
    level = [rounded(Fraction(value), name)] * terms
    while len(level) > 1:
        pairs = [rounded(a + b, name) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = [*pairs, *level[2 * len(pairs) :]]
    return level[0]


@each("name", SMALL)
def test_sum_stops_at_the_value_where_adding_one_changes_nothing(name: Format) -> None:
    total, grown = Fraction(-1), Fraction(0)
    while grown != total:
        total, grown = grown, rounded(grown + 1, name)
    assert sum_stops_at(name) == total


def test_sum_stops_at_2_to_the_24_in_the_fp32_of_the_machine() -> None:
    def stored(value: float) -> float:
        return float(struct.unpack("f", struct.pack("f", value))[0])

    last = sum_stops_at("fp32")
    assert stored(last + 1) == last
    assert stored(last - 1) + 1 == stored(last) == last


CASES = [(1.0, 1024), (1.0, 300), (0.1, 777), (3.0, 500), (-1.5, 400), (0.4375, 650), (0.0, 5)]


@each("name", SMALL)
@each(("value", "terms"), CASES)
def test_sequential_sum_is_the_sum_one_by_one(value: float, terms: int, name: Format) -> None:
    assert sequential_sum(value, terms, name) == one_by_one(value, terms, name)


def test_sequential_sum_of_any_value_is_the_sum_one_by_one() -> None:
    source = random.Random(11)
    for _ in range(60):
        value, terms = 2 ** source.uniform(-4, 2), source.randint(1, 400)
        for name in ("bf16", "fp8_e5m2"):
            assert sequential_sum(value, terms, name) == one_by_one(value, terms, name)


@each("name", SMALL)
@each(("value", "terms"), CASES)
def test_pairwise_sum_is_the_sum_in_pairs(value: float, terms: int, name: Format) -> None:
    assert pairwise_sum(value, terms, name) == in_pairs(value, terms, name)


def test_sequential_sum_and_pairwise_sum_of_a_gradient_over_1024_replicas() -> None:
    assert sequential_sum(1, 1024, "bf16") == 256
    assert pairwise_sum(1, 1024, "bf16") == 1024
    assert sequential_sum(1, 10**12, "fp32") == 2**24
    assert sequential_sum(1, 10**6, "fp32") == pairwise_sum(1, 10**6, "fp64") == 10**6


def test_sequential_sum_and_pairwise_sum_refuse_to_overflow() -> None:
    for total in (sequential_sum, pairwise_sum):
        with pytest.raises(ValueError, match=r"^value must be at most 65504"):
            total(60000.0, 3, "fp16")


def test_stochastic_drift_is_where_many_runs_end() -> None:
    source = random.Random(4)
    spacing, update, steps = 2.0**-7, 2.0**-10, 500
    ends = []
    for _ in range(2000):
        moved = sum(source.random() * spacing < update for _ in range(steps))
        ends.append(moved * spacing)
    mean = sum(ends) / len(ends)
    deviation = (sum((end - mean) ** 2 for end in ends) / len(ends)) ** 0.5
    drift = stochastic_drift(update, spacing, steps)
    assert drift.mean == pytest.approx(mean, rel=0.01)
    assert drift.deviation == pytest.approx(deviation, rel=0.05)


def test_stochastic_drift_of_three_steps_is_the_mean_over_all_eight_ways() -> None:
    chance, ways = Fraction(1, 4), []
    for code in range(8):
        up = code.bit_count()
        ways.append((up, chance**up * (1 - chance) ** (3 - up)))
    mean = sum(up * weight for up, weight in ways)
    variance = sum((up - mean) ** 2 * weight for up, weight in ways)
    drift = stochastic_drift(1, 4, 3)
    assert (drift.mean, drift.deviation**2) == pytest.approx((4 * mean, 16 * variance))
    assert stochastic_drift(4, 4, 3) == (12, 0)


def test_stochastic_drift_refuses_an_update_above_the_spacing() -> None:
    with pytest.raises(ValueError, match=r"^update must be at most the spacing"):
        stochastic_drift(2, 1, 3)
