"""The number formats of training, rounding to them, and the bytes of training state in them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from app.core.formulas.checks import at_least, larger_than, one_of, positive, signed, whole
from app.core.translation import noted, value_error
from app.core.units import Bytes, Count, Ratio

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


def largest_finite(format: Format) -> Ratio:
    """Largest finite number of a format.

    All m bits of the mantissa set, at the largest exponent E. IEEE formats reserve the top exponent for infinity (L);
    E4M3 uses it except for one code, not-a-number (K); the elements of MXFP4 use every code (L).

        L = (2 - 2^(-m)) * 2^E
        K = (2 - 2 * 2^(-m)) * 2^E

    Convention:
        fp8_e4m3 follows the OCP: 448. The FNUZ variant of other vendors ends at 240. mxfp4 is one
        element, without the scale that 32 elements share.

    Args:
        format: the format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.4; OCP OFP8 specification 1.0, table 2.
    """
    known = NumberFormat.named(format)
    steps = 2 if known.reserved == "code" else 1
    return (2 - steps * 2.0**-known.mantissa_bits) * 2.0**known.largest_exponent


def smallest_normal(format: Format) -> Ratio:
    """Smallest positive number of a format at full precision.

    A stored exponent of 1, minus the bias b, and a mantissa of one.

        S = 2^(1 - b)

    Convention:
        Not the smallest number: below it there are subnormal numbers, with fewer bits.

    Args:
        format: the format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.4; OCP OFP8 specification 1.0, table 2.
    """
    return 2.0 ** NumberFormat.named(format).least_exponent


def smallest_subnormal(format: Format) -> Ratio:
    """Smallest positive number of a format, subnormals included.

    The last of the m bits of the mantissa, at the exponent of the smallest normal number.

        S = 2^(1 - b - m)

    Convention:
        Half of it or less rounds to zero. Hardware that flushes subnormals to zero has none.

    Args:
        format: the format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.4; OCP OFP8 specification 1.0, table 2.
    """
    known = NumberFormat.named(format)
    return 2.0 ** (known.least_exponent - known.mantissa_bits)


def epsilon(format: Format) -> Ratio:
    """Distance from 1 to the next larger number of a format.

    A one in the last of the m bits of the mantissa.

        X = 2^(-m)

    Convention:
        The spacing at 1, as finfo.eps; rounding is off by at most half of it. It is relative:
        0.0078 in BF16 does not mean that 1e-6 cannot be represented.

    Args:
        format: the format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.3.
    """
    return 2.0 ** -NumberFormat.named(format).mantissa_bits


def spacing(value: Ratio, format: Format) -> Ratio:
    """Distance between adjacent numbers of a format near a value.

    E is the exponent of the value, floor(log2(abs(value))), but at least that of the smallest
    normal number; m are the bits of the mantissa.

        X = 2^(E - m)

    Convention:
        Measured away from zero; just below a power of two it is half as much.

    Args:
        value: the value.
        format: the format.

    Raises:
        ValueError: *format* is unknown, or *value* is beyond its largest number.

    Source:
        IEEE 754-2019, section 3.3.
    """
    known = NumberFormat.named(format)
    size = abs(signed("value", value))
    if size > largest_finite(format):
        form = noted("{name} must be at most {most}, the largest of {format}, not {value}")
        raise value_error(form, name="value", most=f"{largest_finite(format):g}", format=format, value=value)
    exponent = max(math.frexp(size)[1] - 1, known.least_exponent) if size else known.least_exponent
    return math.ldexp(1.0, exponent - known.mantissa_bits)


def round_to(value: Ratio, format: Format) -> Ratio:
    """Number of a format that is nearest to a value.

    X is the spacing of the format near the value. A value half-way between two numbers is rounded
    to the one whose last bit is zero. Below the smallest normal number the spacing is constant.

        R = X * round(value / X)

    Convention:
        Ties to even. A value that is too large becomes the largest number in the 8-bit and 4-bit
        formats, as in the OCP's saturating conversion; in the others it would be infinite and is
        an error.

    Args:
        value: number to be stored.
        format: format to store it in.

    Raises:
        ValueError: *format* is unknown, or *value* would overflow to infinity.

    Source:
        IEEE 754-2019, section 4.3.1; OCP OFP8 specification 1.0, section 5.2.1.
    """
    known = NumberFormat.named(format)
    exponent = max(math.frexp(value)[1] - 1, known.least_exponent) if signed("value", value) else 0
    unit = exponent - known.mantissa_bits
    rounded = math.ldexp(round(math.ldexp(value, -unit)), unit)
    top = (2 - (2 if known.reserved == "code" else 1) * 2.0**-known.mantissa_bits) * (2.0**known.largest_exponent)
    if abs(rounded) <= top:
        return rounded
    if known.saturates:
        return math.copysign(top, rounded)
    form = noted("{name} must be at most {most}, the largest of {format}, not {value}: it would become infinite")
    raise value_error(form, name="value", most=f"{top:g}", format=format, value=value)


def update_survives(weight: Ratio, update: Ratio, format: Format) -> bool:
    """Whether adding an update changes a weight that is stored in a format.

    The sum is rounded to the format; an update of less than half of the spacing near the weight
    is rounded away. R is the stored weight, S the rounded sum of R and the update.

        D = S - R

    Convention:
        The update survives if D is not zero. The sum is exact before it is rounded; the spacing
        near the weight matters, not whether the format can represent the update.

    Args:
        weight: weight that is updated.
        update: change of the weight, of either sign.
        format: format in which the weight is stored.

    Raises:
        ValueError: an argument is outside its domain, or a number would overflow to infinity.

    Source:
        Micikevicius et al., Mixed Precision Training, arXiv:1710.03740, section 3.1.
    """
    known = NumberFormat.named(format)
    stored = _within(known, "weight", signed("weight", weight))
    changed = _within(known, "update", stored + signed("update", update))
    return changed != stored


def _within(known: NumberFormat, name: str, value: float) -> float:
    try:
        return round_to(value, known.name)
    except ValueError as error:
        raise value_error("{name}: {problem}", name=name, problem=error) from None


def mixed_precision_bytes(parameters: Count, gradient_bytes: Bytes = 2) -> Bytes:
    """Bytes of training state with 16-bit weights and Adam in 32 bits.

    A 16-bit weight for the computation; a 32-bit copy to update, since small updates are lost in
    16 bits; two 32-bit moments; and the gradient.

        M = (2 B + 4 B + 4 B + 4 B + gradient_bytes) * parameters

    Convention:
        16 bytes per parameter with 16-bit gradients, 18 if they are accumulated in 32 bits. With
        gradient_bytes 0, the 14 bytes of a checkpoint.

    Args:
        parameters: parameters of the model.
        gradient_bytes: bytes of a parameter's gradient.

    Source:
        Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1; Micikevicius et al., arXiv:1710.03740, section 3.1.
    """
    each = 14 + at_least("gradient_bytes", gradient_bytes, 0)
    return each * whole("parameters", parameters)


def full_precision_bytes(parameters: Count, gradient_bytes: Bytes = 4) -> Bytes:
    """Bytes of training state with everything in 32 bits.

    A weight, two moments and the gradient; no master copy is needed.

        M = (4 B + 4 B + 4 B + gradient_bytes) * parameters

    Convention:
        16 bytes per parameter, the same as with mixed precision, which saves activations and time,
        not state. Without gradients it is 12 bytes, and 14 with mixed precision.

    Args:
        parameters: parameters of the model.
        gradient_bytes: bytes of a parameter's gradient.

    Source:
        Kingma and Ba, Adam, arXiv:1412.6980 (two moments).
    """
    each = 12 + at_least("gradient_bytes", gradient_bytes, 0)
    return each * whole("parameters", parameters)


def activation_saving(elements: Count, element_bytes: Bytes = 2, smaller_bytes: Bytes = 1) -> Bytes:
    """Bytes saved by storing activations in a smaller format.

        M = elements * (element_bytes - smaller_bytes)

    Convention:
        Elements, not bytes: 2 b s d elements are 2 b s d bytes only in a one-byte format. The
        scales that some recipes add per block are not included.

    Args:
        elements: number of stored elements.
        element_bytes: bytes of an element.
        smaller_bytes: bytes of an element in the smaller format.

    Raises:
        ValueError: an argument is outside its domain, or *smaller_bytes* is the larger one.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 4 (stored activations).
    """
    now, then = positive("element_bytes", element_bytes), positive("smaller_bytes", smaller_bytes)
    if then > now:
        raise larger_than("smaller_bytes", then, "element_bytes", f"{now:g}")
    return whole("elements", elements) * (now - then)
