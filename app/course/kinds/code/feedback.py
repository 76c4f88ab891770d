"""A function to write: its right program, its examples, the calls that grade it, and feedback."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from app.core.errors import UnavailableError
from app.core.quotation import visible_lines
from app.core.translation import noted, translate
from app.core.units import Scale
from app.course.kinds.base import Markdown, Strict
from app.course.kinds.code.agreement import CLOSE, alike, as_float
from app.course.kinds.code.calls import (
    Argument,
    Says,
    TrialCall,
    in_line,
    returns_nothing,
    round_result,
    says_of_call,
    says_of_nothing,
    says_of_secret,
    says_of_secret_nothing,
)
from app.course.kinds.common_mistakes import common_mistake
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Outcome, StoppedRun

_NOT_RUN = {
    "lost": noted("the server lost this run: please submit it again"),
    "busy": noted("the server is too busy to run this program: please submit it again in a minute"),
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRun:
    """The result of one visible example; *says* is Markdown, empty when it passed."""

    call: str
    expected: str
    got: str
    printed: str
    passed: bool
    says: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A run of the visible examples; *problem* is what stopped the code before them."""

    problem: str
    line: int | None
    printed: str
    runs: tuple[TrialRun, ...]


class WrongProgram(Strict):
    """A typical wrong program, and the feedback on programs with the same results."""

    code: str = Field(min_length=1)
    says: Markdown


class WorkedCall(Strict):
    """A visible call with its result, where no formula is the reference."""

    call: list[Argument] = Field(description="arguments in order")
    returns: Argument | None


@dataclass(frozen=True, slots=True)
class HiddenCalls:
    """The calls that grade: examples and *drawn* ones, then those of every seed, whose right results stay secret."""

    drawn: tuple[TrialCall, ...]
    always: tuple[TrialCall, ...]

    @property
    def calls(self) -> tuple[TrialCall, ...]:
        """All of them, in order."""
        return (*self.drawn, *self.always)

    def says_of(self, index: int, outcomes: Sequence[Outcome]) -> str:
        """What went wrong in the call number *index*, from 0."""
        call, outcome = self.calls[index], outcomes[index]
        secret = index >= len(self.drawn)
        says = says_of_secret if secret else says_of_call
        if returns_nothing(self.calls, outcomes):
            says = says_of_secret_nothing if secret else says_of_nothing
        place = translate("Call {place} of {count}", place=index + 1, count=len(self.calls))
        return f"{place}: {says(call, outcome)}"


def passes(call: TrialCall, outcome: Outcome) -> bool:
    """Whether *outcome* is what *call* should return."""
    return isinstance(outcome, CallReturned) and alike(outcome.value, call.expected)


def trial_runs(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> tuple[TrialRun, ...]:
    """The results of the visible examples *calls*."""
    says = says_of_nothing if returns_nothing(calls, outcomes) else says_of_call
    return tuple(_trial_run(*pair, says) for pair in zip(calls, outcomes, strict=False))


def _trial_run(call: TrialCall, outcome: Outcome, says: Says) -> TrialRun:
    passed = passes(call, outcome)
    raised = outcome.type if isinstance(outcome, CallRaised) else translate("nothing")  # nothing: it was stopped
    return TrialRun(
        call=call.text,
        expected=round_result(call.expected),
        got=round_result(outcome.value) if isinstance(outcome, CallReturned) else raised,
        printed=visible_lines(outcome.printed),
        passed=passed,
        says="" if passed else says(call, outcome),
        line=in_line(outcome),
    )


def same_results(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether two programs return the same for all calls, or fail alike for some of them."""
    returned_some = not some or any(isinstance(one, CallReturned) for one in some)

    def is_same(one: Outcome, other: Outcome) -> bool:
        if isinstance(one, CallRaised) and isinstance(other, CallRaised):
            return one.type == other.type
        return isinstance(one, CallReturned) and isinstance(other, CallReturned) and alike(one.value, other.value)

    return len(some) == len(others) and returned_some and all(map(is_same, some, others))


def was_stopped(report: Execution) -> bool:
    """Whether a limit stopped the run: on a busy machine another run may get further."""
    return any(isinstance(outcome, StoppedRun) for outcome in (report.body, *report.outcomes))


def refuse_lost(report: Execution) -> None:
    """Refuse a run that says nothing about the program.

    Raises:
        UnavailableError: the server lost it, or was too busy to run it.
    """
    for outcome in (report.body, *report.outcomes):
        if isinstance(outcome, StoppedRun) and outcome.reason in _NOT_RUN:
            raise UnavailableError(translate(_NOT_RUN[outcome.reason]))


def common_mistake_in(calls: Sequence[TrialCall], outcomes: Sequence[Outcome], scale: Scale) -> str:
    """Feedback on a program whose results are all off by the same well-known factor."""
    ratios = []
    for call, outcome in zip(calls, outcomes, strict=False):
        value = outcome.value if isinstance(outcome, CallReturned) else None
        number = as_float(value) if type(value) in (int, float) else math.nan
        if (expected := as_float(call.expected)) and math.isfinite(number):
            ratios.append(number / expected)
    first = ratios[0] if ratios else 0.0
    if not first or any(abs(ratio / first - 1) > CLOSE for ratio in ratios):
        return ""
    return common_mistake(first, scale, CLOSE)
