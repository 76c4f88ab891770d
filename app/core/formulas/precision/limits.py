"""The largest and smallest numbers of a format, and its spacing."""

import math

from app.core.formulas.checks import signed
from app.core.formulas.precision.formats import Format, NumberFormat
from app.core.translation import say
from app.core.units import Ratio


def largest_finite(format: Format) -> Ratio:
    """Largest finite number of a format.

    All m bits of the mantissa set, at the largest exponent E. IEEE formats reserve the top
    exponent for infinity (L); E4M3 uses it except for one code, not-a-number (K); the elements of
    MXFP4 use every code (L).

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
        raise ValueError(
            say(
                "{name} must be at most {most}, the largest of {format}, not {value}",
                name="value",
                most=f"{largest_finite(format):g}",
                format=format,
                value=value,
            )
        )
    return math.ldexp(1.0, _exponent(size, known) - known.mantissa_bits)


def _exponent(size: float, known: NumberFormat) -> int:
    return max(math.frexp(size)[1] - 1, known.least_exponent) if size else known.least_exponent
