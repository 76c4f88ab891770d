"""From text to a quantity: generous in form, exact in value."""

import re
from dataclasses import dataclass
from fractions import Fraction

from app.core.translation import Numeral, has_decimal_comma, say
from app.core.translation.unit_words import FORMS
from app.core.units.scales import LARGE, LETTERS, PLAIN, SCALES, TYPED, Scale, close_symbols, physical_scale
from app.core.units.typed_numbers import THOUSANDS, join_digits, plain_signs, without_commas, without_points
from app.core.units.unit import FLOP, FLOP_PER_SECOND, JOULE, PER_SECOND, RATIO, WATT, Unit, is_physical

_FIGURES = r"(?:\d+(?:\.\d*)?|\.\d+)"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)(?P<mantissa>{_FIGURES})"
    rf"(?:[eE](?P<e>[-+]?\d+)|\s*[x×*·]\s*10\s*\^\s*\(?(?P<ten>[-+]?\d+)\)?"
    rf"|\s*\^\s*\(?(?P<power>[-+]?\d+)\)?)?"
    rf"(?:\s*/\s*(?P<under>{_FIGURES}))?"
)
_DOLLARS_FIRST = re.compile(r"^([-+]?)\s*(?:US)?\$\s*([\d.,]+(?:[eE][-+]?\d+)?)\s*(.*)$")
_PER = (  # how a rate may end, and how units write it
    (re.compile(r"(?:(?<!\s)\s++)?+(?:/|\bper\b)\s*+(?:s|secs?|seconds?)$"), "/s"),
    (re.compile(r"(?:(?<!\s)\s++)?+(?:/|\b(?:per|an)\b)\s*+(?:GPU[- ]?)?(?:h|hr|hours?)$"), "/h"),
    (re.compile(r"(?:(?<!\s)\s++)?+(?:/|\bper\b)\s*+kWh$"), "/kWh"),
    (re.compile(r"^(?:US\$|USD|dollars?)(?=/)"), "$"),
)
# 97.4B, as model cards write; in 97.4 B, the B may be bytes.
_MULTIPLE = re.compile(r"\A(?:(?P<letter>[kKMBGTb]|bn)|\s*+(?P<word>thousand|million|billion|trillion))(?!\w)")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """A number as typed.

    *step* is the value of one unit in the last digit (0 if the number is exact, such as 1/16);
    *other* is the second reading of a text such as "1,750", which may mean 1.750; *scale* is the
    unit that was written, None if there was none or more than one; *worked_out* says that the
    text was arithmetic, whose result the learner has not seen.
    """

    value: float
    step: float = 0.0
    other: float | None = None
    scale: Scale | None = None
    worked_out: bool = False


def read(text: str, unit: Unit, shown: Scale | None = None) -> Reading:
    """Read *text* as a quantity in *unit*; a bare number is in the unit *shown*.

    >>> from app.core.units import SECOND, scale_of
    >>> read("0,07 s", SECOND).value
    0.07
    >>> read("70", SECOND, scale_of("ms")).value
    0.07

    Raises:
        ValueError: *text* is not a number with a unit, or its unit has another dimension.
    """
    typed = _tidy(text, unit)
    match = _NUMBER.match(typed)
    if match is None:
        raise ValueError(
            say(
                "cannot read {text!r}: write a number, such as {example}",
                text=text.strip(),
                example=_example(unit, shown),
            )
        )
    symbol = typed[match.end() :]
    scale = _multiple(text, symbol, unit, shown)
    scale = scale or _written_scale(text, symbol.strip(), unit, shown)
    number, step = _number(match)
    factor = Fraction(str(scale.factor))  # as written: 5 us is 5e-6, to the last bit
    try:
        value, precision = float(number * factor), float(step * factor)
    except OverflowError:
        raise ValueError(say("cannot read {text!r}: the number is too large", text=text.strip())) from None
    return Reading(value, precision, _other(text, unit, shown), scale if symbol.strip() else None)


def parse(text: str, unit: Unit) -> float:
    """Read *text* as a quantity in *unit*; the text must name a unit, except for plain numbers.

    >>> from app.core.units import BYTE_PER_SECOND
    >>> parse("400 Gbit/s", BYTE_PER_SECOND)
    50000000000.0

    Raises:
        ValueError: *text* is not a number with a unit, or its unit has another dimension.
    """
    return read(text, unit).value


def parse_or_base(text: str, unit: Unit) -> float:
    """Read *text* as a quantity in *unit*; a bare number is in *unit* already.

    >>> from app.core.units import SECOND
    >>> parse_or_base("0.07", SECOND) == parse_or_base("70 ms", SECOND)
    True

    Raises:
        ValueError: *text* is not a number, or its unit has another dimension.
    """
    value = read(text, unit, Scale(unit.symbol, unit, unit.size)).value
    return value if unit.size == 1 else float(f"{value / unit.size:.15g}")


def _tidy(text: str, unit: Unit) -> str:
    if len(text) > _LONGEST:
        raise ValueError(say("cannot read an answer of {count} characters: enter one number", count=len(text)))
    typed = join_digits(plain_signs(text.strip()))
    if unit.symbol.startswith("$"):
        typed = _DOLLARS_FIRST.sub(r"\1\2 $\3", typed)
    typed = without_commas(without_points(typed))
    return re.sub(r"^([-+]?\s*+[~≈=]?\s*+\d*+),(?=\d)", r"\1.", typed).lstrip("~≈= ")


def _number(match: re.Match[str]) -> tuple[Fraction, Fraction]:
    """The number, and the value of one unit in its last digit."""
    mantissa = match["mantissa"]
    exponent = int(match["e"] or match["ten"] or 0)
    if abs(exponent) > _LONGEST * 4:
        raise ValueError(say("cannot read {text!r}: the exponent is too large", text=match[0]))
    exact = bool(match["power"] or match["under"])
    number = Fraction(f"{mantissa}e{exponent}")
    if match["power"]:
        number = _power(float(number), int(match["power"]), match[0])
    if match["under"]:
        if not (under := Fraction(match["under"])):
            raise ValueError(say("cannot read {text!r}: it divides by zero", text=match[0]))
        number /= under
    decimals = len(mantissa.partition(".")[2])
    step = Fraction(0) if exact else Fraction(10) ** (exponent - decimals)
    return (-number if match["sign"] == "-" else number), step


def _power(base: float, exponent: int, text: str) -> Fraction:
    try:
        return Fraction(base**exponent)
    except (OverflowError, ZeroDivisionError):
        raise ValueError(say("cannot read {text!r}: the number is too large", text=text)) from None


def _multiple(text: str, symbol: str, unit: Unit, shown: Scale | None) -> Scale | None:
    """The scale of what is counted in thousands or more, such as B, k tokens/s or million GPUs."""
    match = _MULTIPLE.match(symbol)
    is_counted = unit.dimension in (RATIO.dimension, PER_SECOND.dimension)
    if match is None or not is_counted or (shown and shown.factor < 1):
        return None
    counted = _known_scale(symbol[match.end() :].strip())
    if counted is None or counted.unit.dimension != unit.dimension or counted.factor != 1:
        return None
    if match["letter"] in ("k", "K") and unit.dimension == RATIO.dimension:
        raise ValueError(
            say("cannot read {text!r}: write the number in full, as K may be 1,000 or 1,024", text=text.strip())
        )
    times = LETTERS.get(match["letter"]) or LARGE[match["word"]]
    return Scale(symbol.strip(), unit, times)


def _known_scale(symbol: str) -> Scale | None:
    """The unit that people write as *symbol*; None if there is none."""
    for pattern, written in _PER:
        symbol = pattern.sub(written, symbol.rstrip("."))
    if not symbol:
        return PLAIN
    return SCALES.get(symbol) or SCALES.get(symbol.replace(" ", "")) or TYPED.get(symbol)


def asks_for_physics(unit: Unit, shown: Scale | None = None) -> bool:
    """Whether answers in *unit*, shown as *shown*, may be written in meters, volts and the like."""
    if is_physical(unit.dimension) or unit.dimension in (JOULE.dimension, WATT.dimension):
        return True
    symbol = shown.symbol if shown else ""
    return symbol not in SCALES and physical_scale(symbol) is not None


def _physical_scale(symbol: str, unit: Unit, shown: Scale | None) -> Scale | None:
    if not asks_for_physics(unit, shown):
        return None
    for pattern, written in _PER:
        symbol = pattern.sub(written, symbol.rstrip("."))
    return physical_scale(symbol)


def _written_scale(text: str, symbol: str, unit: Unit, shown: Scale | None) -> Scale:
    if not symbol:
        if shown is not None:
            return shown
        if unit.dimension != RATIO.dimension:
            raise ValueError(
                say("cannot read {text!r}: a plain number given, {unit} expected", text=text.strip(), unit=unit)
            )
        return PLAIN
    scale = _known_scale(symbol) or _physical_scale(symbol, unit, shown)
    if scale is None and symbol[0] in "0123456789.,":
        raise ValueError(say("cannot read {text!r}: it is not clear where the number ends", text=text.strip()))
    if scale is None:
        raise ValueError(
            say(
                "cannot read {text!r}: {symbol!r} is not a unit here, {unit} expected{offer}",
                text=text.strip(),
                symbol=symbol,
                unit=unit,
                offer=close_symbols(symbol),
            )
        )
    if unit is FLOP_PER_SECOND and scale.unit is FLOP and not symbol.endswith("FLOP"):
        return Scale(symbol, unit, scale.factor)  # most people write TFLOPs and TFLOPS for both
    if scale.unit.dimension != unit.dimension:
        raise ValueError(
            say("cannot read {text!r}: {given} given, {unit} expected", text=text.strip(), given=scale.unit, unit=unit)
        )
    return scale


def _other(text: str, unit: Unit, shown: Scale | None) -> float | None:
    """The second reading of *text*, which has one comma: 1,750 may be 1.75, or 1750."""
    grouped = THOUSANDS.findall(text)
    if len(grouped) != 1 or text.count(",") != 1 or "." in text or grouped[0].startswith("0"):
        return None
    return read(text.replace(",", "" if has_decimal_comma() else "."), unit, shown).value


def _example(unit: Unit, shown: Scale | None) -> str:
    symbol = shown.symbol if shown else unit.symbol
    if symbol in FORMS:
        return say(FORMS[symbol], number=Numeral("12.5"))
    return Numeral(f"12.5 {symbol}".strip())
