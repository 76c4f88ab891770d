"""Calls of a function with drawn arguments, and what each should return."""

import ast
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, PrivateAttr

from app.expressions import ExpressionError, Quantity, evaluate, holds
from app.kinds.base import Base, UnitName
from app.kinds.drawing import Draw, draw
from app.kinds.strict import Strict
from app.sandbox.execution import Plain
from app.units import figures, scale_of

Scalar = bool | int | float | str
Row = list[bool | int | float]
Given = Scalar | list[Scalar | Row]
_CALLS = 10  # drawn calls, or as many as there are values of an argument
_KEPT_CALLS = 4096
_LONGEST = 80  # characters of a value in a sentence


@dataclass(frozen=True, slots=True)
class Call:
    """One call, as it is made and as it is written, and its right result."""

    arguments: tuple[Plain, ...]
    text: str
    expected: Plain


class Graded(Strict):
    """What the result of a function is compared with."""

    reference: str = Field(description="a formula's name, or an expression of the arguments")
    unit: UnitName = Field(
        default="", description="of the result: ms, GB; nothing is the base unit"
    )
    result: Literal["float", "int"] = Field(default="float", description="float or int")
    arguments: dict[str, list[Given]] = Field(
        min_length=1, description="values of each argument; every one occurs in a drawn call"
    )
    _made: dict[str, Call] = PrivateAttr(default_factory=dict)


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
        rows = [row for row in zip(*columns, strict=True) if self.makes_sense(row)]
        unique = {repr(row): row for row in rows}
        return tuple(self.call(entry, row) for row in unique.values())

    def call(self, entry: str, row: Sequence[Given]) -> Call:
        """One call of *entry*; the same rows come again at other seeds.

        Raises:
            ExpressionError: the reference has no value there.
        """
        key = f"{entry}{row}"
        if key not in self._made:
            if len(self._made) >= _KEPT_CALLS:
                self._made.clear()
            self._made[key] = self._call(entry, row)
        return self._made[key]

    def _call(self, entry: str, row: Sequence[Given]) -> Call:
        arguments = tuple(plain(value) for value in row)
        text = f"{entry}({', '.join(python(value) for value in arguments)})"
        if not self.reference:
            return Call(arguments, text, None)
        value = evaluate(self.reference, self._names(row)).value / scale_of(self.unit).factor
        if self.result == "float":
            return Call(arguments, text, value)
        if not math.isclose(value, round(value), rel_tol=1e-12):
            raise ExpressionError(f"{text} should give a whole number, and gives {value}")
        return Call(arguments, text, round(value))

    def makes_sense(self, row: Sequence[Given]) -> bool:
        """Whether `where` allows the arguments *row*."""
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
    if isinstance(value, list):
        return f"[{', '.join(python(part) for part in value)}]"
    return repr(value)


def rounded(value: Plain) -> str:
    """A result as it is shown: numbers to six figures."""
    text = _rounded(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _rounded(value: Plain) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return figures(value, 6)
    if isinstance(value, list):
        return f"[{', '.join(_rounded(part) for part in value)}]"
    if isinstance(value, tuple):
        inside = ", ".join(_rounded(part) for part in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    try:
        return repr(value)
    except ValueError:  # Python writes no int of so many digits, not even inside a set
        inside = "" if isinstance(value, int) else f"{a_type(value)} with "
        return f"{inside}a number of more than 4,300 digits"


def a_type(value: Plain) -> str:
    """The type of *value*, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _column(source: random.Random, values: Sequence[Given], count: int) -> list[Given]:
    """*values* over and over until there are *count*, each round shuffled."""
    column: list[Given] = []
    while len(column) < count:
        column += sorted(values, key=lambda _: source.random())
    return column[:count]


def plain(value: Given | Row) -> Plain:
    """*value* as it is passed: a text is a quantity in its base unit."""
    if isinstance(value, str):
        return evaluate(value, {}).value
    return [plain(part) for part in value] if isinstance(value, list) else value


def _named(name: str, value: Given | Row) -> Iterator[tuple[str, Quantity]]:
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield from _named(f"{name}_{place}", part)
    else:
        yield name, evaluate(value, {}) if isinstance(value, str) else Quantity(float(value))
