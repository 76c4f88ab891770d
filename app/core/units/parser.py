"""From text to a quantity: generous in form, exact in value, in the form of the page's language."""

import re
from dataclasses import dataclass
from fractions import Fraction

from app.core.translation import Numeral, has_decimal_comma, noted, say, value_error
from app.core.translation.sentence import FORMS
from app.core.units import scales
from app.core.units.formatter import figures
from app.core.units.scales import RATIO, SCALES, Scale, Unit

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SIGNS = str.maketrans({"−": "-", "–": "-", "⁄": "/", "∕": "/", "÷": "/", "\u202f": " "})
_RAISED = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_GROUPED = re.compile(r"(?<=\d)[_'’\u00a0\u2009 ](?=\d{3}(?!\d))|(?<=\d)_(?=\d)")
THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_POINTS_FOR_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3})+(?=,\d)|(?:\.\d{3}){2,})(?![\d.])")
_THOUSAND = 1000
_BESIDE = " ~≈=+-"  # a number, in a text that is one
_POINT_OR_GROUP = re.compile(r"(?<![\w.,])[1-9]\d{0,2}\.\d{3}(?![\d.,]|[eE][-+\d])")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
CALL = re.compile(r"[^\W\d]\d*+\s*+\(")  # how the name of a function ends, and what follows it
_RUN = re.compile(r"\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")


def plain_signs(text: str) -> str:
    """*text* with ASCII signs: superscripts as ^2, every kind of minus as -."""
    typed = _RAISED.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
    return typed.translate(_SIGNS).replace("**", "^")


def join_digits(text: str) -> str:
    """*text* without the spaces, apostrophes and underscores that group digits."""
    return _GROUPED.sub("", text)


def without_points(text: str) -> str:
    """*text* without the points that group digits, as in 1.234.567 and 1.234,5."""
    return _POINTS_FOR_THOUSANDS.sub(lambda m: m[0].replace(".", ""), text)


def without_commas(text: str) -> str:
    """*text* without the commas that group digits; the comma in 0,750 is a decimal one.

    So is the only one of a number where the language of the page has a decimal comma.
    """
    return THOUSANDS.sub(lambda m: m[0] if _is_decimal(m[0]) else m[0].replace(",", ""), text)


def _is_decimal(number: str) -> bool:
    return number.startswith("0") or (has_decimal_comma() and number.count(",") == 1)


def check_clear(text: str, *, whole: bool = False) -> None:
    """Ask what 112.000 is, where the page writes 112,000 with another sign than a comma.

    In a field for *whole* numbers, the point in it cannot be a decimal one, on any page.

    Raises:
        ValueError: a number in *text* may be a thousand times as large as it reads in English.
    """
    found = _POINT_OR_GROUP.search(text)
    if found is None or not (has_decimal_comma() or (whole and found[0] == text.strip(_BESIDE))):
        return
    number = float(found[0])
    form = noted("{number!r} may be {large} or {small}: write one of these")
    raise value_error(form, number=found[0], large=figures(_THOUSAND * number), small=figures(number))


def in_english(text: str, *, whole: bool = False) -> str:
    """The *text* of a field, its numbers as code has them: on a German page, 1.234,5 is 1234.5.

    Every page reads the result alike, so it can be stored.

    Raises:
        ValueError: a number in it may be one or another.
    """
    check_clear(text, whole=whole)
    ungrouped = without_points(text)
    if CALL.search(text):  # where a comma separates arguments
        return ungrouped
    plain = _DECIMAL_COMMA.sub(".", without_commas(ungrouped))
    return clear_text(plain) if has_decimal_comma() else plain


def list_in_english(text: str, *, whole: bool = False) -> str:
    """The *text* of a field for several numbers, as code has it: in German, 0,5; 1 is 0.5, 1.

    Raises:
        ValueError: a number in it may be one or another, or two.
    """
    if has_decimal_comma() and re.fullmatch(r"\d+,\d+", text.strip()) and not whole:
        first, second = text.strip().split(",")
        form = noted("{text!r} may be one number or two: write {one} or {two}")
        raise value_error(form, text=text.strip(), one=clear_text(f"{first}.{second}"), two=f"{first}, {second}")
    listed = text.replace(";", ",") if has_decimal_comma() else text
    return _RUN.sub(lambda run: _run_in_english(run[0], whole=whole), listed)


def _run_in_english(run: str, *, whole: bool) -> str:
    """A *run* of digits, points and commas: a number, or several without a space between them."""
    is_list = "." not in run and run.count(",") > (0 if whole else 1)
    return run if is_list or not has_decimal_comma() and "," in run else in_english(run, whole=whole)


def clear_text(text: str) -> str:
    """*text*, in English, with numbers that every page reads alike: 1.234 GB is 1.2340 GB."""
    return _POINT_OR_GROUP.sub(r"\g<0>0", text)


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

    *step* is the value of one unit in the last digit (0 if the number is exact, such as 1/16); *other* is the second
    reading of a text such as "1,750", which may mean 1.750; *scale* is the unit that was written, None if there was
    none or more than one; *worked_out* says that the text was arithmetic, whose result the learner has not seen.
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
    if len(text) > _LONGEST:
        raise value_error("cannot read an answer of {count} characters: enter one number", count=len(text))
    typed = join_digits(plain_signs(text.strip()))
    if unit.symbol.startswith("$"):
        typed = _DOLLARS_FIRST.sub(r"\1\2 $\3", typed)
    typed = without_commas(without_points(typed))
    typed = re.sub(r"^([-+]?\s*+[~≈=]?\s*+\d*+),(?=\d)", r"\1.", typed).lstrip("~≈= ")
    match = _NUMBER.match(typed)
    if match is None:
        raise value_error(
            "cannot read {text!r}: write a number, such as {example}", text=text.strip(), example=_example(unit, shown)
        )
    symbol = typed[match.end() :]
    scale = _multiple(text, symbol, unit, shown)
    scale = scale or _written_scale(text, symbol.strip(), unit, shown)
    number, step = _number_and_digit(match)
    factor = Fraction(str(scale.factor))  # as written: 5 us is 5e-6, to the last bit
    try:
        value, precision = float(number * factor), float(step * factor)
    except OverflowError:
        raise value_error("cannot read {text!r}: the number is too large", text=text.strip()) from None
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


def _number_and_digit(match: re.Match[str]) -> tuple[Fraction, Fraction]:
    """The number, and the value of one unit in its last digit."""
    mantissa = match["mantissa"]
    exponent = int(match["e"] or match["ten"] or 0)
    if abs(exponent) > _LONGEST * 4:
        raise value_error("cannot read {text!r}: the exponent is too large", text=match[0])
    exact = bool(match["power"] or match["under"])
    number = Fraction(f"{mantissa}e{exponent}")
    if match["power"]:
        try:
            number = Fraction(float(number) ** int(match["power"]))
        except (OverflowError, ZeroDivisionError):
            raise value_error("cannot read {text!r}: the number is too large", text=match[0]) from None
    if match["under"]:
        if not (under := Fraction(match["under"])):
            raise value_error("cannot read {text!r}: it divides by zero", text=match[0])
        number /= under
    decimals = len(mantissa.partition(".")[2])
    step = Fraction(0) if exact else Fraction(10) ** (exponent - decimals)
    return (-number if match["sign"] == "-" else number), step


def _multiple(text: str, symbol: str, unit: Unit, shown: Scale | None) -> Scale | None:
    """The scale of what is counted in thousands or more, such as B, k tokens/s or million GPUs."""
    match = _MULTIPLE.match(symbol)
    is_counted = unit.dimension in (RATIO.dimension, scales.PER_SECOND.dimension)
    if match is None or not is_counted or (shown and shown.factor < 1):
        return None
    counted = _known_scale(symbol[match.end() :].strip())
    if counted is None or counted.unit.dimension != unit.dimension or counted.factor != 1:
        return None
    if match["letter"] in ("k", "K") and unit.dimension == RATIO.dimension:
        raise value_error(
            "cannot read {text!r}: write the number in full, as K may be 1,000 or 1,024", text=text.strip()
        )
    times = scales.LETTERS.get(match["letter"]) or scales.LARGE[match["word"]]
    return Scale(symbol.strip(), unit, times)


def _known_scale(symbol: str) -> Scale | None:
    """The unit that people write as *symbol*; None if there is none."""
    for pattern, written in _PER:
        symbol = pattern.sub(written, symbol.rstrip("."))
    if not symbol:
        return scales.PLAIN
    return SCALES.get(symbol) or SCALES.get(symbol.replace(" ", "")) or scales.TYPED.get(symbol)


def asks_for_physics(unit: Unit, shown: Scale | None = None) -> bool:
    """Whether answers in *unit*, shown as *shown*, may be written in meters, volts and the like."""
    if scales.is_physical(unit.dimension) or unit.dimension in (scales.JOULE.dimension, scales.WATT.dimension):
        return True
    symbol = shown.symbol if shown else ""
    return symbol not in SCALES and scales.physical_scale(symbol) is not None


def _physical_scale(symbol: str, unit: Unit, shown: Scale | None) -> Scale | None:
    if not asks_for_physics(unit, shown):
        return None
    for pattern, written in _PER:
        symbol = pattern.sub(written, symbol.rstrip("."))
    return scales.physical_scale(symbol)


def _written_scale(text: str, symbol: str, unit: Unit, shown: Scale | None) -> Scale:
    if not symbol:
        if shown is not None:
            return shown
        if unit.dimension != RATIO.dimension:
            raise value_error(
                "cannot read {text!r}: a plain number given, {unit} expected", text=text.strip(), unit=unit
            )
        return scales.PLAIN
    scale = _known_scale(symbol) or _physical_scale(symbol, unit, shown)
    if scale is None and symbol[0] in "0123456789.,":
        raise value_error("cannot read {text!r}: it is not clear where the number ends", text=text.strip())
    if scale is None:
        form = noted("cannot read {text!r}: {symbol!r} is not a unit here, {unit} expected{offer}")
        raise value_error(form, text=text.strip(), symbol=symbol, unit=unit, offer=scales.close_symbols(symbol))
    if unit is scales.FLOP_PER_SECOND and scale.unit is scales.FLOP and not symbol.endswith("FLOP"):
        return Scale(symbol, unit, scale.factor)  # most people write TFLOPs and TFLOPS for both
    if scale.unit.dimension != unit.dimension:
        raise value_error(
            "cannot read {text!r}: {given} given, {unit} expected", text=text.strip(), given=scale.unit, unit=unit
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
