"""One quantity that an exercise asks for, and how near an answer must come to it."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from pydantic import Field, field_validator

from app.errors import AnswerError
from app.expressions import ExpressionError, Names, Quantity, evaluate
from app.kinds.base import UnitName
from app.kinds.slips import slip
from app.kinds.strict import Strict
from app.units import RATIO, Reading, Scale, read, scale_of, show_in
from app.units import parse as parse_quantity

_EXACT = 1e-9
_APART = 2.0  # tolerances between a mistake and the right answer


class Asked(Strict):
    """One quantity that is asked for."""

    prompt: str = Field(default="", description="what this answer is, where there are several")
    answer: str = Field(description="a formula's name, or an expression of the drawn values")
    unit: UnitName = Field(default="", description="of a bare number: ms, GB, %, or nothing")
    tolerance: str = Field(default="1 %", description="0.5 %, 0.3 points, or exact")
    accept: str = Field(default="", description="a second value: all between the two is right")
    mistakes: dict[str, str] = Field(default_factory=dict, description="expression: sentence")

    @field_validator("tolerance")
    @classmethod
    def _is_a_tolerance(cls, tolerance: str) -> str:
        if tolerance != "exact" and not 0 < _share(tolerance) < 1 / 2:
            raise ValueError(f"a tolerance of {tolerance} is not between 0 and 50 %")
        return tolerance

    @property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    def slack(self, right: float) -> float:
        """How far from *right* an answer may be."""
        if self.tolerance == "exact":
            return abs(right) * _EXACT
        share = _share(self.tolerance)
        # The rounding of a double must not decide at the very edge.
        return (share if "point" in self.tolerance else abs(right) * share) * (1 + _EXACT)

    def value(self, expression: str, names: Names) -> float:
        """What *expression* comes to, in the base unit of this answer.

        Raises:
            ExpressionError: it has no value, or one of another dimension.
        """
        found = evaluate(expression, names)
        if found.dimension != self.scale.unit.dimension and found.value:
            wanted = self.unit or "a plain number"
            raise ExpressionError(f"{expression!r} is {found}, and the answer is in {wanted}")
        return found.value

    def typed(self, value: float) -> str:
        """*value* as somebody who has it to twelve figures types it."""
        return f"{value / self.scale.factor:.12g} {self.unit}".strip()

    def shown(self, value: float) -> str:
        """*value* as a person writes it, in the unit of this answer."""
        return show_in(value, self.scale)

    def read(self, text: str) -> Reading:
        """The quantity that a learner's *text* stands for; a sum in it is worked out.

        Raises:
            AnswerError: it stands for none.
        """
        try:
            return read(text, self.scale.unit, self.scale)
        except ValueError as error:
            if worked_out := self._worked_out(text):
                return worked_out
            raise AnswerError(str(error)) from error

    def _worked_out(self, text: str) -> Reading | None:
        try:
            found = evaluate(text, {})
        except ExpressionError:
            return None
        if found.dimension == self.scale.unit.dimension:
            return Reading(found.value * (1 if self.scale.unit.symbol else self.scale.factor))
        plain = found.dimension == RATIO.dimension
        return Reading(found.value * self.scale.factor) if plain else None

    def key(self, names: Names, fill: Callable[[str, Names], str]) -> "Key":
        """What is right where the symbols are *names*; *fill* fills the mistakes' sentences.

        Raises:
            ExpressionError: an expression has no value there.
        """
        right = self.value(self.answer, names)
        other = self.value(self.accept, names) if self.accept else right
        slack = self.slack(right)
        mistakes = tuple(
            (self.value(e, names), fill(says, names)) for e, says in self.mistakes.items()
        )
        low, high = min(right, other) - slack, max(right, other) + slack
        return Key(self, right, slack, low, high, mistakes)


def keys_of(
    asked: Mapping[str, Asked], names: Names, fill: Callable[[str, Names], str]
) -> dict[str, "Key"]:
    """What is right of each that is asked for; one may build on those before it.

    Raises:
        ExpressionError: an expression has no value there.
    """
    known, keys = dict(names), {}
    for name, one in asked.items():
        known[name] = Quantity(one.value(one.answer, known), one.scale.unit.dimension)
        keys[name] = one.key(known, fill)
    return keys


@dataclass(frozen=True, slots=True)
class Key:
    """What one variant takes for right, and its foreseen mistakes with their sentences."""

    asked: Asked
    right: float
    slack: float
    low: float
    high: float
    mistakes: tuple[tuple[float, str], ...]

    def holds(self, reading: Reading) -> bool:
        """Whether *reading* counts as right, in one of the ways that it can be understood."""
        return any(
            value is not None and self.low <= value <= self.high
            for value in (reading.value, reading.other)
        )

    def praise(self) -> str:
        """What to say of a right answer."""
        right = self.asked.shown(self.right)
        if self.asked.tolerance == "exact":
            return f"Right: {right}."
        low, high = self.asked.shown(self.low), self.asked.shown(self.high)
        return f"Right: {right}. Everything from {low} to {high} counts."

    def blame(self, reading: Reading) -> str:
        """What to say of a wrong answer: the mistake behind it where its figure tells."""
        for value, says in self.mistakes:
            if abs(reading.value - value) <= self.asked.slack(value):
                return says
        ratio = reading.value / self.right if self.right else math.inf
        closeness = self.slack / abs(self.right) if self.right else 0.0
        if says := slip(ratio, self.asked.scale.unit, closeness):
            return says
        if reading.step and abs(reading.value - self.right) <= reading.step / 2:
            return (
                f"Right as far as you wrote it, but {self.asked.tolerance} is wanted here: "
                "give at least one more digit."
            )
        typed = self.asked.shown(reading.value)
        return f"{typed} is too {'large' if reading.value > self.right else 'small'}."

    def clashes(self) -> Iterator[tuple[str, str]]:
        """Each foreseen mistake that cannot be told from the right answer or another, and why."""
        seen: dict[str, float] = {}
        for expression, (value, _) in zip(self.asked.mistakes, self.mistakes, strict=True):
            room = self.slack * (_APART - 1)
            if self.low - room <= value <= self.high + room:
                near, right = self.asked.shown(value), self.asked.shown(self.right)
                says = f"comes to {near}, within twice the tolerance of the right answer, {right}"
                yield expression, says
            for other, earlier in seen.items():
                if abs(value - earlier) <= _APART * self.asked.slack(earlier):
                    yield expression, f"cannot be told from the mistake {other!r}"
            seen[expression] = value


@cache
def _share(tolerance: str) -> float:
    number, _, word = tolerance.partition(" ")
    return parse_quantity(f"{number} %" if word.startswith("point") else tolerance, RATIO)
