"""Feedback on a function that a learner writes: examples, results of runs, diagnoses."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field

from app.errors import UnavailableError
from app.kinds.code.agreement import CLOSE, alike, as_float
from app.kinds.code.calls import Argument, TrialCall, a_type, plain_argument, rounded
from app.kinds.common_mistakes import common_mistake
from app.kinds.strict import Markdown, Strict
from app.quotation import code_span, visible_lines
from app.sandbox.execution import CallRaised, CallReturned, Execution, Outcome, Plain, Stopped
from app.translation import noted, translate
from app.units import Scale

_TENTH_PERCENT = 1e-3
_STOPPED = {
    "time": noted("It did not finish within the time limit: is there a loop that never ends?"),
    "memory": noted("It needed more memory than is available."),
    "stack": noted("It recursed too deeply: does the recursion ever end?"),
    "too large": noted("What it printed or returned is too large."),
    "refused": noted("It tried something that is not allowed here."),
}
_NOT_RUN = {
    "lost": noted("the server lost this run: please submit it again"),
    "busy": noted("the server is too busy to run this program: please submit it again in a minute"),
}
_NOTHING = noted("{call} should return **{right}** but returned nothing: is a `return` missing?")
_NO_NUMBER = noted("{call} should return **{right}**, a number, but returned {type}: {got}.")
_NO_VALUES = noted("{call} should return **{right}**, {count} values, but returned {type}: {got}.")
_ROUNDED = noted(
    "{call} should return **{right}** but returned {got}, which is rounded: return it unrounded."
)
_MISSING = re.compile(r"no function called (?P<name>\w+) is defined")


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


class Wrong(Strict):
    """A typical wrong program, and the feedback on programs with the same results."""

    code: str = Field(min_length=1)
    says: Markdown


class Worked(Strict):
    """A visible call with its result, where no formula is the reference."""

    call: list[Argument] = Field(description="arguments in order")
    returns: Argument | None


@dataclass(frozen=True, slots=True)
class Hidden:
    """The calls that grade: *drawn* ones, then those of every seed.

    The right results of the latter stay secret: they cannot be collected from seed to seed.
    """

    drawn: tuple[TrialCall, ...]
    always: tuple[TrialCall, ...]

    @property
    def calls(self) -> tuple[TrialCall, ...]:
        """All of them, in order."""
        return (*self.drawn, *self.always)

    def says_of(self, index: int, outcomes: Sequence[Outcome]) -> str:
        """What went wrong in the call number *index*, from 0."""
        call, outcome = self.calls[index], outcomes[index]
        says = says_of_call if index < len(self.drawn) else says_of_secret
        return f"{call_place(index, len(self.calls))}: {says(call, outcome)}"


def returned(example: Worked) -> Plain:
    """What *example* says that its call returns."""
    return None if example.returns is None else plain_argument(example.returns)


def passes(call: TrialCall, outcome: Outcome) -> bool:
    """Whether *outcome* is what *call* should return."""
    return isinstance(outcome, CallReturned) and alike(outcome.value, call.expected)


def trial_run(call: TrialCall, outcome: Outcome) -> TrialRun:
    """The result of the visible example *call*."""
    passed = passes(call, outcome)
    return TrialRun(
        call=call.text,
        expected=rounded(call.expected),
        got=rounded(outcome.value)
        if isinstance(outcome, CallReturned)
        else exception_kind(outcome),
        printed=visible_lines(outcome.printed),
        passed=passed,
        says="" if passed else says_of_call(call, outcome),
        line=in_line(outcome),
    )


def says_of_call(call: TrialCall, outcome: Outcome) -> str:
    """What went wrong in one call, and what it should return."""
    made, right, value = code_span(call.text), rounded(call.expected), None
    if isinstance(outcome, CallReturned):
        value = outcome.value
        if value is None:
            return translate(_NOTHING, call=made, right=right)
    else:
        should = translate("{call} should return **{right}**.", call=made, right=right)
        return f"{should} {outcome_sentence(outcome)}"
    got = code_span(rounded(value))
    told = {"call": made, "right": right, "got": got}
    if type(call.expected) in (int, float) and type(value) not in (int, float):
        return translate(_NO_NUMBER, **told, type=a_type(value))
    if isinstance(call.expected, list | tuple) and not isinstance(value, list | tuple):
        return translate(_NO_VALUES, **told, count=len(call.expected), type=a_type(value))
    if cut := _cut(value, call.expected):
        return translate(_ROUNDED, call=made, right=right, got=code_span(cut))
    return translate("{call} should return **{right}** but returned {got}.", **told)


def says_of_secret(call: TrialCall, outcome: Outcome) -> str:
    """What went wrong in one call whose right result stays secret."""
    made = code_span(call.text)
    if not isinstance(outcome, CallReturned):
        return f"{made}: {outcome_sentence(outcome)}"
    if outcome.value is None:
        return translate("{call} returned nothing: is a `return` missing?", call=made)
    return translate(
        "{call} should not return {got}: work it out by hand.",
        call=made,
        got=code_span(rounded(outcome.value)),
    )


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


def call_place(index: int, count: int) -> str:
    """Which call of how many."""
    return translate("Call {place} of {count}", place=index + 1, count=count)


def exception_kind(outcome: Outcome) -> str:
    """The type of the exception raised instead of returning; "nothing" if it was stopped."""
    return outcome.type if isinstance(outcome, CallRaised) else translate("nothing")


def in_line(outcome: Outcome) -> int | None:
    """The line at fault in the learner's source, where there is one."""
    return outcome.line if isinstance(outcome, CallRaised) else None


def outcome_sentence(outcome: Outcome) -> str:
    """What happened, in one sentence of Markdown."""
    match outcome:
        case CallRaised(kind, message, line):
            return _raised(kind, message, line)
        case Stopped(reason):
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


def same_results(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether two programs return the same for all calls."""
    return len(some) == len(others) and all(
        isinstance(a, CallReturned) and isinstance(b, CallReturned) and alike(a.value, b.value)
        for a, b in zip(some, others, strict=True)
    )


def was_stopped(report: Execution) -> bool:
    """Whether a limit stopped the run: on a busy machine another run may get further."""
    return any(isinstance(outcome, Stopped) for outcome in (report.body, *report.outcomes))


def refuse_lost(report: Execution) -> None:
    """Refuse a run that says nothing about the program.

    Raises:
        UnavailableError: the server lost it, or was too busy to run it.
    """
    for outcome in (report.body, *report.outcomes):
        if isinstance(outcome, Stopped) and outcome.reason in _NOT_RUN:
            raise UnavailableError(translate(_NOT_RUN[outcome.reason]))


def common_mistake_in(calls: Sequence[TrialCall], outcomes: Sequence[Outcome], scale: Scale) -> str:
    """Feedback on a program whose results are all off by the same well-known factor."""
    ratios = list(_ratios(calls, outcomes))
    first = ratios[0] if ratios else 0.0
    if not first or any(abs(ratio / first - 1) > CLOSE for ratio in ratios):
        return ""
    return common_mistake(first, scale, CLOSE)


def _ratios(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> Iterator[float]:
    for call, outcome in zip(calls, outcomes, strict=False):
        number = _number(outcome)
        if (expected := as_float(call.expected)) and number is not None:
            yield number / expected


def _number(outcome: Outcome) -> float | None:
    """The finite number that a call returned."""
    if not isinstance(outcome, CallReturned) or type(outcome.value) not in (int, float):
        return None
    number = as_float(outcome.value)
    return number if math.isfinite(number) else None
