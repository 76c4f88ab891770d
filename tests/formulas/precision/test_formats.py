import math
import random
import struct
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.precision import (
    FORMATS,
    epsilon,
    largest_finite,
    round_to,
    smallest_normal,
    smallest_subnormal,
    spacing,
    update_survives,
)
from app.core.formulas.precision.formats import Format
from tests.each import each
from tests.oracles.precision import codes
from tests.tables import rows

NAMES: tuple[Format, ...] = get_args(Format)
COUNTED: tuple[Format, ...] = ("tf32", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "mxfp4")
PRINTED = {
    "FP32": "fp32",
    "BF16": "bf16",
    "FP16": "fp16",
    "E4M3 (OCP)": "fp8_e4m3",
    "E5M2 (OCP)": "fp8_e5m2",
    "E2M1 (FP4)": "mxfp4",
}


@each("row", rows("number_formats"), ids=lambda row: row.text("format"))
def test_largest_finite_smallest_normal_smallest_subnormal_are_as_printed(row: object) -> None:
    name = PRINTED.get(row.text("format"))  # type: ignore[attr-defined]
    if name is None:
        return  # a format of other vendors, or one that training does not use
    known = FORMATS[name]
    assert known.exponent_bits == row.count("exp")  # type: ignore[attr-defined]
    assert known.mantissa_bits == row.count("mantissa")  # type: ignore[attr-defined]
    assert known.bias == row.count("bias")  # type: ignore[attr-defined]
    assert largest_finite(known.name) == row.number("max")  # type: ignore[attr-defined]
    assert smallest_normal(known.name) == row.number("min_normal")  # type: ignore[attr-defined]
    assert smallest_subnormal(known.name) == row.number("min_subnormal")  # type: ignore[attr-defined]


def test_all_formats_of_the_contract_are_known() -> None:
    assert tuple(FORMATS) == NAMES


@each("name", COUNTED)
def test_largest_finite_smallest_normal_smallest_subnormal_are_among_the_codes(name: Format) -> None:
    known = codes(name)
    assert largest_finite(name) == known.values[-1]
    assert smallest_subnormal(name) == known.values[1]
    assert smallest_normal(name) == known.values[known.first_normal]


@each("name", COUNTED)
def test_epsilon_is_the_step_from_one(name: Format) -> None:
    values = codes(name).values
    one = values.index(Fraction(1))
    assert epsilon(name) == values[one + 1] - 1


def test_epsilon_of_bf16_is_2_to_the_minus_7_and_of_fp64_that_of_python() -> None:
    assert epsilon("bf16") == 0.0078125
    assert epsilon("fp64") == math.ulp(1.0)


@each("name", COUNTED)
def test_spacing_is_the_distance_to_the_next_code(name: Format) -> None:
    values = codes(name).values
    for place in range(0, len(values) - 1, max(1, len(values) // 997)):
        if values[place] > 1e30:
            break
        assert spacing(float(values[place]), name) == values[place + 1] - values[place]


def test_spacing_of_bf16_at_0_02_and_of_fp64() -> None:
    assert spacing(0.02, "bf16") == 2**-13
    assert spacing(-0.02, "bf16") == pytest.approx(1.22e-4, rel=1e-3)
    assert spacing(0.1, "fp64") == math.ulp(0.1)
    with pytest.raises(ValueError, match=r"^value must be at most 448, the largest of fp8_e4m3"):
        spacing(449.0, "fp8_e4m3")


def nearby(name: Format) -> list[float]:
    """Codes, the middles between them, and what lies a little beside both."""
    values = codes(name).values
    source = random.Random(7)
    chosen = range(len(values) - 1) if len(values) < 3000 else source.sample(range(len(values) - 1), 3000)
    found = []
    for place in chosen:
        low, high = float(values[place]), float(values[place + 1])
        middle = (low + high) / 2
        found += [low, middle, math.nextafter(middle, low), math.nextafter(middle, high)]
    return [value for value in found if value <= 1e30] + [-value for value in found if value <= 1e30]


@each("name", COUNTED)
def test_round_to_finds_the_nearest_code(name: Format) -> None:
    known = codes(name)
    for value in nearby(name):
        assert round_to(value, name) == known.nearest(Fraction(value)), value


@given(st.floats(-1e30, 1e30))
def test_round_to_fp32_fp64_and_fp16_is_what_the_machine_does(value: float) -> None:
    assert round_to(value, "fp64") == value
    assert round_to(value, "fp32") == struct.unpack("f", struct.pack("f", value))[0]
    try:
        halved = struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        with pytest.raises(ValueError, match=r"^value must be at most 65504"):
            round_to(value, "fp16")
    else:
        assert round_to(value, "fp16") == halved


@given(st.floats(-1e29, 1e29), st.sampled_from(NAMES))
def test_round_to_changes_nothing_twice_and_is_odd(value: float, name: Format) -> None:
    try:
        once = round_to(value, name)
    except ValueError:
        return
    assert round_to(once, name) == once
    assert round_to(-value, name) == -once


def test_round_to_saturates_in_eight_and_four_bits() -> None:
    assert round_to(1e9, "fp8_e4m3") == 448
    assert round_to(-1e9, "fp8_e5m2") == -57344
    assert round_to(7.0, "mxfp4") == 6


@given(st.floats(1e-3, 100), st.floats(1e-9, 1), st.sampled_from(["bf16", "fp16", "tf32"]))
def test_update_survives_where_the_sum_has_another_code(weight: float, update: float, name: Format) -> None:
    known = codes(name)
    stored = known.nearest(Fraction(weight))
    assert stored is not None
    moved = known.nearest(stored + Fraction(update))
    assert update_survives(weight, update, name) == (moved != stored)


def test_update_survives_of_a_weight_that_is_small_enough() -> None:
    assert not update_survives(0.02, 1e-6, "bf16")
    assert update_survives(1e-4, 1e-6, "bf16")
    assert update_survives(0.02, 1e-6, "fp32")
    below, at = 2**-11 - 2**-19, 2**-11
    assert update_survives(below, 1e-6, "bf16")
    assert not update_survives(at, 1e-6, "bf16")


def test_ten_thousand_updates_leave_a_bf16_weight_where_it_is() -> None:
    kept = {"bf16": 0.02, "fp32": 0.02}
    for name in kept:
        weight = round_to(0.02, name)  # type: ignore[arg-type]
        for _ in range(10_000):
            weight = round_to(weight + 1e-6, name)  # type: ignore[arg-type]
        kept[name] = weight
    assert kept["bf16"] == pytest.approx(0.0200195, abs=1e-7)
    assert kept["fp32"] == pytest.approx(0.0300024, abs=1e-7)
