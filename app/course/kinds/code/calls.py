"""Calls of a function with drawn arguments, and what each should return."""

import ast
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import AnswerError
from app.core.expressions import Quantity, evaluate
from app.core.translation import translate
from app.core.validation import PlacedError, Where
from app.course.kinds.answers import Answer, single_text
from app.course.sandbox.execution import Plain

Scalar = bool | int | float | str
Row = list[Scalar]
Rows = list[Scalar | Row]
Argument = Scalar | list[Scalar | Rows]  # at most three lists deep: rows of each rank
_LONGEST = 80  # characters of a value in a sentence
_SHOWN = 6  # digits of a result
_IS_FLOAT = re.compile(r"[.e]")


@dataclass(frozen=True, slots=True)
class TrialCall:
    """One call, as it is made and as it is written, and its right result."""

    arguments: tuple[Plain, ...]
    text: str
    expected: Plain


def source_in(answer: Answer) -> str:
    """The program that *answer* is.

    Raises:
        AnswerError: it is empty.
    """
    source = single_text(answer)
    if not source.strip():
        raise AnswerError(translate("the answer is empty: write a function"))
    return source


def function_in(source: str) -> str:
    """The name of the first function that *source* defines.

    Raises:
        ValueError: it defines none, or is not Python.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno} of the code is not valid Python: {error.msg}") from None
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            return statement.name
    raise ValueError("the code defines no function")


def python(value: Plain) -> str:
    """*value* as a person writes it in Python: 2e9, not 2000000000.0, and -1.0, not -1."""
    if isinstance(value, float) and math.isfinite(value):
        short = f"{value:.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
        return short if float(short) == value and _IS_FLOAT.search(short) else repr(value)
    if isinstance(value, list):
        return f"[{', '.join(python(part) for part in value)}]"
    return repr(value)


def rounded(value: Plain) -> str:
    """A result as Python writes it: numbers to six figures."""
    text = _rounded(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _rounded(value: Plain) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return python(float(f"{value:.{_SHOWN}g}"))
    if isinstance(value, list):
        return f"[{', '.join(_rounded(part) for part in value)}]"
    if isinstance(value, tuple):
        inside = ", ".join(_rounded(part) for part in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    try:
        return repr(value)
    except ValueError:  # Python does not write an int of that many digits, not even inside a set
        inside = "" if isinstance(value, int) else f"{a_type(value)} with "
        return f"{inside}a number of more than 4,300 digits"


def a_type(value: Plain) -> str:
    """The type of *value*, with its article."""
    name = type(value).__name__
    if name[0] in "aeiou":
        return translate("an {type}", type=name)
    return translate("a {type}", type=name)


def column(source: random.Random, values: Sequence[Argument], count: int) -> list[Argument]:
    """*values* over and over until there are *count*, each round shuffled."""
    column: list[Argument] = []
    while len(column) < count:
        column += sorted(values, key=lambda _: source.random())
    return column[:count]


def plain_argument(value: Argument | Rows | Row) -> Plain:
    """*value* as it is passed: a text is a quantity in its base unit; in quotes, itself."""
    if isinstance(value, str):
        return value[1:-1] if _is_quoted(value) else evaluate(value, {}).value
    return [plain_argument(part) for part in value] if isinstance(value, list) else value


def as_argument(value: Plain) -> Argument:
    """The argument that is passed as *value*: see `plain_argument`."""
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return [as_argument(part) for part in value]  # type: ignore[misc]
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{value!r} cannot be an argument")


def call_numbers(name: str, value: Argument | Rows | Row) -> Iterator[tuple[str, Quantity]]:
    """The numbers in *value*, as expressions call them: x, or x_0 and x_1 of a list."""
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield from call_numbers(f"{name}_{place}", part)
    elif not _is_quoted(value):
        yield name, evaluate(value, {}) if isinstance(value, str) else Quantity(float(value))


def _is_quoted(value: object) -> bool:
    return isinstance(value, str) and value[:1] == value[-1:] == "'" and len(value) > 1


def refuse_absent_lines(lines: Sequence[str], named: Mapping[Where, int]) -> None:
    """Refuse a number under one of the keys *named* that is not the number of one of *lines*.

    Raises:
        PlacedError: it is not, with its place.
    """
    for where, line in named.items():
        if not 1 <= line <= len(lines):
            says = f"line {line} does not exist: the code has {len(lines)} lines"
            raise PlacedError(says, where, f"write a number from 1 to {len(lines)}")
