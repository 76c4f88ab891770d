"""Units and dimensions, and the annotations that name them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from app.translation import noted

Exponent = int | Fraction  # nearly all are whole, and Python adds ints far faster
# Exponents of byte, second, FLOP, joule and dollar.
Dimension = tuple[Exponent, Exponent, Exponent, Exponent, Exponent]


def _dimension(
    byte: int = 0, second: int = 0, flop: int = 0, joule: int = 0, dollar: int = 0
) -> Dimension:
    return byte, second, flop, joule, dollar


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
    JOULE, WATT, DOLLAR, DOLLAR_PER_SECOND, DOLLAR_PER_JOULE,
)  # fmt: skip


def unit_of(dimension: Dimension) -> Unit | None:
    """The base unit of *dimension*, if it has a name."""
    if dimension == RATIO.dimension:
        return RATIO
    return next((unit for unit in _UNITS if unit.dimension == dimension), None)


# In the usual order of writing; the numbers are positions in a dimension.
_BASES = (("FLOP", 2), ("B", 0), ("J", 3), ("$", 4), ("s", 1))


def spelled(dimension: Dimension) -> str:
    """*dimension* written in base units, also if it has no name.

    >>> spelled(BYTE_PER_SECOND.dimension), spelled(_dimension(byte=2, second=-1, flop=-1))
    ('B/s', 'B^2/(FLOP s)')
    """
    above, below = (
        [_power_of(base, sign * dimension[at]) for base, at in _BASES if sign * dimension[at] > 0]
        for sign in (1, -1)
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
