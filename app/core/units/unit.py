"""Units and dimensions, and the annotations that name them."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from app.core.translation import noted

Exponent = int | Fraction  # nearly all are whole, and Python adds ints far faster
# Exponents of byte, second, FLOP, joule, dollar, meter, kelvin, mole and ampere. As energy has one
# of its own, a kilogram is a J s^2/m^2.
Dimension = tuple[Exponent, ...]
_METER, _PHYSICAL = 5, slice(5, 9)


def _dimension(
    *,
    byte: int = 0,
    second: int = 0,
    flop: int = 0,
    joule: int = 0,
    dollar: int = 0,
    meter: int = 0,
    kelvin: int = 0,
    mole: int = 0,
    ampere: int = 0,
) -> Dimension:
    return byte, second, flop, joule, dollar, meter, kelvin, mole, ampere


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a plain number: the base unit of its dimension, or *size* of them.

    The size is 1, unless the argument of a formula names another unit, as dollars_per_kwh does.
    """

    symbol: str
    dimension: Dimension
    whole: bool = False
    size: float = 1.0

    def __str__(self) -> str:
        return self.symbol or (_WHOLE if self.whole else _NUMBER)


_WHOLE, _NUMBER = noted("a whole number"), noted("a plain number")

RATIO = Unit("", _dimension())
COUNT = Unit("", _dimension(), whole=True)
BYTE = Unit("B", _dimension(byte=1))
SECOND = Unit("s", _dimension(second=1))
BYTE_PER_SECOND = Unit("B/s", _dimension(byte=1, second=-1))
FLOP = Unit("FLOP", _dimension(flop=1))
FLOP_PER_SECOND = Unit("FLOP/s", _dimension(flop=1, second=-1))
FLOP_PER_BYTE = Unit("FLOP/B", _dimension(flop=1, byte=-1))
PER_SECOND = Unit("1/s", _dimension(second=-1))
JOULE = Unit("J", _dimension(joule=1))
WATT = Unit("W", _dimension(joule=1, second=-1))
DOLLAR = Unit("$", _dimension(dollar=1))
DOLLAR_PER_SECOND = Unit("$/s", _dimension(dollar=1, second=-1))
DOLLAR_PER_HOUR = Unit("$/h", _dimension(dollar=1, second=-1), size=1 / 3600)
DOLLAR_PER_KWH = Unit("$/kWh", _dimension(dollar=1, joule=-1), size=1 / 3.6e6)
DOLLAR_PER_JOULE = Unit("$/J", _dimension(dollar=1, joule=-1))
METER = Unit("m", _dimension(meter=1))
CUBIC_METER = Unit("m³", _dimension(meter=3))
KILOGRAM = Unit("kg", _dimension(joule=1, second=2, meter=-2))
KELVIN = Unit("K", _dimension(kelvin=1))
MOLE = Unit("mol", _dimension(mole=1))
AMPERE = Unit("A", _dimension(ampere=1))
COULOMB = Unit("C", _dimension(ampere=1, second=1))
NEWTON = Unit("N", _dimension(joule=1, meter=-1))
PASCAL = Unit("Pa", _dimension(joule=1, meter=-3))
VOLT = Unit("V", _dimension(joule=1, second=-1, ampere=-1))
OHM = Unit("Ω", _dimension(joule=1, second=-1, ampere=-2))

Ratio = Annotated[float, RATIO]
Count = Annotated[int, COUNT]
Bytes = Annotated[float, BYTE]
Seconds = Annotated[float, SECOND]
BytesPerSecond = Annotated[float, BYTE_PER_SECOND]
Flops = Annotated[float, FLOP]
FlopsPerSecond = Annotated[float, FLOP_PER_SECOND]
FlopsPerByte = Annotated[float, FLOP_PER_BYTE]
PerSecond = Annotated[float, PER_SECOND]
Joules = Annotated[float, JOULE]
Watts = Annotated[float, WATT]
Dollars = Annotated[float, DOLLAR]
DollarsPerSecond = Annotated[float, DOLLAR_PER_SECOND]
DollarsPerHour = Annotated[float, DOLLAR_PER_HOUR]
DollarsPerKwh = Annotated[float, DOLLAR_PER_KWH]
DollarsPerJoule = Annotated[float, DOLLAR_PER_JOULE]

_UNITS = (
    BYTE, SECOND, BYTE_PER_SECOND, FLOP, FLOP_PER_SECOND, FLOP_PER_BYTE, PER_SECOND,
    JOULE, WATT, DOLLAR, DOLLAR_PER_SECOND, DOLLAR_PER_JOULE, METER, CUBIC_METER, KILOGRAM,
    KELVIN, MOLE, AMPERE, COULOMB, NEWTON, PASCAL, VOLT, OHM,
)  # fmt: skip


def unit_of(dimension: Dimension) -> Unit | None:
    """The base unit of *dimension*, if it has a name."""
    if dimension == RATIO.dimension:
        return RATIO
    return next((unit for unit in _UNITS if unit.dimension == dimension), None)


def is_physical(dimension: Dimension) -> bool:
    """Whether *dimension* has lengths, temperatures, amounts, currents, or what is made of them.

    >>> is_physical(KILOGRAM.dimension), is_physical(WATT.dimension)
    (True, False)
    """
    return any(dimension[_PHYSICAL])


_RAISED = str.maketrans("-123456789", "⁻¹²³⁴⁵⁶⁷⁸⁹")
# In the usual order of writing; the numbers are positions in a dimension.
_BASES = (
    ("FLOP", 2), ("B", 0), ("J", 3), ("$", 4), ("m", 5), ("mol", 7), ("A", 8), ("K", 6), ("s", 1),
)  # fmt: skip
_WITH_MASS = tuple(("kg" if base == "J" else base, at) for base, at in _BASES)


def spelled(dimension: Dimension) -> str:
    """*dimension* written in base units, also if it has no name.

    >>> spelled(BYTE_PER_SECOND.dimension), spelled(_dimension(byte=2, second=-1, flop=-1))
    ('B/s', 'B^2/(FLOP s)')
    >>> spelled(_dimension(joule=1, kelvin=-1)), spelled(_dimension(joule=1, second=2, meter=-5))
    ('J/K', 'kg/m³')
    """
    in_joules = _spelled_in(dimension, _BASES)
    if not is_physical(dimension):
        return in_joules
    in_kilograms = _spelled_in(_in_kilograms(dimension), _WITH_MASS)
    return with_superscripts(min(in_kilograms, in_joules, key=len))


def with_superscripts(text: str) -> str:
    """*text* with raised digits: m/s² for m/s^2."""
    return re.sub(r"\^(-?[1-9])", lambda power: power[1].translate(_RAISED), text)


def _in_kilograms(dimension: Dimension) -> Dimension:
    """The exponents of *dimension* with the kilogram in place of the joule."""
    joule, powers = dimension[JOULE.dimension.index(1)], list(dimension)
    powers[SECOND.dimension.index(1)] -= 2 * joule
    powers[_METER] += 2 * joule
    return tuple(powers)


def _spelled_in(dimension: Dimension, bases: tuple[tuple[str, int], ...]) -> str:
    above, below = (
        [_power_of(base, sign * dimension[at]) for base, at in bases if sign * dimension[at] > 0] for sign in (1, -1)
    )
    numerator = " ".join(above)
    if not below:
        return numerator
    denominator = below[0] if len(below) == 1 else f"({' '.join(below)})"
    return f"{numerator or 1}/{denominator}"


def _power_of(base: str, power: Exponent) -> str:
    if power == 1:
        return base
    return f"{base}^{power}" if power.denominator == 1 else f"{base}^({power})"
