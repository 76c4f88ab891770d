"""The texts that a learner sees before answering, and the drawn values that they show."""

import re
from collections.abc import Iterator, Mapping

from app.expressions import ExpressionError, Quantity, names_in, parse_expression, slots
from app.kinds.base import Base, Where
from app.kinds.drawn_values import Draw

_LATER = {"says", "hints", "mistakes", "solution", "elsewhere", "bound", "cause"}  # after an answer
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_LABELED = ("choose", "symbols")  # their `says` is what they are, not feedback


def question_texts(exercise: Base) -> Iterator[tuple[Where, str]]:
    """The texts of *exercise* that its page or the interface shows before an answer."""
    for where, text in exercise.texts():
        if where[0] in _LABELED or not _LATER & set(map(str, where)):
            yield where, text


def visible_values(exercise: Base, seed: int) -> Mapping[str, str]:
    """The values that *seed* draws and that the question shows, as their texts.

    Others may be the answer, or feedback on it; so may those from which a text works something out.
    """
    shown = {slot for _, text in question_texts(exercise) for slot in slots(text)}
    return {name: text for name, text in exercise.draw(seed).shown.items() if name in shown}


def slot_names(text: str, drawn: Draw) -> set[str]:
    """Every name in the slots of *text*; a slot that cannot be read counts as a name."""
    found = set[str]()
    for slot in slots(text):
        try:
            found |= (
                {slot} if slot in drawn.shown else names_in(parse_expression(slot, drawn.names))
            )
        except ExpressionError:  # reported where it is proven
            found.add(slot)
    return found


def has_number(exercise: Base, drawn: Draw, number: int) -> bool:
    """Whether a whole *number* up to 10 is among what is *drawn*, or in the question."""
    if Quantity(float(number)) in drawn.names.values():
        return True
    written = rf"(?<![\d.,])(?:{number}|{_WORDS[number]})(?![\d]|[.,]\d)"
    texts = (*drawn.shown.values(), *(text for _, text in question_texts(exercise)))
    return any(re.search(rf"\b{written}\b", text, re.IGNORECASE) for text in texts)
