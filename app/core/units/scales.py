"""Units and dimensions: every one that can be written, with its factor to the base unit."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated

from app.core.translation import join_sentences, noted, say, value_error

Exponent = int | Fraction  # nearly all are whole, and Python adds ints far faster
# Exponents of byte, second, FLOP, joule, dollar, meter, kelvin, mole and ampere. As energy has one
# of its own, a kilogram is a J s^2/m^2.
Dimension = tuple[Exponent, ...]
_METER, _PHYSICAL = 5, slice(5, 9)


_QUANTITIES = ("byte", "second", "flop", "joule", "dollar", "meter", "kelvin", "mole", "ampere")


def _dimension(**powers: int) -> Dimension:
    return tuple((dict.fromkeys(_QUANTITIES, 0) | powers).values())


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
        return self.symbol or (_UNIT_WHOLE if self.whole else _NUMBER)


_UNIT_WHOLE, _NUMBER = noted("a whole number"), noted("a plain number")

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


def spell_dimension(dimension: Dimension) -> str:
    """*dimension* written in base units, also if it has no name.

    >>> spell_dimension(BYTE_PER_SECOND.dimension), spell_dimension(_dimension(byte=2, second=-1, flop=-1))
    ('B/s', 'B^2/(FLOP s)')
    >>> spell_dimension(_dimension(joule=1, kelvin=-1)), spell_dimension(_dimension(joule=1, second=2, meter=-5))
    ('J/K', 'kg/m³')
    """
    in_joules = _spelled_in(dimension, _BASES)
    if not is_physical(dimension):
        return in_joules
    joule, powers = dimension[JOULE.dimension.index(1)], list(dimension)
    powers[SECOND.dimension.index(1)] -= 2 * joule  # with the kilogram in place of the joule
    powers[_METER] += 2 * joule
    in_kilograms = _spelled_in(tuple(powers), _WITH_MASS)
    return with_superscripts(min(in_kilograms, in_joules, key=len))


def with_superscripts(text: str) -> str:
    """*text* with raised digits: m/s² for m/s^2."""
    return re.sub(r"\^(-?[1-9])", lambda power: power[1].translate(_RAISED), text)


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


_PREFIXES = {
    "n": "1e-9", "µ": "1e-6", "μ": "1e-6", "u": "1e-6", "m": "1e-3", "c": "1e-2", "d": "1e-1",
    "": "1", "h": "1e2", "k": "1e3", "M": "1e6", "G": "1e9",
}  # fmt: skip
_Atom = tuple[Unit, Fraction]
# Symbols, the prefixes that they take, their unit, and how much of it the symbol alone is.
_OWN = (
    ("m", "nµμumcdk", METER, "1"),
    ("g", "µμumk", KILOGRAM, "1e-3"),
    ("t", "", KILOGRAM, "1e3"),
    ("L l", "µμumcd", CUBIC_METER, "1e-3"),
    ("K", "m", KELVIN, "1"),
    ("N", "mkM", NEWTON, "1"),
    ("mol", "µμumk", MOLE, "1"),
    ("A", "nµμumk", AMPERE, "1"),
    ("C", "nµμumk", COULOMB, "1"),
    ("V", "µμumkM", VOLT, "1"),
    ("\N{GREEK CAPITAL LETTER OMEGA} \N{OHM SIGN} ohm", "mkM", OHM, "1"),
    ("Pa", "hkMG", PASCAL, "1"),
    ("bar", "m", PASCAL, "1e5"),
)
_SHARED = (  # those that are read everywhere, and go into products here
    ("s", "nµμum", SECOND, "1"),
    ("min", "", SECOND, "60"),
    ("h", "", SECOND, "3600"),
    ("J", "µμumkMG", JOULE, "1"),
    ("W", "µμumkMG", WATT, "1"),
    ("Wh", "kMG", JOULE, "3600"),
    ("Hz", "", PER_SECOND, "1"),
)


def _atoms(rows: tuple[tuple[str, str, Unit, str], ...]) -> Iterator[tuple[str, _Atom]]:
    for symbols, prefixes, unit, alone in rows:
        for symbol in symbols.split():
            for prefix in ("", *prefixes):
                yield prefix + symbol, (unit, Fraction(_PREFIXES[prefix]) * Fraction(alone))


PHYSICAL: Mapping[str, _Atom] = dict(_atoms(_OWN))
_ATOMS = {**dict(_atoms(_SHARED)), **PHYSICAL}
_ATOM = rf"(?:{'|'.join(sorted(map(re.escape, _ATOMS), key=len, reverse=True))})"
_FACTOR = rf"{_ATOM}(?:\^-?[1-9]|⁻?[¹²³⁴])?(?![\w(]|\.\w)"
_BELOW = rf"(?:{_FACTOR}|\(\s*{_FACTOR}(?:(?:\s*[*·⋅]\s*|\s+){_FACTOR})*\s*\))"
_UNIT = rf"{_FACTOR}(?:\s*[*·⋅]\s*{_FACTOR})*(?:\s*/\s*{_BELOW})*"
_SPACE = r"(?:(?<!\s)\s++)?+"  # from its begin: no search looks at a row of spaces twice
_WHOLE = re.compile(rf"\A{_UNIT}(?:\s+{_FACTOR})*")
_AT = re.compile(rf"{_SPACE}({_UNIT})")
_FIRST_AT = re.compile(rf"{_SPACE}({_FACTOR})")
_AFTER_ALL = re.compile(rf"\A(.*?[\d)])\s*+({_UNIT})")
_POWERED = re.compile(rf"({_ATOM})\^?([-⁻]?[1-9¹²³⁴])?(?!\w)")
_DIGITS = str.maketrans("⁻¹²³⁴", "-1234")


@cache
def physical_unit(text: str) -> tuple[Unit, float] | None:
    """The base unit of *text*, such as km/h, and how much of it that is; None without one.

    >>> physical_unit("km/h")[0].symbol, physical_unit("cm^2")[1], physical_unit("GB")
    ('m/s', 0.0001, None)
    """
    if not _WHOLE.fullmatch(text):
        return None
    powers, factor = list(RATIO.dimension), Fraction(1)
    for number, part in enumerate(text.split("/")):
        for atom, power in _POWERED.findall(part):
            unit, size = _ATOMS[atom]
            exponent = int(power.translate(_DIGITS) or 1) * (-1 if number else 1)
            powers = [a + exponent * b for a, b in zip(powers, unit.dimension, strict=True)]
            factor *= size**exponent
    dimension = tuple(powers)
    return unit_of(dimension) or Unit(spell_dimension(dimension), dimension), float(factor)


def physical_spelling(symbol: str) -> str:
    """How a unit is shown: m/s² for m/s^2.

    >>> physical_spelling("kg*m^2/(s^2 K)")
    'kg·m²/(s²·K)'
    """
    shown = re.sub(rf"{_SPACE}[*⋅]\s*+|(?<=[\w²³]) (?=\w)", "·", symbol) if "*" in symbol else symbol
    return with_superscripts(shown)


def unit_at(text: str, at: int, names: Collection[str]) -> tuple[str, int] | None:
    """The physical unit in *text* at a position, and where it ends; none of its letters is a name.

    >>> unit_at("3 m/s", 1, ()), unit_at("3 m/s", 1, {"s"}), unit_at("3 m/s", 1, {"m"})
    (('m/s', 5), ('m', 3), None)
    """
    for pattern in (_AT, _FIRST_AT):
        match = pattern.match(text, at)
        atoms = [atom for atom, _ in _POWERED.findall(match[1])] if match else []
        if match and any(atom in PHYSICAL for atom in atoms) and not set(atoms) & set(names):
            return match[1], match.end()
    return None


def before_unit(text: str) -> tuple[str, str] | None:
    """What stands before the physical unit that *text* ends with, and the unit.

    >>> before_unit("2*7/8 m/s^2"), before_unit("2*7/8 GB")
    (('2*7/8', 'm/s^2'), None)
    """
    match = _AFTER_ALL.fullmatch(text)
    return (match[1], match[2]) if match else None


DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
SMALL = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
WORDS = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E"}
WORDS |= {"kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti", "pebi": "Pi"}
# Of counts, such as 7B.
LETTERS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "b": 1e9, "bn": 1e9, "G": 1e9, "T": 1e12}
LARGE = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
HOUR, DAY = 3600.0, 86400.0
# What is counted, and what passes in a second; a plural that is not in -s is written out.
_COUNTED = (
    "step rank GPU node parameter param token sequence layer stage head element bubble replica "
    "worker request prompt chunk expert group server card link cable switch:switches slot block "
    "copy:copies batch:batches microbatch:microbatches micro-batch:micro-batches sample rollout "
    "message user H100 H200 B200 A100 round failure restart checkpoint row column tile page"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit as written, such as "GiB", with its factor to the base unit."""

    symbol: str
    unit: Unit
    factor: float


_Row = tuple[str, Unit, float]  # symbols, separated by spaces, the unit and the factor


def _prefixed() -> Iterator[_Row]:
    for p, scale in (DECIMAL | BINARY).items():
        yield f"{p}B {p}byte {p}bytes {p}Byte {p}Bytes", BYTE, scale
        yield f"{p}bit {p}bits {p}b", BYTE, scale / 8
        yield f"{p}B/s {p}Bps {p}byte/s {p}bytes/s", BYTE_PER_SECOND, scale
        yield f"{p}bit/s {p}bits/s {p}bps {p}b/s", BYTE_PER_SECOND, scale / 8
    for word, prefix in WORDS.items():
        scale = (DECIMAL | BINARY)[prefix]
        yield f"{word}byte {word}bytes", BYTE, scale
        yield f"{word}bit {word}bits", BYTE, scale / 8
    for p, scale in DECIMAL.items():
        yield f"{p}FLOP {p}FLOPs {p}flop {p}flops", FLOP, scale
        yield f"{p}FLOP/s {p}FLOPs/s {p}FLOPS {p}flop/s", FLOP_PER_SECOND, scale
        yield f"{p}FLOP/B {p}FLOP/byte {p}FLOPs/byte", FLOP_PER_BYTE, scale
        yield f"{p}J", JOULE, scale
        yield f"{p}Wh", JOULE, scale * HOUR
        yield f"{p}W", WATT, scale
        yield f"${p} {p}$ {p}USD", DOLLAR, scale
    for p, scale in SMALL.items():
        yield f"{p}s {p}sec {p}secs", SECOND, scale
        yield f"{p}J", JOULE, scale
        yield f"{p}W", WATT, scale


def _time_rows() -> Iterator[_Row]:
    yield "s sec secs second seconds", SECOND, 1.0
    for word, factor in {"milli": 1e-3, "micro": 1e-6, "nano": 1e-9}.items():
        yield f"{word}second {word}seconds", SECOND, factor
    yield "min mins minute minutes", SECOND, 60.0
    yield "h hr hrs hour hours GPU-h GPU-hours GPU-hour", SECOND, HOUR
    yield "d day days", SECOND, DAY
    yield "week weeks", SECOND, 7 * DAY
    yield "month months", SECOND, 365.25 * DAY / 12
    yield "year years yr yrs y", SECOND, 365.25 * DAY


def _others() -> Iterator[_Row]:
    yield "PF-days PF-day PFLOP/s-days PFLOP/s-day PFLOPS-days", FLOP, 1e15 * DAY
    yield "petaFLOP-days petaFLOP/s-days petaflop-days petaflop/s-days", FLOP, 1e15 * DAY
    yield "dollar dollars", DOLLAR, 1.0
    yield "cent cents ct ¢", DOLLAR, 0.01
    yield "$/s USD/s", DOLLAR_PER_SECOND, 1.0
    yield "$/h USD/h $/GPU-h", DOLLAR_PER_SECOND, 1 / HOUR
    yield "$/J USD/J", DOLLAR_PER_JOULE, 1.0
    yield "$/kWh USD/kWh", DOLLAR_PER_JOULE, 1 / (1e3 * HOUR)
    yield "1/s /s Hz seqs/s seq/s", PER_SECOND, 1.0
    yield "% percent", RATIO, 0.01
    yield "points point", RATIO, 0.01
    yield "x × times", RATIO, 1.0
    for word, factor in LARGE.items():
        yield word, RATIO, factor
        yield f"${word} {word}$ {word}dollars {word}USD", DOLLAR, factor
    yield "$B B$", DOLLAR, LARGE["billion"]
    yield "Ψ", RATIO, 1.0
    for one, _, many in (word.partition(":") for word in _COUNTED.split()):
        yield f"{one} {many or one + 's'}", RATIO, 1.0
        yield f"{one}/s {many or one + 's'}/s", PER_SECOND, 1.0


# Every symbol; where two rows have the same symbol, the later one counts.
SCALES = {
    symbol: Scale(symbol, unit, factor)
    for symbols, unit, factor in (*_prefixed(), *_time_rows(), *_others())
    for symbol in symbols.split()
}
_SPELLINGS = {"us": "µs", "μs": "µs", "uJ": "µJ", "uW": "µW"}


def spelling(symbol: str) -> str:
    """How a unit is shown that may be typed as *symbol*: µs for us, m/s² for m/s^2."""
    return _SPELLINGS.get(symbol) or physical_spelling(symbol)


def singular(word: str) -> str:
    """The singular of a *word* for what is counted; any other word as it is.

    >>> singular("steps"), singular("batches"), singular("times")
    ('step', 'batch', 'times')
    """
    one = "copy" if word == "copies" else word.removesuffix("es" if word.endswith("ches") else "s")
    known, single = SCALES.get(word), SCALES.get(one)
    return one if known and single and known.unit is single.unit else word


# What people type in other languages; programs and files write the symbols above.
_TYPED = {
    "days": "Tag Tage Tagen 天",
    "h": "Stunde Stunden GPU-Stunde GPU-Stunden 小时 GPU小时",
    "min": "Minute Minuten 分钟",
    "s": "Sekunde Sekunden 秒",
    "weeks": "Woche Wochen 周",
    "months": "Monat Monate Monaten 个月",
    "years": "Jahr Jahre Jahren 年",
    "PF-days": "PF-Tage PF-天",
    "steps": "Schritt Schritte 步",
    "nodes": "Knoten 节点 个节点",
    "tokens": "token Token Tokens 个token",
    "sequences": "Sequenz Sequenzen 序列 条序列",
    "tokens/s": "Token/s Tokens/s token/s",
    "sequences/s": "Sequenzen/s 序列/s",
    "steps/s": "Schritte/s 步/s",
    "workers": "Worker",
    "requests": "Anfrage Anfragen 请求 个请求",
    "requests/s": "Anfragen/s 请求/s",
    "cents": "Cent 美分",
    "million": "Million Millionen Mio 百万",
    "billion": "Milliarde Milliarden Mrd 十亿",
    "trillion": "Billion Billionen 万亿",
}
TYPED = {word: SCALES[symbol] for symbol, words in _TYPED.items() for word in words.split()}
TYPED |= {word: Scale(word, RATIO, factor) for word, factor in (("万", 1e4), ("亿", 1e8))}
PLAIN = Scale("", RATIO, 1.0)


def scale_of(symbol: str) -> Scale:
    """The unit that is written as *symbol*.

    >>> scale_of("GiB").factor
    1073741824.0

    Raises:
        ValueError: the unit does not exist.
    """
    if not symbol:
        return PLAIN
    scale = known_scale(symbol)
    if scale is None:
        raise value_error("{symbol!r} is not a unit here{offer}", symbol=symbol, offer=close_symbols(symbol))
    return scale


def known_scale(symbol: str) -> Scale | None:
    """The unit that a file writes as *symbol*, of physics or not; None if there is none."""
    return SCALES.get(symbol) or physical_scale(symbol)


@cache
def physical_scale(symbol: str) -> Scale | None:
    """The physical unit that is written as *symbol*, such as kg·m/s²; None if there is none."""
    found = physical_unit(symbol)
    return Scale(physical_spelling(symbol), *found) if found else None


PHYSICAL_SCALES = {symbol: Scale(symbol, unit, float(size)) for symbol, (unit, size) in PHYSICAL.items()}


@cache
def takes_prefix(scale: Scale) -> bool:
    """Whether *scale* is one of several units that differ in a prefix, such as ms and s.

    >>> takes_prefix(scale_of("GB")), takes_prefix(scale_of("days"))
    (True, False)
    """
    if scale.unit in (RATIO, DOLLAR):
        return False
    if scale.symbol not in SCALES and physical_unit(scale.symbol):
        return True
    bases = [scale.symbol.removeprefix(prefix) for prefix in DECIMAL | SMALL | BINARY]
    return any(
        (known := SCALES.get(prefix + base)) and known.unit is scale.unit and known != scale
        for base in bases
        if base in SCALES and SCALES[base].unit is scale.unit
        for prefix in ("", "k", "m")
    )


def close_symbols(symbol: str) -> str:
    """The end of a sentence that offers the units that differ from *symbol* in case only."""
    same = [known for known in SCALES if known.lower() == symbol.lower()]
    return say("; did you mean {names}?", names=join_sentences(same, noted("{first} or {others}"))) if same else ""
