"""The nearest number of a format, and whether a small update changes anything."""

import math

from app.formulas.checks import signed
from app.formulas.precision.formats import Format, NumberFormat
from app.units import Ratio


def round_to(value: Ratio, format: Format) -> Ratio:
    """The number of a format that is nearest to a value.

    Numbers of the format around the value are X apart, its spacing there; a value half-way between
    two goes to the one whose last bit is zero. Below the smallest normal number the spacing stays.

        R = X * round(value / X)

    Convention:
        Ties to even. What is too large becomes the largest number in the formats of 8 and 4 bits,
        as the OCP's saturating conversion has it; in the others it would be infinite and is
        refused.

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
    top = (2 - (2 if known.reserved == "code" else 1) * 2.0**-known.mantissa_bits) * (
        2.0**known.largest_exponent
    )
    if abs(rounded) <= top:
        return rounded
    if known.saturates:
        return math.copysign(top, rounded)
    raise ValueError(
        f"value must be at most {top:g}, the largest of {format}, not {value!r}: it would become"
        " infinite"
    )


def update_survives(weight: Ratio, update: Ratio, format: Format) -> bool:
    """Whether adding an update to a weight changes the weight, when it is kept in a format.

    The sum is rounded back to the format; an update of less than half of the spacing around the
    weight is rounded away. With R the weight as stored, and S the sum of R and the update, rounded:

        D = S - R

    Convention:
        The update survives where D is not zero. The sum itself is exact before it is rounded; what
        counts is the spacing around the weight, not whether the format can hold the update.

    Args:
        weight: weight that is updated.
        update: what is added to it, of either sign.
        format: format in which the weight is kept.

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
        raise ValueError(
            str(error).replace("value must", f"{name} must leave the weight", 1)
        ) from None


def _nearest(value: float, known: NumberFormat) -> float:
    exponent = max(math.frexp(value)[1] - 1, known.least_exponent) if value else 0
    unit = exponent - known.mantissa_bits
    return math.ldexp(round(math.ldexp(value, -unit)), unit)
