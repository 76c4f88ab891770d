"""The base of the kinds about a Python function: its reference, and calls of it."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PrivateAttr

from app.core.expressions import ExpressionError, Quantity, evaluate, holds
from app.core.units import scale_of
from app.course.kinds.base import Base
from app.course.kinds.code.calls import Argument, TrialCall, call_numbers, column, plain_argument, python
from app.course.kinds.drawn_values import Draw, UnitName, draw
from app.course.kinds.strict import Remembered, Strict


class _Calls(Remembered[str, TrialCall]):
    """Calls by their text: many, since the same rows come again at other seeds."""

    most = 4096


class Reference(Strict):
    """The formula that results are compared with, and the arguments of the calls."""

    reference: str = Field(description="a formula's name, or an expression of the arguments")
    unit: UnitName = Field(default="", description="of the result: ms, GB; the base unit if empty")
    result: Literal["float", "int"] = Field(default="float", description="float or int")
    arguments: dict[str, Annotated[list[Argument], Field(min_length=1)]] = Field(
        min_length=1, description="values of each argument; every one occurs in a drawn call"
    )
    _made: Remembered[str, TrialCall] = PrivateAttr(default_factory=_Calls)


class CodeExercise(Reference, Base):
    """A kind about a Python function; `where` is a condition on its arguments."""

    fewest_calls: ClassVar[int] = 10  # that are drawn, or as many as there are values of an argument

    def _draw(self, seed: int) -> Draw:
        """The values that *seed* draws for the text."""
        return draw(seed, self.given, self.cases, self.let, "", self.exhibits)

    def calls(self, entry: str, seed: int) -> tuple[TrialCall, ...]:
        """Calls of *entry* with arguments that *seed* draws; every value occurs.

        Raises:
            ExpressionError: the reference has no value somewhere.
        """
        count = max(self.fewest_calls, *(len(values) for values in self.arguments.values()))
        source = random.Random(f"calls {seed}")
        columns = [column(source, values, count) for values in self.arguments.values()]
        rows = [row for row in zip(*columns, strict=True) if self.makes_sense(row)]
        unique = {repr(row): row for row in rows}
        return tuple(self.call(entry, row) for row in unique.values())

    def call(self, entry: str, row: Sequence[Argument]) -> TrialCall:
        """One call of *entry*; the same rows come again at other seeds.

        Raises:
            ExpressionError: the reference has no value there.
        """
        return self._made.of(f"{entry}{row}", lambda: self._call(entry, row))

    def _call(self, entry: str, row: Sequence[Argument]) -> TrialCall:
        arguments = tuple(plain_argument(value) for value in row)
        text = f"{entry}({', '.join(python(value) for value in arguments)})"
        if not self.reference:
            return TrialCall(arguments, text, None)
        value = evaluate(self.reference, self.argument_names(row)).value / scale_of(self.unit).factor
        if self.result == "float":
            return TrialCall(arguments, text, value)
        if not math.isclose(value, round(value), rel_tol=1e-12):
            raise ExpressionError(f"{text} should give a whole number, but gives {value}")
        return TrialCall(arguments, text, round(value))

    def makes_sense(self, row: Sequence[Argument]) -> bool:
        """Whether `where` allows the arguments *row*."""
        return not self.where or holds(self.where, self.argument_names(row))

    def argument_names(self, row: Sequence[Argument]) -> Mapping[str, Quantity]:
        """The arguments *row* as the reference and conditions call them."""
        named = list(zip(self.arguments, row, strict=True))
        lengths = {f"{name}_length": Quantity(float(len(value))) for name, value in named if isinstance(value, list)}
        return {**lengths, **dict(pair for name, value in named for pair in call_numbers(name, value))}
