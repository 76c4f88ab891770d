"""Text with drawn values in it.

`{size}` stands for a value as the author typed it, `{2 * size}` for the value of an expression,
`{2 * size | GiB}` for that value in a unit, `{2 * size | GiB 3}` to three significant digits.
Inside `$...$`, where braces belong to LaTeX, write `{{size}}`. A piece between `{when a > b}` and
`{end}` is shown only where the condition holds.
"""

import re
from collections.abc import Callable, Mapping

from app.core.expressions.branches import choose_branches, conditions, without_tags
from app.core.expressions.evaluation import Names, evaluate
from app.core.expressions.mathematics import upright
from app.core.expressions.parser import ExpressionError
from app.core.translation import localized, translate
from app.core.units import scale_of, show_in, singular

_PIECE = re.compile(
    r"(?P<math>\$\$.+?\$\$|(?<!\\)\$(?!\s)(?:[^$\n]|\n(?!\s*\n))+?(?<![\s\\])\$(?!\d))"
    r"|\{(?P<slot>[^{}]+)\}(?P<gap>\**[ -])?(?P<word>(?(gap)[A-Za-z-]+))?",
    re.DOTALL,
)
_INSIDE_MATH = re.compile(r"\{\{(?P<slot>[^{}]+)\}\}")
_CODE = re.compile(r"^[ \t]*+(?P<fence>```|~~~)[^\n]*+\n(?:[^\n]*+\n)*?[ \t]*+(?P=fence)[ \t]*+$|`[^`]*`", re.MULTILINE)
_COUNTED = re.compile(r"\{(?P<name>\w+)\}[ *-]+(?P<word>[a-zA-Z-]{3,})")
_IN_MATH = str.maketrans({",": "{,}", "\u202f": r"\,", "%": r"\%", "$": r"\$"})
BLANK = "\N{LOZENGE}"  # in place of a slot
_FORMAT = re.compile(r"\A(?P<unit>.*?)(?P<digits>(?<!\S)(?:[1-9]|1[0-5]))?\Z")


def fill(text: str, names: Names, shown: Mapping[str, str]) -> str:
    """*text* with its slots filled from *names*; a bare name is replaced by its text in *shown*.

    What a 1 counts is in the singular: 1 step.

    Raises:
        ExpressionError: a slot cannot be filled.
    """
    return _filled(choose_branches(text, names), lambda slot: _slot(slot, names, shown))


def fill_known(text: str, names: Names) -> str:
    """*text* with its slots filled from *names*, and a dash in those that cannot be filled.

    Raises:
        ExpressionError: a condition cannot be worked out.
    """

    def known(slot: str) -> str:
        try:
            return _slot(slot, names, {})
        except ExpressionError:
            return "–"

    return _filled(choose_branches(text, names), known)


def _filled(text: str, slot_text: Callable[[str], str]) -> str:
    """*text* with *slot_text* in place of each slot."""

    def piece(match: re.Match[str]) -> str:
        if match["math"]:
            return _INSIDE_MATH.sub(lambda m: _in_math(slot_text(m["slot"])), match["math"])
        text, word = slot_text(match["slot"]), match["word"] or ""
        return f"{text}{match['gap'] or ''}{singular(word) if text == '1' else word}"

    return _PIECE.sub(piece, text)


def slots(text: str) -> list[str]:
    """Every expression in a slot or a condition of *text*."""
    found = conditions(text)
    for match in _PIECE.finditer(without_tags(text)):
        inside = _INSIDE_MATH.findall(match["math"]) if match["math"] else [match["slot"]]
        found += [slot.partition("|")[0].strip() for slot in inside]
    return found


def blanked(text: str) -> str:
    """The prose of *text*: without code and mathematics, a blank in place of every slot.

    >>> blanked("Each of {ranks} ranks sends `x`.").split()
    ['Each', 'of', '◊', 'ranks', 'sends', '.']
    """
    prose = _CODE.sub(" ", without_tags(text))
    return _PIECE.sub(_blank, prose)


def _blank(match: re.Match[str]) -> str:
    return f"{BLANK}{match['gap'] or ''}{match['word'] or ''}" if match["slot"] else " "


def words_after_slots(text: str) -> list[tuple[str, str]]:
    """Every slot of *text* that is a bare name, with the word after it."""
    return [(match["name"], match["word"]) for match in _COUNTED.finditer(text)]


def _slot(slot: str, names: Names, shown: Mapping[str, str]) -> str:
    expression, _, form = (part.strip() for part in slot.partition("|"))
    if expression in shown and not form:
        return localized(shown[expression])
    quantity = evaluate(expression, names)
    if not form:
        return localized(str(quantity))
    match = _FORMAT.fullmatch(form)
    unit, digits = (match["unit"].rstrip(), match["digits"]) if match else (form, None)
    try:
        scale = scale_of(unit)
    except ValueError as error:
        raise ExpressionError(f"{{{slot}}}: {error}") from None
    if scale.unit.dimension != quantity.dimension:
        raise ExpressionError(
            translate("{{{slot}}} is {quantity}, not in {unit}", slot=slot, quantity=quantity, unit=unit)
        )
    return localized(show_in(quantity.value, scale, int(digits or 4)))


def _in_math(text: str) -> str:
    number, _, unit = text.partition(" ")
    figure = number.replace(",", r"{,}").replace("\u202f", r"\,").replace("%", r"\%").replace("$", r"\$")
    mantissa, times, exponent = figure.partition("e")
    if times and exponent.lstrip("-").isdigit():
        figure = rf"{mantissa} \cdot 10^{{{exponent}}}"
    return rf"{figure}\,{upright(unit)}" if unit else figure
