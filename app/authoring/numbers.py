"""Numbers that a text says of every drawing, and that are true of some only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.authoring.texts import Script
from app.expressions import ExpressionError, Quantity, blanked, fill, following, slots
from app.kinds import Finding, Where
from app.kinds.drawing import Draw
from app.units import RATIO, Dimension, scale_of
from app.units.scales import LARGE, SCALES

_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "sixteen": 16, "twenty": 20, "thirty": 30, "fifty": 50,
    "sixty": 60, "hundred": 100, "thousand": 1000,
}  # fmt: skip
_LETTERS = {"K": 1e3, "M": 1e6, "B": 1e9}
_UNITS = sorted((one for one in SCALES if one not in ("x", "d", "h")), key=len, reverse=True)
_FIGURE = re.compile(
    r"(?<![\w.,/^−-])(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
    rf"|\b(?i:{'|'.join(_WORDS)})\b)"
    rf"(?P<large>[ -](?:{'|'.join(LARGE)})\b|[KMB]\b(?!/))?"
    rf"(?:[\s-]*(?P<unit>per cent|{'|'.join(map(re.escape, _UNITS))})(?!\w|/))?"
    r"(?:[ *-]+(?P<noun>[A-Za-z-]{3,}))?"
)
_TELLING = 3  # figures that are not there by chance
_CURE = "write {{{name}}}, or fixed: [{text}] if it is meant for every drawing"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as a text has it; *nouns* are the words that may say what it counts."""

    text: str
    number: str
    value: float
    half: float  # of its last digit
    dimension: Dimension
    has_unit: bool
    nouns: frozenset[str]

    @property
    def telling(self) -> bool:
        """Whether it has digits enough not to be there by chance."""
        return len(re.sub(r"\D", "", self.number).strip("0")) >= _TELLING

    def is_that(self, quantity: Quantity | None) -> bool:
        """Whether it stands for *quantity*, as far as it is printed."""
        return (
            quantity is not None
            and quantity.dimension == self.dimension
            and abs(quantity.value - self.value) <= self.half * (1 + 1e-9)
        )


def figures_in(text: str) -> Iterator[Figure]:
    """Every number in the prose of *text*.

    >>> [(f.text, f.value, sorted(f.nouns)) for f in figures_in("Four chunks at 1,024 GB/s")]
    [('Four chunks', 4.0, ['chunk']), ('1,024 GB/s', 1024000000000.0, ['gb/s'])]
    """
    for match in _FIGURE.finditer(blanked(text)):
        number, unit = match["number"], match["unit"] or ""
        scale = scale_of("%" if unit == "per cent" else unit)
        large = (match["large"] or "").strip(" -")
        factor = scale.factor * (LARGE.get(large) or _LETTERS.get(large) or 1)
        value = _WORDS.get(number.lower()) or float(number.replace(",", ""))
        digits = len(number.partition(".")[2])
        counts = scale.unit is RATIO and scale.factor == 1
        nouns = {_singular(word) for word in (unit, match["noun"] or "") if word}
        has_unit = not counts or bool(large)
        end = match.start("noun") if has_unit and match["noun"] else match.end()
        text = " ".join(match.string[match.start() : end].strip(" *-").split())
        yield Figure(
            text, number, value * factor, 0.5 * 10**-digits * factor, scale.unit.dimension,
            has_unit, frozenset(nouns),
        )  # fmt: skip


def prove_numbers(script: Script) -> Iterator[Finding]:
    """Each number that equals a value in one drawing and not in another."""
    if len(script.drawings) == 1 or not script.varying:
        return
    nouns = _nouns(script)
    for where, text in script.texts:
        for figure in figures_in(text):
            if figure.text.startswith(tuple(script.exercise.fixed)):
                continue
            if found := _stands_for(script, figure, nouns):
                yield _finding(script, where, figure, found)


def _finding(script: Script, where: Where, figure: Figure, name: str) -> Finding:
    text = figure.text
    says = f"says {text}, which is {name} in some drawings and not in others"
    if where == ("title",):
        return Finding(
            where, says, f"a title fits every drawing: leave the number out, or fixed: [{text}]"
        )
    return Finding(where, says, _CURE.format(name=name, text=text))


def _stands_for(script: Script, figure: Figure, nouns: dict[str, set[str]]) -> str:
    """The name of the value that *figure* is in some drawings alone; nothing if there is none."""
    for name in sorted(script.varying):
        if not (figure.has_unit or figure.telling or figure.nouns & nouns.get(name, set())):
            continue
        if _sometimes(figure.is_that(drawn.names.get(name)) for drawn in script.drawings):
            return name
    if figure.telling:
        for slot in sorted({slot for _, text in script.texts for slot in slots(text)}):
            if _sometimes(_is_shown(figure, slot, drawn) for drawn in script.drawings):
                return slot
    return ""


def _sometimes(held: Iterator[bool]) -> bool:
    return len(set(held)) > 1


def _is_shown(figure: Figure, slot: str, drawn: Draw) -> bool:
    """Whether *slot* comes out with the digits of *figure*."""
    try:
        shown = fill(f"{{{slot}}}", drawn.names, drawn.shown)
    except ExpressionError:  # told elsewhere
        return False
    return shown.strip("$").partition(" ")[0] == figure.number


def _nouns(script: Script) -> dict[str, set[str]]:
    """What each number counts: its own name, and the words that follow it in the texts."""
    found = {name: {_singular(name.replace("_", "-"))} for name in script.varying}
    for _, text in script.texts:
        for name, word in following(text):
            found.setdefault(name, set()).add(_singular(word))
    return found


def _singular(word: str) -> str:
    return word.lower().removesuffix("s") if word.isalpha() else word.lower()
