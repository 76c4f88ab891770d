"""The number formats of training, by their standards."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from app.core.formulas.checks import one_of
from app.core.units import Count

Format = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "mxfp4"]
# The largest codes that are reserved: a whole exponent for infinity and not-a-number, one code for
# not-a-number, or nothing.
Reserved = Literal["exponent", "code", "nothing"]


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A binary floating-point format with one sign bit."""

    name: Format
    exponent_bits: Count
    mantissa_bits: Count
    reserved: Reserved
    saturates: bool
    source: str

    @staticmethod
    def named(name: Format) -> "NumberFormat":
        """The format called *name*.

        Raises:
            ValueError: the format does not exist.
        """
        one_of("format", name, FORMATS)
        return FORMATS[name]

    @property
    def bias(self) -> int:
        """The number that is subtracted from the stored exponent."""
        return int(2 ** (self.exponent_bits - 1)) - 1

    @property
    def least_exponent(self) -> int:
        """The exponent of the smallest normal number and of all subnormal numbers."""
        return 1 - self.bias

    @property
    def largest_exponent(self) -> int:
        """The exponent of the largest finite number."""
        return self.bias if self.reserved == "exponent" else self.bias + 1

    def bits(self, value: float) -> str:
        """The bits of *value*, a finite number of this format: sign, exponent, mantissa."""
        mantissa, exponent = math.frexp(abs(value))  # mantissa in [0.5, 1)
        power = max(exponent - 1, self.least_exponent)
        steps = round(math.ldexp(mantissa, exponent - power + self.mantissa_bits))
        stored, rest = divmod(steps, 2**self.mantissa_bits)
        biased = power + self.bias if stored else 0
        sign = "1" if math.copysign(1.0, value) < 0 else "0"
        return f"{sign}{biased:0{self.exponent_bits}b}{rest:0{self.mantissa_bits}b}"


_IEEE = "IEEE 754-2019, table 3.5"
_OCP = "OCP 8-bit Floating Point Specification (OFP8) 1.0, tables 1 and 2; saturating conversion"

FORMATS: Mapping[str, NumberFormat] = MappingProxyType(
    {
        known.name: known
        for known in (
            NumberFormat("fp64", 11, 52, "exponent", False, _IEEE),
            NumberFormat("fp32", 8, 23, "exponent", False, _IEEE),
            NumberFormat("tf32", 8, 10, "exponent", False, "NVIDIA A100 whitepaper, TF32"),
            NumberFormat("bf16", 8, 7, "exponent", False, "Kalamkar et al., arXiv:1905.12322"),
            NumberFormat("fp16", 5, 10, "exponent", False, _IEEE),
            NumberFormat("fp8_e4m3", 4, 3, "code", True, _OCP),
            NumberFormat("fp8_e5m2", 5, 2, "exponent", True, _OCP),
            NumberFormat("mxfp4", 2, 1, "nothing", True, "OCP Microscaling Formats (MX) 1.0: E2M1"),
        )
    }
)
