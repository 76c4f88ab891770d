"""From text to a quantity: generous in form, exact in value."""

import re
from dataclasses import dataclass
from fractions import Fraction

from app.units.scales import PLAIN, SCALES, Scale, close_symbols
from app.units.unit import FLOP, FLOP_PER_SECOND, RATIO, Unit

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SIGNS = str.maketrans({"−": "-", "–": "-", "⁄": "/", "∕": "/", "÷": "/", "\u202f": " "})
_FIGURES = r"(?:\d+(?:\.\d*)?|\.\d+)"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)(?P<mantissa>{_FIGURES})"
    rf"(?:[eE](?P<e>[-+]?\d+)|\s*[x×*·]\s*10\s*\^\s*\(?(?P<ten>[-+]?\d+)\)?"
    rf"|\s*\^\s*\(?(?P<power>[-+]?\d+)\)?)?"
    rf"(?:\s*/\s*(?P<under>{_FIGURES}))?"
)
_RAISED = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_GROUPED = re.compile(r"(?<=\d)[_'’\u00a0\u2009 ](?=\d{3}(?!\d))|(?<=\d)_(?=\d)")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_POINTS_FOR_THOUSANDS = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3})+(?=,\d)|(?:\.\d{3}){2,})(?![\d.])"
)
_DOLLARS_FIRST = re.compile(r"^([-+]?)\s*\$\s*([\d.,]+(?:[eE][-+]?\d+)?)\s*(.*)$")
_PER_SECOND = re.compile(r"\s*(?:/|\bper\b)\s*(?:s|secs?|seconds?)$")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """A number as somebody typed it.

    *step* is the worth of one unit in its last written place (0 where it was written exactly,
    as 1/16); *other* is the second reading of a text such as "1,750", which may mean 1.750;
    *scale* is the unit that was written, None where there was none or more than one; *worked_out*
    says that the text was arithmetic, whose result the learner has not seen.
    """

    value: float
    step: float = 0.0
    other: float | None = None
    scale: Scale | None = None
    worked_out: bool = False


def read(text: str, wanted: Unit, shown: Scale | None = None) -> Reading:
    """Read *text* as a quantity of *wanted*; a bare number is in the unit *shown*.

    >>> from app.units import SECOND, scale_of
    >>> read("0,07 s", SECOND).value
    0.07
    >>> read("70", SECOND, scale_of("ms")).value
    0.07

    Raises:
        ValueError: *text* is no number with a unit, or its unit counts something else.
    """
    typed = _tidy(text, wanted)
    match = _NUMBER.match(typed)
    if match is None:
        raise ValueError(
            f"cannot read {text.strip()!r}: write a number, as in {_example(wanted, shown)}"
        )
    symbol = typed[match.end() :].strip()
    scale = _written_scale(text, symbol, wanted, shown)
    number, step = _number(match)
    factor = Fraction(str(scale.factor))  # as written: 5 us is 5e-6, to the last bit
    try:
        value, precision = float(number * factor), float(step * factor)
    except OverflowError:
        raise ValueError(f"cannot read {text.strip()!r}: that number is too large") from None
    return Reading(value, precision, _other(text, wanted, shown), scale if symbol else None)


def parse(text: str, wanted: Unit) -> float:
    """Read *text* as a quantity of *wanted*, whose unit must be written unless it has none.

    >>> from app.units import BYTE_PER_SECOND
    >>> parse("400 Gbit/s", BYTE_PER_SECOND)
    50000000000.0

    Raises:
        ValueError: *text* is no number with a unit, or its unit counts something else.
    """
    return read(text, wanted).value


def parse_or_base(text: str, wanted: Unit) -> float:
    """Read *text* as a number of *wanted*; a bare number is that already.

    >>> from app.units import SECOND
    >>> parse_or_base("0.07", SECOND) == parse_or_base("70 ms", SECOND)
    True

    Raises:
        ValueError: *text* is no number, or its unit counts something else.
    """
    value = read(text, wanted, Scale(wanted.symbol, wanted, wanted.size)).value
    return value if wanted.size == 1 else float(f"{value / wanted.size:.15g}")


def _tidy(text: str, wanted: Unit) -> str:
    if len(text) > _LONGEST:
        raise ValueError(f"cannot read an answer of {len(text)} characters: one number is wanted")
    typed = joined(plain_signs(text.strip()))
    if wanted.symbol.startswith("$"):
        typed = _DOLLARS_FIRST.sub(r"\1\2 $\3", typed)
    typed = _POINTS_FOR_THOUSANDS.sub(lambda m: m[0].replace(".", ""), typed)
    typed = without_commas(typed)
    return re.sub(r"^([-+]?\s*[~≈=]?\s*\d*),(?=\d)", r"\1.", typed).lstrip("~≈= ")


def plain_signs(text: str) -> str:
    """*text* with the signs of a keyboard: superscripts as ^2, every kind of minus as -."""
    typed = _RAISED.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
    return typed.translate(_SIGNS).replace("**", "^")


def joined(text: str) -> str:
    """*text* without the spaces, apostrophes and underscores that group figures."""
    return _GROUPED.sub("", text)


def without_commas(text: str) -> str:
    """*text* without the commas that group figures; that of 0,750 is a decimal one."""
    return _THOUSANDS.sub(lambda m: m[0] if m[0].startswith("0") else m[0].replace(",", ""), text)


def _number(match: re.Match[str]) -> tuple[Fraction, Fraction]:
    """The number, and what one unit in its last written place is worth."""
    mantissa = match["mantissa"]
    exponent = int(match["e"] or match["ten"] or 0)
    if abs(exponent) > _LONGEST * 4:
        raise ValueError(f"cannot read {match[0]!r}: that exponent is too large")
    exact = bool(match["power"] or match["under"])
    number = Fraction(f"{mantissa}e{exponent}")
    if match["power"]:
        number = _power(float(number), int(match["power"]), match[0])
    if match["under"]:
        if not (under := Fraction(match["under"])):
            raise ValueError(f"cannot read {match[0]!r}: it divides by zero")
        number /= under
    decimals = len(mantissa.partition(".")[2])
    step = Fraction(0) if exact else Fraction(10) ** (exponent - decimals)
    return (-number if match["sign"] == "-" else number), step


def _power(base: float, exponent: int, text: str) -> Fraction:
    try:
        return Fraction(base**exponent)
    except (OverflowError, ZeroDivisionError):
        raise ValueError(f"cannot read {text!r}: that number is too large") from None


def _written_scale(text: str, symbol: str, wanted: Unit, shown: Scale | None) -> Scale:
    if not symbol:
        if shown is not None:
            return shown
        if wanted.dimension != RATIO.dimension:
            raise ValueError(f"cannot read {text.strip()!r}: a plain number given, {wanted} wanted")
        return PLAIN
    tidied = _PER_SECOND.sub("/s", symbol.rstrip("."))
    scale = SCALES.get(tidied) or SCALES.get(tidied.replace(" ", ""))
    if scale is None and symbol[0] in "0123456789.,":
        raise ValueError(f"cannot read {text.strip()!r}: where does its number end?")
    if scale is None:
        raise ValueError(
            f"cannot read {text.strip()!r}: {symbol!r} is not a unit here, {wanted} wanted"
            f"{close_symbols(symbol)}"
        )
    if wanted is FLOP_PER_SECOND and scale.unit is FLOP and not symbol.endswith("FLOP"):
        return Scale(symbol, wanted, scale.factor)  # TFLOPs and TFLOPS are one word to most
    if scale.unit.dimension != wanted.dimension:
        raise ValueError(f"cannot read {text.strip()!r}: {scale.unit} given, {wanted} wanted")
    return scale


def _other(text: str, wanted: Unit, shown: Scale | None) -> float | None:
    """What *text* says where its only comma is a decimal one: 1,750 may be 1.75."""
    grouped = _THOUSANDS.findall(text)
    if len(grouped) != 1 or text.count(",") != 1 or "." in text or grouped[0].startswith("0"):
        return None
    return read(text.replace(",", "."), wanted, shown).value


def _example(wanted: Unit, shown: Scale | None) -> str:
    return f"12.5 {shown.symbol if shown else wanted.symbol}".strip()
