"""Every code of a format and its number; the nearest number is looked up, not computed."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

# Bits of exponent and mantissa, and the last code that is a number.
_LAYOUTS = {
    "tf32": (8, 10, 0b11111110_1111111111),
    "bf16": (8, 7, 0b11111110_1111111),
    "fp16": (5, 10, 0b11110_1111111111),
    "fp8_e4m3": (4, 3, 0b1111_110),
    "fp8_e5m2": (5, 2, 0b11110_11),
    "mxfp4": (2, 1, 0b11_1),
}
_SATURATING = {"fp8_e4m3", "fp8_e5m2", "mxfp4"}


@dataclass(frozen=True, slots=True)
class Codes:
    """The numbers of a format from zero up, in the order of their codes."""

    values: tuple[Fraction, ...]
    first_normal: int
    saturating: bool

    def nearest(self, value: Fraction) -> Fraction | None:
        """The number nearest to *value*, ties to the even code; None is infinity."""
        size, sign = abs(value), 1 if value >= 0 else -1
        above = bisect_left(self.values, size)
        if above == len(self.values):
            last = self.values[-1]
            half = (last - self.values[-2]) / 2
            return sign * last if self.saturating or size < last + half else None
        if above == 0:
            return Fraction(0)
        low, high = self.values[above - 1], self.values[above]
        if size - low == high - size:
            return sign * (low if (above - 1) % 2 == 0 else high)
        return sign * (low if size - low < high - size else high)


@cache
def codes(name: str) -> Codes:
    """All codes of the format called *name*."""
    exponent_bits, mantissa_bits, last = _LAYOUTS[name]
    numbers = tuple(_numbers(exponent_bits, mantissa_bits, last))
    return Codes(numbers, 1 << mantissa_bits, name in _SATURATING)


def _numbers(exponent_bits: int, mantissa_bits: int, last: int) -> Iterator[Fraction]:
    bias = (1 << (exponent_bits - 1)) - 1
    for code in range(last + 1):
        exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        hidden = 1 << mantissa_bits if exponent else 0
        power = max(exponent, 1) - bias - mantissa_bits
        yield (hidden + mantissa) * Fraction(2) ** power
