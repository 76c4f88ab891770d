"""Units of the physics that schools teach, as text: m/s², kg·m², J/(kg·K).

Their letters are names as well (m, N and V in formulas, K of thousands), so a text counts as such
a unit only where nothing else was ever read: each caller asks for them.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from functools import cache

from app.core.units.unit import (
    AMPERE,
    COULOMB,
    CUBIC_METER,
    JOULE,
    KELVIN,
    KILOGRAM,
    METER,
    MOLE,
    NEWTON,
    OHM,
    PASCAL,
    PER_SECOND,
    RATIO,
    SECOND,
    VOLT,
    WATT,
    Unit,
    spelled,
    unit_of,
    with_superscripts,
)

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
    return unit_of(dimension) or Unit(spelled(dimension), dimension), float(factor)


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
