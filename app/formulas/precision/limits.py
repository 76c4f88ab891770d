"""The largest and the smallest that a format can hold, and the steps between."""

import math

from app.formulas.checks import signed
from app.formulas.precision.formats import Format, NumberFormat
from app.units import Ratio


def largest_finite(format: Format) -> Ratio:
    """Largest number that a format can hold.

    All bits of the mantissa, m of them, at the largest exponent E. IEEE formats keep the top
    exponent for infinity, L; E4M3 uses it but for the one code that is not a number, K; the
    elements of MXFP4 use every code, L again.

        L = (2 - 2^(-m)) * 2^E
        K = (2 - 2 * 2^(-m)) * 2^E

    Convention:
        fp8_e4m3 as the OCP has it, 448; the FNUZ variant of other vendors ends at 240. For mxfp4
        the element alone, without the scale that 32 of them share.

    Args:
        format: which format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.4; OCP OFP8 specification 1.0, table 2.
    """
    known = NumberFormat.named(format)
    steps = 2 if known.reserved == "code" else 1
    return (2 - steps * 2.0**-known.mantissa_bits) * 2.0**known.largest_exponent


def smallest_normal(format: Format) -> Ratio:
    """Smallest positive number that a format holds with all its bits.

    The stored exponent 1, less the bias b, and a mantissa of one.

        S = 2^(1 - b)

    Convention:
        Not the smallest number: below it there are subnormal ones, with fewer bits.

    Args:
        format: which format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.4; OCP OFP8 specification 1.0, table 2.
    """
    return 2.0 ** NumberFormat.named(format).least_exponent


def smallest_subnormal(format: Format) -> Ratio:
    """Smallest positive number that a format can hold at all.

    The last of m bits of the mantissa at the exponent of the smallest normal number.

        S = 2^(1 - b - m)

    Convention:
        Half of it, and less, rounds to zero; hardware that flushes subnormals to zero holds none.

    Args:
        format: which format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.4; OCP OFP8 specification 1.0, table 2.
    """
    known = NumberFormat.named(format)
    return 2.0 ** (known.least_exponent - known.mantissa_bits)


def epsilon(format: Format) -> Ratio:
    """Distance from 1 to the next larger number of a format.

    One in the last of m bits.

        X = 2^(-m)

    Convention:
        The spacing, as finfo.eps has it; rounding is off by at most half of it. It is relative to
        the number: 0.0078 in BF16 says nothing against 1e-6.

    Args:
        format: which format.

    Raises:
        ValueError: *format* is unknown.

    Source:
        IEEE 754-2019, section 3.3.
    """
    return 2.0 ** -NumberFormat.named(format).mantissa_bits


def spacing(value: Ratio, format: Format) -> Ratio:
    """Distance between the numbers of a format around a value.

    With E the exponent of the value, floor(log2(abs(value))), but never below that of the smallest
    normal number, and m bits of mantissa:

        X = 2^(E - m)

    Convention:
        From the value away from zero; just below a power of two it is half as much.

    Args:
        value: where to look.
        format: which format.

    Raises:
        ValueError: *format* is unknown, or *value* lies beyond its largest number.

    Source:
        IEEE 754-2019, section 3.3.
    """
    known = NumberFormat.named(format)
    size = abs(signed("value", value))
    if size > largest_finite(format):
        raise ValueError(
            f"value must be at most {largest_finite(format):g}, the largest of {format},"
            f" not {value!r}"
        )
    return math.ldexp(1.0, _exponent(size, known) - known.mantissa_bits)


def _exponent(size: float, known: NumberFormat) -> int:
    return max(math.frexp(size)[1] - 1, known.least_exponent) if size else known.least_exponent
