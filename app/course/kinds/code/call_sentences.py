"""Sentences about what a call of a learner's function returned or raised."""

import math
import re
from collections.abc import Callable, Iterator, Sequence

from app.core.quotation import code_span
from app.core.translation import noted, translate
from app.course.kinds.code.agreement import as_float
from app.course.kinds.code.calls import TrialCall, a_type, rounded
from app.course.sandbox.execution import CallRaised, CallReturned, Outcome, Plain, Stopped

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
Says = Callable[[TrialCall, Outcome], str]
_MISSING = re.compile(r"no function called (?P<name>\w+) is defined")


def returns_nothing(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> bool:
    """Whether a program never returns a value, and each of *calls* should."""
    return all(call.expected is not None for call in calls) and all(
        isinstance(outcome, CallReturned) and outcome.value is None for outcome in outcomes
    )


def says_of_call(call: TrialCall, outcome: Outcome) -> str:
    """What went wrong in one call, and what it should return."""
    made, right = code_span(call.text), rounded(call.expected)
    if not isinstance(outcome, CallReturned):
        should = translate("{call} should return **{right}**.", call=made, right=right)
        return f"{should} {outcome_sentence(outcome)}"
    value = outcome.value
    got = code_span(rounded(value))
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


def says_of_nothing(call: TrialCall, outcome: Outcome) -> str:
    """That a program has no `return`, and what a call should return."""
    made = code_span(call.text)
    return translate(_NOTHING, call=made, right=rounded(call.expected))


def says_of_secret(call: TrialCall, outcome: Outcome) -> str:
    """What went wrong in one call whose right result stays secret."""
    made = code_span(call.text)
    if not isinstance(outcome, CallReturned):
        return f"{made}: {outcome_sentence(outcome)}"
    return translate(
        "{call} should not return {got}: work it out by hand.", call=made, got=code_span(rounded(outcome.value))
    )


def says_of_secret_nothing(call: TrialCall, outcome: Outcome) -> str:
    """That a program has no `return`."""
    return translate("{call} returned nothing: is a `return` missing?", call=code_span(call.text))


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
