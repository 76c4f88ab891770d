"""Calls of a function with drawn arguments, and what each should return."""

import ast
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator

from app.expressions import ExpressionError, Quantity, evaluate, holds
from app.kinds.base import Base, Strict
from app.kinds.drawing import Draw, draw
from app.sandbox.report import Plain
from app.units import figures, scale_of

Given = int | float | str | list[int | float]
_CALLS = 10  # drawn calls, or as many as there are values of an argument
_CLOSE = 1e-6
_NOTHING = 1e-12
_LONGEST = 80  # characters of a value in a sentence


@dataclass(frozen=True, slots=True)
class Call:
    """One call, as it is made and as it is written, and its right result."""

    arguments: tuple[Plain, ...]
    text: str
    expected: int | float


class Graded(Strict):
    """What the result of a function is compared with."""

    reference: str = Field(description="a formula's name, or an expression of the arguments")
    unit: str = Field(default="", description="of the result: ms, GB; nothing is the base unit")
    result: Literal["float", "int"] = Field(default="float", description="float or int")
    arguments: dict[str, list[Given]] = Field(
        min_length=1, description="values of each argument; every one occurs in a drawn call"
    )

    @field_validator("unit")
    @classmethod
    def _is_a_unit(cls, unit: str) -> str:
        scale_of(unit)
        return unit


class Coded(Graded, Base):
    """A kind about a Python function; `where` is a condition on its arguments."""

    def drawn_anew(self, seed: int) -> Draw:
        """The values that *seed* draws for the text."""
        return draw(seed, self.given, self.cases, self.let, "")

    def calls(self, entry: str, seed: int) -> tuple[Call, ...]:
        """Calls of *entry* with arguments that *seed* draws; every value occurs.

        Raises:
            ExpressionError: the reference has no value somewhere.
        """
        count = max(_CALLS, *(len(values) for values in self.arguments.values()))
        source = random.Random(f"calls {seed}")
        columns = [_column(source, values, count) for values in self.arguments.values()]
        rows = [row for row in zip(*columns, strict=True) if self._makes_sense(row)]
        unique = {repr(row): row for row in rows}
        return tuple(self.call(entry, row) for row in unique.values())

    def call(self, entry: str, row: Sequence[Given]) -> Call:
        """One call of *entry*.

        Raises:
            ExpressionError: the reference has no value there.
        """
        arguments = tuple(_plain(value) for value in row)
        text = f"{entry}({', '.join(python(value) for value in arguments)})"
        value = evaluate(self.reference, self._names(row)).value / scale_of(self.unit).factor
        if self.result == "float":
            return Call(arguments, text, value)
        if not math.isclose(value, round(value), rel_tol=1e-12):
            raise ExpressionError(f"{text} should give a whole number, and gives {value}")
        return Call(arguments, text, round(value))

    def agrees(self, value: Plain, expected: float) -> bool:
        """Whether *value* is the number *expected*, in the type that is wanted."""
        if type(value) is not int and (type(value) is not float or self.result == "int"):
            return False
        if self.result == "int":
            return value == expected
        return math.isclose(as_float(value), expected, rel_tol=_CLOSE, abs_tol=_NOTHING)

    def _makes_sense(self, row: Sequence[Given]) -> bool:
        return not self.where or holds(self.where, self._names(row))

    def _names(self, row: Sequence[Given]) -> Mapping[str, Quantity]:
        return dict(
            pair
            for name, value in zip(self.arguments, row, strict=True)
            for pair in _named(name, value)
        )


def function_in(source: str) -> str:
    """The name of the first function that *source* defines.

    Raises:
        ValueError: it defines none, or is not Python.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno} of the code is no Python: {error.msg}") from None
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            return statement.name
    raise ValueError("the code defines no function")


def python(value: Plain) -> str:
    """*value* as a person writes it in Python: 2e9, not 2000000000.0."""
    if isinstance(value, float) and math.isfinite(value):
        short = f"{value:.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
        return short if float(short) == value and not short.isdigit() else repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(python(part) for part in value)})"
    return repr(value)


def rounded(value: Plain) -> str:
    """A result as it is shown: to six figures."""
    if isinstance(value, float) and math.isfinite(value):
        return figures(value, 6)
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def as_float(value: Plain) -> float:
    """*value* as a float; nan when it is no number that fits."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def _column(source: random.Random, values: Sequence[Given], count: int) -> list[Given]:
    """*values* over and over until there are *count*, each round shuffled."""
    column: list[Given] = []
    while len(column) < count:
        column += sorted(values, key=lambda _: source.random())
    return column[:count]


def _plain(value: Given) -> Plain:
    if isinstance(value, str):
        return evaluate(value, {}).value
    return tuple(value) if isinstance(value, list) else value


def _named(name: str, value: Given) -> Iterator[tuple[str, Quantity]]:
    if isinstance(value, list):
        yield from ((f"{name}_{place}", Quantity(float(part))) for place, part in enumerate(value))
    else:
        yield name, evaluate(value, {}) if isinstance(value, str) else Quantity(float(value))
