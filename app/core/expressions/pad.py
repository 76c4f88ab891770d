"""A scratch pad: lines of arithmetic with units, which may name their results."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from app.core.expressions.arithmetic import DOLLARS_FIRST, in_the_last_unit, parse_plain, simplified
from app.core.expressions.evaluation import FUNCTIONS, PLAIN, Quantity, evaluate
from app.core.translation import localized, translate
from app.core.units import check_clear
from app.core.units.scales import PLAIN as NUMBER
from app.core.units.scales import SCALES

PAD_LIMIT = 4_000  # characters
_LINES = 40  # that are worked out
_LONGEST = 300  # characters of a line
_NAMED = re.compile(r"\A\s*+([^\W\d_]\w{0,15})\s*+=(?!=)\s*(.+)")
_NAME = re.compile(r"[^\W\d]\w*")
_LAST = "last"  # the name of the result before


@dataclass(frozen=True, slots=True)
class PadLine:
    """A line, and its result or what is wrong with it; neither, if it is a note."""

    text: str
    result: str = ""
    problem: str = ""


def worked_pad(text: str) -> tuple[PadLine, ...]:
    """The lines of *text* with their results; a line may use the names of those before it.

    >>> [line.result for line in worked_pad("S = 2 GB\\n2 * S * 7/8 / (50 GB/s)")]
    ['2 GB', '70 ms']
    """
    return tuple(_worked(text[:PAD_LIMIT]))


def _worked(text: str) -> Iterator[PadLine]:
    names: dict[str, Quantity] = {}
    lines = (line.strip() for line in text.splitlines())
    for number, line in enumerate(line for line in lines if line):
        if number == _LINES:
            yield PadLine(translate("only {lines} lines are worked out", lines=_LINES))
            return
        yield _pad_line(line[:_LONGEST], names)


def _pad_line(line: str, names: dict[str, Quantity]) -> PadLine:
    """*line* worked out; its result is added to *names*."""
    named = _NAMED.fullmatch(line)
    name, sum_ = (named[1], named[2]) if named else (_LAST, line)
    if name in SCALES:  # 16 B would be sixteen bandwidths
        return PadLine(line, problem=translate("{name} is a unit: choose another name", name=name))
    try:
        check_clear(sum_)
        value = _value(sum_, names)
    except ValueError as error:
        is_note = not any(character.isdigit() for character in line)
        says = _unknown_in(sum_, names) or localized(str(error))
        return PadLine(line) if is_note and not named else PadLine(line, problem=says)
    names[name] = names[_LAST] = value
    return PadLine(line, result=str(value))


def _unknown_in(text: str, names: Collection[str]) -> str:
    """What is said of the first word of *text* that means nothing here; empty if there is none."""
    known = {*names, *FUNCTIONS, *SCALES}
    word = next((word for word in _NAME.findall(text) if word not in known), "")
    if not word:
        return ""
    return translate("{word!r} is neither a unit nor the name of a line above", word=word)


def _value(text: str, names: dict[str, Quantity]) -> Quantity:
    typed = simplified(DOLLARS_FIRST.sub(r"\1 $", text), NUMBER)
    found = in_the_last_unit(typed)
    if found is None or (found.scale.unit.dimension == PLAIN and found.is_sum):
        return evaluate(parse_plain(typed, names), names)
    return Quantity(evaluate(found.head, {}).value * found.scale.factor, found.scale.unit.dimension)
