"""The texts that a learner sees before answering, and the drawn values that they show."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.core.expressions import ExpressionError, names_in, parse_expression, slots
from app.course.kinds.base import Base, Where
from app.course.kinds.drawn_values import Draw
from app.course.kinds.near_misses import QuestionNumbers

_LATER = {"says", "hints", "mistakes", "solution", "elsewhere", "bound", "cause"}  # after an answer
_WORDS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_WHOLE = re.compile(r"(?<![\d.,])\b(\d{1,3}(?:,\d{3})+|\d+)(?![\d]|[.,]\d)")
_COUNTS = (3, 10**7)  # smaller factors have causes of their own
_LABELED = ("choose", "symbols")  # their `says` is what they are, not feedback


def question_texts(exercise: Base) -> Iterator[tuple[Where, str]]:
    """The texts of *exercise* that its page or the interface shows before an answer."""
    for where, text in exercise.texts():
        if where[0] in _LABELED or not _LATER & set(map(str, where)):
            yield where, text


def shown_slots(exercise: Base) -> frozenset[str]:
    """The slots of the question: the names of drawn values, and what it works out from them."""
    return frozenset(slot for _, text in question_texts(exercise) for slot in slots(text))


def visible_values(exercise: Base, seed: int) -> Mapping[str, str]:
    """The values that *seed* draws and that the question shows, as their texts.

    Others may be the answer, or feedback on it; so may those from which a text works something out.
    """
    shown = shown_slots(exercise)
    return {name: text for name, text in exercise.draw(seed).shown.items() if name in shown}


def slot_names(text: str, drawn: Draw) -> set[str]:
    """Every name in the slots of *text*; a slot that cannot be read counts as a name."""
    found = set[str]()
    for slot in slots(text):
        try:
            found |= {slot} if slot in drawn.shown else names_in(parse_expression(slot, drawn.names))
        except ExpressionError:  # reported where it is proven
            found.add(slot)
    return found


def question_numbers(exercise: Base, drawn: Draw) -> QuestionNumbers:
    """The counts that a learner reads in the question, and the quantities that it shows.

    A format, a value that is drawn and not shown, and a measurement's table are not part of it.
    """
    texts = [text for _, text in question_texts(exercise)]
    shown = {slot for text in texts for slot in slots(text)}
    read = " ".join(_read_text(exercise, text, drawn) for text in texts)
    counts = {int(figures.replace(",", "")) for figures in _WHOLE.findall(read)}
    counts |= {_WORDS[word.lower()] for word in _WORD.findall(read)}
    return QuestionNumbers(
        frozenset(n for n in counts if _COUNTS[0] <= n <= _COUNTS[1]),
        tuple(value for name, value in drawn.names.items() if name in shown),
    )


def _read_text(exercise: Base, text: str, drawn: Draw) -> str:
    try:
        return exercise.fill(text, replace(drawn, listings=dict.fromkeys(drawn.listings, "")))
    except ExpressionError:  # names an answer, or is reported where it is proven
        return ""
