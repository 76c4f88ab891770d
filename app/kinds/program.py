"""What learners see of a function that they write: examples, and how runs of them went."""

from dataclasses import dataclass

from pydantic import Field

from app.kinds.base import Markdown
from app.kinds.calling import Call, Given, plain, rounded
from app.kinds.outcomes import code_span, says_of
from app.kinds.strict import Strict
from app.sandbox.report import Outcome, Plain, Returned


@dataclass(frozen=True, slots=True)
class Example:
    """A call that the learner sees, and its right result."""

    call: str
    expected: str


@dataclass(frozen=True, slots=True)
class FunctionQuestion:
    """The function to write."""

    entry: str
    starter: str
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class TrialRun:
    """How one visible example went; *says* is Markdown, empty when it passed."""

    call: str
    expected: str
    got: str
    printed: str
    passed: bool
    says: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of the visible examples; *problem* is what stopped the code before them."""

    problem: str
    line: int | None
    printed: str
    runs: tuple[TrialRun, ...]


class Wrong(Strict):
    """A typical wrong program, and what to tell somebody whose results are the same."""

    code: str = Field(min_length=1)
    says: Markdown


class Worked(Strict):
    """A visible call with its result, where no formula is the reference."""

    call: list[Given] = Field(description="arguments in order")
    returns: Given | None


def returned(example: Worked) -> Plain:
    """What *example* says that its call returns."""
    return None if example.returns is None else plain(example.returns)


def says_of_call(call: Call, outcome: Outcome) -> str:
    """What went wrong in one call."""
    should = f"{code_span(call.text)} should return **{rounded(call.expected)}**"
    if not isinstance(outcome, Returned):
        return f"{should}. {says_of(outcome)}"
    value = outcome.value
    got = code_span(rounded(value))
    if value is None:
        return f"{should} and returned nothing: is a `return` missing?"
    if type(value) is float and type(call.expected) is int:
        return f"{should}, an int, and returned the float {got}."
    if type(call.expected) in (int, float) and type(value) not in (int, float):
        return f"{should}, a number, and returned {_a(value)}: {got}."
    if isinstance(call.expected, list | tuple) and not isinstance(value, list | tuple):
        wanted = f"{len(call.expected)} values"
        return f"{should}, {wanted}, and returned {_a(value)}: {got}."
    return f"{should} and returned {got}."


def _a(value: Plain) -> str:
    """The type of *value*, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
