"""The base of kinds that ask for quantities: boxes, keys, and what a learner sees before answering."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from app.core.expressions import ExpressionError, Names, Quantity, names_in, parse_expression, slots
from app.core.units import Dimension, spelling
from app.course.kinds.answer_key import AnswerKey, AskedQuantity, keys_of, telling_figures
from app.course.kinds.base import Base, Finding, Remembered, Where
from app.course.kinds.drawn_values import Draw, redrawn
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


TELL = "remove one, tighten the tolerance, or draw values that tell them apart"


@dataclass(frozen=True, slots=True)
class Box:
    """One box to fill in; *unit* is that of a bare number."""

    name: str
    prompt: str
    unit: str
    tolerance: str


class Asking(Base):
    """An exercise that asks for one quantity or several."""

    asks_for_numbers = True

    @property
    @abstractmethod
    def asked(self) -> Mapping[str, AskedQuantity]:
        """The quantities by name; one may build on those before it."""

    def boxes(self, seed: int) -> tuple[Box, ...]:
        """The boxes to fill in."""
        drawn = self.draw(seed)
        return tuple(
            Box(name, self.fill(asked.prompt, drawn), spelling(asked.unit), asked.tolerance)
            for name, asked in self.asked.items()
        )

    def solved(self, drawn: Draw) -> Draw:
        """*drawn* with the answers, by name; numbers and shares as they may be typed back."""
        keys = self.keys(drawn.seed)
        answers = {name: Quantity(key.right, self.dimension(name)) for name, key in keys.items()}
        plain = {n: key.shown() for n, key in keys.items() if key.asked.scale.symbol in ("", "%")}
        names, shown = {**drawn.names, **answers}, {**drawn.shown, **plain}
        return replace(drawn, names=names, shown=shown)

    def dimension(self, name: str) -> Dimension:
        """The dimension of the quantity called *name*."""
        return self.asked[name].scale.unit.dimension

    def title_of(self, name: str, seed: int) -> str:
        """What the answer called *name* is on the page."""
        asked = self.asked.get(name)
        return self.fill(asked.prompt, self.draw(seed)) or name if asked else name

    def listed_answers(self, seed: int) -> Iterator[str]:
        """The right value of each box under its title, as lines of a list."""
        for name, key in self.keys(seed).items():
            yield f"- {self.title_of(name, seed)}: **{key.shown()}**"

    def telling(self, seed: int) -> set[str]:
        """The figures of the right values."""
        return telling_figures(self.keys(seed).values())

    def texts_of(self, name: str) -> Iterator[tuple[Where, str]]:
        """The prompt of a quantity and the sentences of its mistakes, with their place in it."""
        asked = self.asked[name]
        yield ("prompt",), asked.prompt
        for expression, mistake in asked.mistakes.items():
            yield ("mistakes", expression), mistake.says

    def clashes(self, keys: Mapping[str, AnswerKey], name: str) -> Iterator[Finding]:
        """The mistakes of a quantity that cannot be told apart, with their place in it.

        Raises:
            ExpressionError: a mistake has no value there.
        """
        for expression, says in keys[name].clashes():
            yield Finding(("mistakes", expression), says, TELL)

    def keys(self, seed: int) -> Mapping[str, AnswerKey]:
        """The key of each box.

        Raises:
            ExpressionError: an expression has no value for what *seed* draws.
        """
        return self._keys.of(seed, lambda: self._keys_of(self.draw(seed)))

    def keys_at(self, values: Mapping[str, float]) -> Mapping[str, AnswerKey]:
        """The key of each box if *values*, in base units, had been drawn.

        Raises:
            ExpressionError: an expression has no value for them.
        """
        return self._keys_of(redrawn(self.draw(0), values, self.let))

    @cached_property  # Pydantic's private attributes are looked up twenty times as slowly
    def _keys(self) -> Remembered[int, Mapping[str, AnswerKey]]:
        return Remembered()

    def _keys_of(self, drawn: Draw) -> Mapping[str, AnswerKey]:
        def filled(text: str, names: Names) -> str:
            return self.fill(text, replace(drawn, names=names))

        return keys_of(self.asked, drawn.names, filled, question_numbers(self, drawn))
