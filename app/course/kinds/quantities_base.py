"""The base of kinds that ask for quantities: boxes, keys, and what a solution may name."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from app.core.expressions import Names, Quantity
from app.core.units import Dimension, spelling
from app.course.kinds.answer_key import AnswerKey, keys_of, telling_figures
from app.course.kinds.base import Base, Finding, Where
from app.course.kinds.drawn_values import Draw, redrawn
from app.course.kinds.quantity import AskedQuantity
from app.course.kinds.strict import Remembered
from app.course.kinds.visible_values import question_numbers

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
