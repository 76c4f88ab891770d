"""A quantity that an exercise asks for: its unit, its tolerance, and its foreseen mistakes."""

import re
from collections.abc import Iterable
from functools import cache
from math import ceil, floor
from typing import TypeVar

from pydantic import Field, field_validator

from app.core.errors import AnswerError
from app.core.expressions import ExpressionError, Names, evaluate, read_answer
from app.core.translation import translate
from app.core.units import RATIO, Reading, Scale, scale_of, show_in
from app.core.units import parse as parse_quantity
from app.course.kinds.drawn_values import UnitName
from app.course.kinds.mistake import MISTAKES, Mistake
from app.course.kinds.strict import Strict

_EXACT = 1e-9
T = TypeVar("T")
_ROUNDS = re.compile(r"\b(?:ceil|floor|round)\(")
_READ_AS = 6  # figures of a value that the learner typed
_ROUNDED = 0.01  # of a mistake: more is not lost by rounding it
_NEAR_A_MISTAKE = 0.1  # of its value: an answer farther off is another mistake


class AskedQuantity(Strict):
    """One quantity that is asked for."""

    prompt: str = Field(default="", description="what this answer is, where there are several")
    answer: str = Field(description="a formula's name, or an expression of the drawn values")
    unit: UnitName = Field(default="", description="of a number without a unit: ms, GB, %, or empty")
    tolerance: str = Field(default="1 %", description="0.5 %, 0.3 points, or exact")
    accept: str = Field(default="", description="a second value: anything between the two is right")
    mistakes: dict[str, Mistake] = Field(default_factory=dict, description=MISTAKES)
    parts: dict[str, str] = Field(default_factory=dict, description="what it adds up, by name")
    part_names: dict[str, str] = Field(
        default_factory=dict, description="in a translation: what a part is called there"
    )

    @field_validator("tolerance")
    @classmethod
    def _is_a_tolerance(cls, tolerance: str) -> str:
        if tolerance != "exact" and not 0 < _share(tolerance) < 1 / 2:
            raise ValueError(f"a tolerance of {tolerance} is not between 0 and 50 %")
        return tolerance

    def part_name(self, part: str) -> str:
        """What *part* is called in the language of the texts."""
        return self.part_names.get(part, part)

    @property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    @property
    def is_count(self) -> bool:
        """Whether the answer is a number of things: it is exact, plain, and rounded to a whole one."""
        return self.tolerance == "exact" and self.scale.unit is RATIO and _ROUNDS.search(self.answer) is not None

    def slack(self, right: float) -> float:
        """How far from *right* an answer may be."""
        if self.tolerance == "exact":
            return abs(right) * _EXACT
        share = _share(self.tolerance)
        # The rounding of a double must not decide at the very edge.
        return (share if "point" in self.tolerance else abs(right) * share) * (1 + _EXACT)

    def value(self, expression: str, names: Names) -> float:
        """The value of *expression*, in the base unit of this answer.

        Raises:
            ExpressionError: it has no value, or one of another dimension.
        """
        found = evaluate(expression, names)
        if found.dimension != self.scale.unit.dimension and found.value:
            expected = self.unit or "a plain number"
            raise ExpressionError(f"{expression!r} is {found}, and the answer is in {expected}")
        return found.value

    def typed(self, value: float) -> str:
        """*value* to twelve figures, as a learner would type it."""
        return f"{value / self.scale.factor:.12g} {self.unit}".strip()

    def shown(self, value: float) -> str:
        """*value* as a person writes it, in the unit of this answer."""
        return show_in(value, self.scale)

    def foreseen(self, value: float, mistakes: Iterable[tuple[float, str]], step: float = 0.0) -> str:
        """What to say of *value* if it is one of *mistakes*, else nothing.

        A value that was typed to a *step* may be a mistake that was rounded to it.
        """
        found = self.nearest_mistake(value, mistakes, step)
        return found[1] if found else ""

    def nearest_mistake(self, value: float, mistakes: Iterable[tuple[float, T]], step: float) -> tuple[float, T] | None:
        """The one of *mistakes* that *value* is, or the nearest one where several round to it."""
        matching = [one for one in mistakes if self.is_mistake(value, one[0], step)]
        return min(matching, key=lambda one: abs(value - one[0]), default=None)

    def is_mistake(self, value: float, wrong: float, step: float) -> bool:
        """Whether *value*, typed to a *step*, is the mistake whose value is *wrong*."""
        if self.is_count and value.is_integer() and value in (floor(wrong), ceil(wrong)):
            return True
        # A tolerance in points is wide beside a small value, and says nothing beside 0.
        near = min(self.slack(wrong), abs(wrong) * _NEAR_A_MISTAKE)
        rounded = min(step / 2, abs(wrong) * _ROUNDED)
        return abs(value - wrong) <= max(near, rounded)

    def read(self, text: str) -> Reading:
        """The quantity that a learner's *text* stands for; arithmetic in it is worked out.

        Raises:
            AnswerError: it is not a quantity.
        """
        try:
            return read_answer(text, self.scale)
        except ExpressionError as error:
            raise AnswerError(str(error)) from error

    def echo(self, reading: Reading) -> str:
        """The end of a verdict on arithmetic: its value."""
        return (
            translate(" Read as {value}.", value=show_in(reading.value, self.scale, _READ_AS))
            if reading.worked_out
            else ""
        )


@cache
def _share(tolerance: str) -> float:
    number, _, word = tolerance.partition(" ")
    return parse_quantity(f"{number} %" if word.startswith("point") else tolerance, RATIO)
