"""Rounding to a format, and whether a small update survives it."""

import math

from app.core.formulas.checks import signed
from app.core.formulas.precision.formats import Format, NumberFormat
from app.core.translation import noted, say
from app.core.units import Ratio


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
    rounded = _nearest(signed("value", value), known)
    top = (2 - (2 if known.reserved == "code" else 1) * 2.0**-known.mantissa_bits) * (2.0**known.largest_exponent)
    if abs(rounded) <= top:
        return rounded
    if known.saturates:
        return math.copysign(top, rounded)
    form = noted("{name} must be at most {most}, the largest of {format}, not {value}: it would become infinite")
    raise ValueError(say(form, name="value", most=f"{top:g}", format=format, value=value))


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
        raise ValueError(say("{name}: {problem}", name=name, problem=error)) from None


def _nearest(value: float, known: NumberFormat) -> float:
    exponent = max(math.frexp(value)[1] - 1, known.least_exponent) if value else 0
    unit = exponent - known.mantissa_bits
    return math.ldexp(round(math.ldexp(value, -unit)), unit)
