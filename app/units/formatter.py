"""Quantities to text."""

import math

from app.translation import say
from app.translation.unit_words import FORMS
from app.units.scales import DAY, DECIMAL, HOUR, SMALL, Scale, scale_of
from app.units.unit import (
    BYTE,
    DOLLAR,
    DOLLAR_PER_JOULE,
    DOLLAR_PER_SECOND,
    JOULE,
    PER_SECOND,
    SECOND,
    WATT,
    Unit,
)

_TIMES = ((DAY, 2 * DAY, "days"), (HOUR, 2 * HOUR, "h"), (60.0, 120.0, "min"))

_SPELLINGS = {"us": "µs", "μs": "µs", "uJ": "µJ", "uW": "µW", "1/s": "/s"}
_SIZES = tuple(scale_of(symbol) for symbol in ("GiB", "MiB", "KiB"))
_MEASURED = 4  # digits of a size that is not a number of KiB
_NEARLY = 0.9  # of a unit; anything less never rounds to 1


def show(value: float, unit: Unit, digits: int = 4) -> str:
    """Write *value* with the prefix that leaves 1 to 999 before the point.

    >>> show(0.0393, SECOND)
    '39.3 ms'
    >>> from app.units import COUNT
    >>> show(16384, COUNT)
    '16,384'
    """
    if not unit.symbol:
        return figures(value, digits)
    if unit.size != 1:
        return _with_unit(figures(value, digits), unit.symbol)
    size = abs(value)
    for symbol, factor in _candidates(value, unit):
        if size < _NEARLY * factor:
            continue
        if size >= factor or abs(float(f"{value / factor:.{digits}g}")) >= 1:
            return _with_unit(_written(value / factor, unit, digits), symbol)
    return _with_unit(figures(value, digits), unit.symbol)


def show_size(value: float, digits: int = 6) -> str:
    """Write *value*, in bytes, as programs do: in KiB, MiB or GiB, unless it is round in MB.

    >>> show_size(2048), show_size(1_500_000), show_size(134_217_999)
    ('2 KiB', '1.5 MB', '128 MiB')
    """
    scale = next((one for one in _SIZES if abs(value) >= one.factor), None)
    whole = value % _SIZES[-1].factor == 0
    if scale is None or (not whole and value == float(f"{value:.{digits}g}")):
        return show(value, BYTE)
    return show_in(value, scale, digits if whole else _MEASURED)


def show_in(value: float, scale: Scale, digits: int = 4) -> str:
    """Write *value* in the unit *scale*.

    >>> from app.units import scale_of
    >>> show_in(0.07, scale_of("ms"))
    '70 ms'
    """
    return _with_unit(_written(value / scale.factor, scale.unit, digits), scale.symbol)


def _with_unit(number: str, symbol: str) -> str:
    """*number* with the preferred spelling of *symbol*; a sentence if that is a word."""
    if form := FORMS.get(symbol):
        return say(form, number=number)
    return f"{number} {_SPELLINGS.get(symbol, symbol)}".strip()


def _written(number: float, unit: Unit, digits: int) -> str:
    """*number* in *unit*; large sums of money are written in full, not as powers of ten."""
    if unit is DOLLAR and _WRITTEN_OUT[1] <= abs(number) < _WHOLE_IN_FULL:
        return _in_full(float(f"{number:.{digits}g}"), digits)
    return figures(number, digits)


# Numbers between these are written out, others as 1.23e-4.
_WRITTEN_OUT = (1e-3, 1e6)
_WHOLE_IN_FULL = 1e12
_SHORT = 999.0  # below it, no comma is needed, whatever it is rounded to


def figures(number: float, digits: int = 4) -> str:
    """Write *number* to *digits* significant digits, whole numbers in full.

    >>> figures(0.00012345), figures(7730.0), figures(3.79e25)
    ('1.234e-4', '7,730', '3.79e25')
    """
    if _WRITTEN_OUT[0] <= number < _SHORT and number != int(number):
        text = f"{number:.{digits}g}"
        if "e" not in text:
            return text
    if math.isinf(number):  # a finite number may overflow in a smaller unit
        return "∞" if number > 0 else "-∞"
    if abs(number) < _WHOLE_IN_FULL and number == int(number):
        return f"{int(number):,}"
    rounded = float(f"{number:.{digits}g}")
    if _WRITTEN_OUT[0] <= abs(rounded) < _WRITTEN_OUT[1]:
        return _in_full(rounded, digits)
    mantissa, _, exponent = f"{number:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


def inward(low: float, high: float, digits: int) -> tuple[float, float]:
    """The ends of a range to *digits* significant digits, rounded into the range.

    >>> inward(35.1364, 35.1436, 4), inward(35.1364, 35.1436, 5)
    ((35.14, 35.14), (35.137, 35.143))
    """
    least, most = (float(f"{end:.{digits}g}") for end in (low, high))
    if least < low:
        least = float(f"{least + _last_place(low, digits):.{digits}g}")
    if most > high:
        most = float(f"{most - _last_place(high, digits):.{digits}g}")
    return least, most


def _last_place(number: float, digits: int) -> float:
    return 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)


def _in_full(rounded: float, digits: int) -> str:
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_DOLLARS = (DOLLAR, DOLLAR_PER_SECOND, DOLLAR_PER_JOULE)
_SECONDS = [(prefix + "s", SMALL.get(prefix, 1.0)) for prefix in ("", "m", "µ", "n")]
_LARGEST = 1000.0  # of the largest prefix; beyond that, a power of ten reads better


def _candidates(value: float, unit: Unit) -> list[tuple[str, float]]:
    """Symbols for *value*, largest first, each with its factor."""
    if unit is SECOND:
        if abs(value) < _TIMES[-1][1]:
            return _SECONDS
        spans = [(symbol, factor) for factor, least, symbol in _TIMES if abs(value) >= least]
        return [*spans, *_SECONDS]
    if unit in _DOLLARS or unit is PER_SECOND or abs(value) >= _LARGEST * DECIMAL["E"]:
        return [(unit.symbol, 1.0)]
    small = [(prefix + unit.symbol, SMALL[prefix]) for prefix in ("m", "µ")]
    large = [
        (prefix + unit.symbol, DECIMAL[prefix]) for prefix in ("E", "P", "T", "G", "M", "k", "")
    ]
    return [*large, *(small if unit in (JOULE, WATT) else [])]
