"""Values as texts show them: a unit said twice, and a rounded number where its last digit decides.

“2,112 days GPU-hours” has two units; “n ≥ 459, so the smallest is 460” hides that it is 459.05.
"""

import re
from collections.abc import Iterator

from app.authoring.texts import Script
from app.core.expressions import ExpressionError, Quantity, evaluate, fill
from app.core.units import RATIO
from app.course.kinds import Finding
from app.course.kinds.drawn_values import Draw

_SLOT = re.compile(r"\{(?P<slot>[^{}]+)\}[ *]*(?P<next>[A-Za-z]*-?[A-Za-z]+)?")
_UNIT_WORD = re.compile(
    r"\A(?:\w++-)?(?:seconds?|minutes?|hours?|days?|years?|bytes?|bits?|dollars?|watts?|percent"
    r"|[KMGT]i?B|[mµn]?s|FLOPs?)"
)
_WHOLE = re.compile(r"-?[\d,]+")
_EXACT = 1e-9


def prove_displays(script: Script) -> Iterator[Finding]:
    """Each value of which a text shows two units, or too few digits to see why it was rounded."""
    for where, text in script.texts:
        for match in _SLOT.finditer(text):
            for drawn in script.drawings:
                if says := _trouble(script, match["slot"], match["next"] or "", drawn):
                    yield Finding(where, says[0], says[1])
                    break


def _trouble(script: Script, slot: str, word: str, drawn: Draw) -> tuple[str, str] | None:
    try:
        shown = fill(f"{{{slot}}}", drawn.names, drawn.shown)
        value = evaluate(slot.partition("|")[0], drawn.names)
    except ExpressionError:  # reported elsewhere, or a word
        return None
    if _UNIT_WORD.fullmatch(word) and value.dimension != RATIO.dimension:
        return f"shows two units: {shown} {word}", "divide by the unit: {time / (1 h)} hours"
    if _hides_rounding(script, shown, value, drawn):
        says = f"shows {shown} for {value.value:.10g}, and the answer is that, rounded"
        return says, f"show more digits: {{{slot.partition('|')[0].strip()} | 6}}"
    return None


def _hides_rounding(script: Script, shown: str, value: Quantity, drawn: Draw) -> bool:
    """Whether *shown* is a whole number, and an exact answer is *value* rounded to another one."""
    if not _WHOLE.fullmatch(shown) or abs(value.value - round(value.value)) < _EXACT:
        return False
    number = float(shown.replace(",", ""))
    return any(
        key.asked.tolerance == "exact"
        and key.right != number
        and abs(key.right - value.value) < 1
        and key.right == round(key.right)
        for key in script.keys(drawn).values()
    )
