"""The base of the kinds about a Python function: its reference, its calls, and what each should return."""

import ast
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field, PrivateAttr

from app.core.errors import AnswerError, UnavailableError
from app.core.expressions import ExpressionError, Quantity, evaluate, holds
from app.core.quotation import code_span
from app.core.translation import noted, translate
from app.core.units import scale_of
from app.course.kinds.base import Answer, Base, ValueCache, single_text
from app.course.kinds.code.agreement import as_float
from app.course.kinds.drawn_values import Draw, UnitName, draw
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Outcome, Plain, StoppedRun

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


def round_result(value: Plain) -> str:
    """A result as Python writes it: numbers to six figures, whole ones as a count: 64."""
    text = _rounded(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _rounded(value: Plain) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return python(float(f"{value:.{_SHOWN}g}")).removesuffix(".0")
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


_TENTH_PERCENT = 1e-3
_STOPPED = {
    "time": noted("It did not finish within the time limit: is there a loop that never ends?"),
    "memory": noted("It needed more memory than is available."),
    "stack": noted("It recursed too deeply: does the recursion ever end?"),
    "too large": noted("What it printed or returned is too large."),
    "refused": noted("It tried something that is not allowed here."),
}
_NOTHING = noted("{call} should return **{right}** but returned nothing: is a `return` missing?")
_OTHER = noted("{call} should return **{right}** but returned {got}.")
_NO_NUMBER = noted("{call} should return **{right}**, a number, but returned {type}: {got}.")
_NO_VALUES = noted("{call} should return **{right}**, {count} values, but returned {type}: {got}.")
_ROUNDED = noted("{call} should return **{right}** but returned {got}, which is rounded: return it unrounded.")
_MISSING = re.compile(r"no function called (?P<name>\w+) is defined")


def returns_nothing(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> bool:
    """Whether a program never returns a value, and each of *calls* should."""
    return all(call.expected is not None for call in calls) and all(
        isinstance(outcome, CallReturned) and outcome.value is None for outcome in outcomes
    )


def says_of_call(call: TrialCall, outcome: Outcome, *, secret: bool = False, nothing: bool = False) -> str:
    """What went wrong in one call, and what it should return unless that is *secret*; *nothing*: no call returns."""
    made, right = code_span(call.text), round_result(call.expected)
    if secret:
        return _says_of_secret(made, outcome, nothing=nothing)
    if nothing:
        return translate(_NOTHING, call=made, right=right)
    if not isinstance(outcome, CallReturned):
        should = translate("{call} should return **{right}**.", call=made, right=right)
        return f"{should} {outcome_sentence(outcome)}"
    value = outcome.value
    got = code_span(round_result(value))
    told = {"call": made, "right": right, "got": got}
    if value is None:
        return translate(_OTHER, **told)
    if type(call.expected) in (int, float) and type(value) not in (int, float):
        return translate(_NO_NUMBER, **told, type=a_type(value))
    if isinstance(call.expected, list | tuple) and not isinstance(value, list | tuple):
        return translate(_NO_VALUES, **told, count=len(call.expected), type=a_type(value))
    if cut := _cut(value, call.expected):
        return translate(_ROUNDED, call=made, right=right, got=code_span(cut))
    return translate(_OTHER, **told)


def _says_of_secret(made: str, outcome: Outcome, *, nothing: bool) -> str:
    if nothing:
        return translate("{call} returned nothing: is a `return` missing?", call=made)
    if not isinstance(outcome, CallReturned):
        return f"{made}: {outcome_sentence(outcome)}"
    got = code_span(round_result(outcome.value))
    return translate("{call} should not return {got}: work it out by hand.", call=made, got=got)


def _cut(value: Plain, expected: Plain) -> str:
    """*value* as it was returned, if it is *expected* rounded to a few figures or decimals."""
    parts, rights = list(_leaves(value)), list(_leaves(expected))
    if len(parts) != len(rights) or parts == rights:
        return ""
    pairs = list(zip(parts, rights, strict=True))
    return repr(value) if all(_is_rounded(part, right) for part, right in pairs) else ""


def _leaves(value: Plain) -> Iterator[float]:
    """The numbers in *value*, which may be nested; nan for anything else."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield math.nan if isinstance(value, bool) else as_float(value)


def _is_rounded(value: float, right: float) -> bool:
    """Whether *value* is *right*, to a tenth of a percent at least, with fewer figures."""
    if not math.isfinite(value) or not math.isfinite(right):
        return False
    few = {round(right, places) for places in range(1, 10)}
    few |= {float(f"{right:.{figures}g}") for figures in range(3, 10)}
    return value == right or (value in few and abs(value - right) <= _TENTH_PERCENT * abs(right))


_NOT_RUN = {
    "lost": noted("the server lost this run: please submit it again"),
    "busy": noted("the server is too busy to run this program: please submit it again in a minute"),
}


def refuse_lost(report: Execution) -> None:
    """Refuse a run that says nothing about the program.

    Raises:
        UnavailableError: the server lost it, or was too busy to run it.
    """
    for outcome in (report.body, *report.outcomes):
        if isinstance(outcome, StoppedRun) and outcome.reason in _NOT_RUN:
            raise UnavailableError(translate(_NOT_RUN[outcome.reason]))


def in_line(outcome: Outcome) -> int | None:
    """The line at fault in the learner's source, where there is one."""
    return outcome.line if isinstance(outcome, CallRaised) else None


def outcome_sentence(outcome: Outcome) -> str:
    """What happened, in one sentence of Markdown."""
    match outcome:
        case CallRaised(kind, message, line):
            return _raised(kind, message, line)
        case StoppedRun(reason):
            return translate(_STOPPED[reason])
        case CallReturned():
            return translate("It returned a value.")


def _raised(kind: str, message: str, line: int | None) -> str:
    # A learner may call an exception so, too; then it says this of a name, and nothing else.
    if kind == "Missing" and (found := _MISSING.fullmatch(message)):
        return translate("No function called {name} is defined.", name=code_span(found["name"]))
    where = translate("Line {line}: ", line=line) if line else ""
    what = f"{kind}: {message}" if message else kind
    return f"{where}{code_span(what)}"


_V = TypeVar("_V")


class CallCache(ValueCache[str, _V]):
    """What is known of calls, by their text: many, since the same rows come again at other seeds."""

    most = 4096


class CodeExercise(Base):
    """A kind about a Python function, compared with the *reference*; `where` is a condition on its arguments."""

    reference: str = Field(description="a formula's name, or an expression of the arguments")
    unit: UnitName = Field(default="", description="of the result: ms, GB; the base unit if empty")
    result: Literal["float", "int"] = Field(default="float", description="float or int")
    arguments: dict[str, Annotated[list[Argument], Field(min_length=1)]] = Field(
        min_length=1, description="values of each argument; every one occurs in a drawn call"
    )
    _made: ValueCache[str, TrialCall] = PrivateAttr(default_factory=CallCache)
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
