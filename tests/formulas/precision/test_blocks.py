"""Blocks with a shared scale, played out with every code of E2M1 and of E4M3."""

import random
from fractions import Fraction
from math import floor, log2

import pytest

from app.core.formulas.precision import bits_per_value, block_scale, quantized_block
from tests.each import each
from tests.oracles.precision import codes


def packed(element_bits: int, scale_bits: int, block: int, values: int) -> int:
    """Bits of an array whose blocks are written one after the other."""
    bits = 0
    for place in range(values):
        bits += scale_bits if place % block == 0 else 0
        bits += element_bits
    return bits


def nearest(value: float) -> Fraction:
    found = codes("mxfp4").nearest(Fraction(value))
    assert found is not None
    return found


@each(("element", "scale", "block"), [(4, 8, 32), (4, 8, 16), (8, 32, 128)])
def test_bits_per_value_times_the_values_is_the_size_of_a_packed_array(element: int, scale: int, block: int) -> None:
    assert bits_per_value(element, scale, block) * 4096 == packed(element, scale, block, 4096)


def test_bits_per_value_of_the_known_formats() -> None:
    assert (bits_per_value(4, 8, 32), bits_per_value(4, 8, 16)) == (4.25, 4.5)
    assert bits_per_value(8, 32, 10**9) == pytest.approx(8)


@each("largest", [6.9, 7.0, 7.1, 0.02, 1.0, 8.0, 1e-6, 448.0])
def test_block_scale_of_a_power_of_two_puts_the_largest_value_in_the_last_binade(largest: float) -> None:
    for element, last in (("mxfp4", 4.0), ("fp8_e4m3", 256.0), ("fp8_e5m2", 32768.0)):
        scale = block_scale(largest, element, "e8m0")  # type: ignore[arg-type]
        assert last <= largest / scale < 2 * last
        assert log2(scale) == floor(log2(scale))


def test_block_scale_in_e4m3_is_the_code_that_is_nearest() -> None:
    values = codes("fp8_e4m3").values[1:]
    source = random.Random(5)
    for _ in range(300):
        largest = 2 ** source.uniform(-6, 11)
        target = Fraction(largest) / 6
        best = min(values, key=lambda value: abs(value - target))
        assert Fraction(block_scale(largest, "mxfp4", "e4m3")) == best
    assert block_scale(7, "mxfp4", "e4m3") == 1.125
    assert block_scale(1e-9, "mxfp4", "e4m3") == 2**-9


@each(
    ("values", "left"),
    [
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        ((7, 1.25, -0.25, 5), (6, 1, 0, 4)),
        ((1000, 1, 100, -250), (768, 0, 128, -256)),
        ((0, 0), (0, 0)),
    ],
)
def test_quantized_block_of_blocks_worked_out_by_hand(values: tuple[float, ...], left: tuple[float, ...]) -> None:
    assert quantized_block(values, "mxfp4") == left


def test_quantized_block_of_mxfp4_finds_the_nearest_of_the_shared_codes() -> None:
    source = random.Random(8)
    for _ in range(100):
        block = [source.gauss(0, 3) for _ in range(8)]
        scale = 1.0
        while max(map(abs, block)) / scale >= 8:
            scale *= 2
        while max(map(abs, block)) / scale < 4:
            scale /= 2
        expected = [scale * nearest(value / scale) for value in block]
        assert quantized_block(block, "mxfp4") == tuple(map(float, expected))


def test_quantized_block_of_nvfp4_loses_less_of_the_largest_value() -> None:
    assert quantized_block((7.0,), "nvfp4") == (6.75,)
    assert quantized_block((7.0,), "mxfp4") == (6.0,)
    losses = {"mxfp4": 0.0, "nvfp4": 0.0}
    for tenth in range(60, 1200):
        for name in losses:
            (left,) = quantized_block((tenth / 10,), name)  # type: ignore[arg-type]
            losses[name] = max(losses[name], 1 - left / (tenth / 10))
    assert 0.24 < losses["mxfp4"] < 0.25
    assert losses["nvfp4"] == pytest.approx(1 / 17)  # 6.375: its scale is rounded to 1
