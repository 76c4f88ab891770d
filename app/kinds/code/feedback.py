"""What learners see of a function that they write: examples, and how runs of them went."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field

from app.kinds.base import Markdown
from app.kinds.code.agreement import as_float
from app.kinds.code.calls import Call, Given, a_type, plain, rounded
from app.kinds.code.outcomes import code_span, place_of, says_of
from app.kinds.strict import Strict
from app.sandbox.execution import Outcome, Plain, Returned

_TENTH_PERCENT = 1e-3


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


@dataclass(frozen=True, slots=True)
class Hidden:
    """The calls that grade: *drawn* ones, then those of every seed.

    The right results of the latter stay secret: they cannot be collected from seed to seed.
    """

    drawn: tuple[Call, ...]
    always: tuple[Call, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        """All of them, in order."""
        return (*self.drawn, *self.always)

    def says_of(self, index: int, outcomes: Sequence[Outcome]) -> str:
        """What went wrong in the call *index*."""
        call, outcome = self.calls[index], outcomes[index]
        says = says_of_call if index < len(self.drawn) else says_of_secret
        return f"{place_of(index, len(self.calls))}: {says(call, outcome)}"


def returned(example: Worked) -> Plain:
    """What *example* says that its call returns."""
    return None if example.returns is None else plain(example.returns)


def says_of_call(call: Call, outcome: Outcome) -> str:
    """What went wrong in one call, and what it should return."""
    should = f"{code_span(call.text)} should return **{rounded(call.expected)}**"
    if not isinstance(outcome, Returned):
        return f"{should}. {says_of(outcome)}"
    value = outcome.value
    got = code_span(rounded(value))
    if value is None:
        return f"{should} and returned nothing: is a `return` missing?"
    if type(call.expected) in (int, float) and type(value) not in (int, float):
        return f"{should}, a number, and returned {a_type(value)}: {got}."
    if isinstance(call.expected, list | tuple) and not isinstance(value, list | tuple):
        wanted = f"{len(call.expected)} values"
        return f"{should}, {wanted}, and returned {a_type(value)}: {got}."
    if cut := _cut(value, call.expected):
        return f"{should} and returned {code_span(cut)}: that is rounded. Return it as it is."
    return f"{should} and returned {got}."


def says_of_secret(call: Call, outcome: Outcome) -> str:
    """What went wrong in one call whose right result nobody is told."""
    made = code_span(call.text)
    if not isinstance(outcome, Returned):
        return f"{made}: {says_of(outcome)}"
    if outcome.value is None:
        return f"{made} returned nothing: is a `return` missing?"
    return f"{made} should not return {code_span(rounded(outcome.value))}: work it out by hand."


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
