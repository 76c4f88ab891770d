"""Quantities to text."""

import math
import re

from app.core.translation import Numeral, noted, say
from app.core.translation.sentence import FORMS, FORMS_OF_ONE
from app.core.units import scales
from app.core.units.scales import BYTE, DECIMAL, DOLLAR, SECOND, Scale, Unit, scale_of

_TIMES = ((scales.DAY, 2 * scales.DAY, "days"), (scales.HOUR, 2 * scales.HOUR, "h"), (60.0, 120.0, "min"))
_RATES = {scales.DOLLAR_PER_SECOND: scale_of("$/h"), scales.DOLLAR_PER_JOULE: scale_of("$/kWh")}

_SIZES = tuple(scale_of(symbol) for symbol in ("GiB", "MiB", "KiB"))
_MEASURED = 4  # digits of a size that is not a number of KiB
_NEARLY = 0.9  # of a unit; anything less never rounds to 1


def show(value: float, unit: Unit, digits: int = 4) -> str:
    """Write *value* with the prefix that leaves 1 to 999 before the point.

    >>> show(0.0393, SECOND), show(2.5 / 3600, scales.DOLLAR_PER_SECOND)
    ('39.3 ms', '$2.50/h')
    >>> from app.core.units import COUNT
    >>> show(16384, COUNT)
    '16,384'
    """
    if not unit.symbol:
        return figures(value, digits)
    if unit.size != 1:
        return show_in(value * unit.size, Scale(unit.symbol, unit, unit.size), digits)
    if scale := _RATES.get(unit):
        return show_in(value, scale, digits)
    if unit is DOLLAR:
        return _money(value, digits)
    size = abs(value)
    for symbol, factor in _candidates(value, unit):
        if size < _NEARLY * factor:
            continue
        if size >= factor or abs(float(f"{value / factor:.{digits}g}")) >= 1:
            return _with_unit(figures(value / factor, digits), symbol)
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
    """Write *value* in the unit *scale*; large sums of money in words.

    >>> show_in(0.07, scale_of("ms")), show_in(61_660_000, scale_of("$"))
    ('70 ms', '$61.66 million')
    >>> show_in(1.6e12, scale_of("billion"))
    '1.6 trillion'
    """
    if scale.unit is DOLLAR:
        return _money(value, digits)
    if scale.symbol.startswith(("$", "USD")):
        per = scale.symbol.partition("/")[2]
        return Numeral(f"{_dollars(value / scale.factor, digits)[:]}/{per}")
    for word, size in reversed(scales.LARGE.items()):
        if scale.symbol in scales.LARGE and abs(value) >= size > scale.factor:
            return _with_unit(figures(value / size, digits), word)
    return _with_unit(figures(value / scale.factor, digits), scale.symbol)


_TYPED = re.compile(r"\A(\d++)((?:\.\d++)?) ?(\D.*)")


def show_typed(text: str) -> str:
    """A quantity as an author typed it, with its digits, as a person writes it.

    >>> show_typed("8000 GB/s"), show_typed("5 us"), show_typed("2.5 $/h"), show_typed("Llama 3")
    ('8,000 GB/s', '5 µs', '$2.50/h', 'Llama 3')
    """
    match = _TYPED.fullmatch(text)
    scale = scales.known_scale(match[3]) if match else None
    if match is None or scale is None:
        return text
    whole, decimals, symbol = match.groups()
    if symbol.startswith("$"):
        return show_in(float(whole + decimals) * scale.factor, scale, _ALL)
    return _with_unit(Numeral(f"{int(whole):,}{decimals}"), symbol)


def _with_unit(number: str, symbol: str) -> str:
    """*number* with the preferred spelling of *symbol*; a sentence if that is a word."""
    if form := (FORMS_OF_ONE if number == "1" else FORMS).get(symbol):
        return say(form, number=number)
    unit = "/s" if symbol == "1/s" else scales.spelling(symbol)
    return Numeral(f"{number[:]} {scales.singular(unit) if number == '1' else unit}".strip())


_IN_WORDS = ((noted("${number} trillion"), 1e12), (noted("${number} billion"), 1e9), (noted("${number} million"), 1e6))
_BEYOND_WORDS = 1e15
_ALL = 15  # digits of a double that can be trusted
_CENTS = (0.1, 1000.0)  # sums between these are written to the cent


def _money(value: float, digits: int) -> str:
    """A sum of *value* dollars: $2.50, $1,234, $61.66 million."""
    rounded = float(f"{value:.{digits}g}")
    for form, size in _IN_WORDS:
        if size <= abs(rounded) < _BEYOND_WORDS and math.isfinite(value):
            return (
                say(form, number=figures(value / size, digits))
                if value > 0
                else Numeral(f"-{_money(-value, digits)[:]}")
            )
    return _dollars(value, digits)


def _dollars(number: float, digits: int) -> str:
    """*number* after its sign: cents have two figures."""
    if number < 0:
        return Numeral(f"-{_dollars(-number, digits)[:]}")
    if _CENTS[0] <= number < _CENTS[1]:
        digits = max(digits, math.floor(math.log10(number)) + 3)
    text = figures(number, digits)[:]  # a numeral in a longer text is in the current language
    whole, point, cents = text.partition(".")
    return Numeral(f"${whole}{point}{cents}{'0' * (len(cents) == 1 and 'e' not in text)}")


# Numbers between these are written out, others as 1.23e-4.
_WRITTEN_OUT = (1e-3, 1e12)
_WHOLE_IN_FULL = 1e6  # to four figures, a number below it is rounded to a whole one at most
_FOUR = 4
_SHORT = 999.0  # below it, no comma is needed, whatever it is rounded to


def figures(number: float, digits: int = _FOUR) -> Numeral:
    """Write *number* to *digits* significant digits, whole numbers in full.

    What was cut to 33,330 would look like another whole number, so four digits or more never cut a
    number below a million before its point.

    >>> figures(0.00012345), figures(7730.0), figures(3.79e25)
    ('1.234e-4', '7,730', '3.79e25')
    >>> figures(33333.3), figures(33333.3, 3)
    ('33,333', '33,300')
    """
    return Numeral(_written(number, digits))


def _written(number: float, digits: int) -> str:
    if _WRITTEN_OUT[0] <= number < _SHORT and number != int(number):
        text = f"{number:.{digits}g}"
        if "e" not in text:
            return text
    if math.isinf(number):  # a finite number may overflow in a smaller unit
        return "∞" if number > 0 else "-∞"
    if abs(number) < _WRITTEN_OUT[1] and number == int(number):
        return f"{int(number):,}"
    if digits >= _FOUR and 10.0**digits <= abs(number) < _WHOLE_IN_FULL:
        return f"{number:,.0f}"
    rounded = float(f"{number:.{digits}g}")
    if _WRITTEN_OUT[0] <= abs(rounded) < _WRITTEN_OUT[1]:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
        full = f"{rounded:,.{decimals}f}"
        return full.rstrip("0").rstrip(".") if "." in full else full
    mantissa, _, exponent = f"{number:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


def round_inward(low: float, high: float, digits: int) -> tuple[float, float]:
    """The ends of a range to *digits* significant digits, rounded into the range.

    >>> round_inward(35.1364, 35.1436, 4), round_inward(35.1364, 35.1436, 5)
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


_SECONDS = [(prefix + "s", scales.SMALL.get(prefix, 1.0)) for prefix in ("", "m", "µ", "n")]
_LARGEST = 1000.0  # of the largest prefix; beyond that, a power of ten reads better


def _candidates(value: float, unit: Unit) -> list[tuple[str, float]]:
    """Symbols for *value*, largest first, each with its factor."""
    if unit is SECOND:
        if abs(value) < _TIMES[-1][1]:
            return _SECONDS
        spans = [(symbol, factor) for factor, least, symbol in _TIMES if abs(value) >= least]
        return [*spans, *_SECONDS]
    if unit is scales.PER_SECOND or scales.is_physical(unit.dimension) or abs(value) >= _LARGEST * DECIMAL["E"]:
        return [(unit.symbol, 1.0)]
    small = [(prefix + unit.symbol, scales.SMALL[prefix]) for prefix in ("m", "µ")]
    large = [(prefix + unit.symbol, DECIMAL[prefix]) for prefix in ("E", "P", "T", "G", "M", "k", "")]
    return [*large, *(small if unit in (scales.JOULE, scales.WATT) else [])]
