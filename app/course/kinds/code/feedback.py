"""A function to write: its right program, its examples, the calls that grade it, and feedback."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import PlacedError, UnavailableError
from app.core.quotation import visible_lines
from app.core.translation import noted, translate
from app.core.units import Scale
from app.course.kinds.base import Markdown, Strict, ValueCache
from app.course.kinds.code.agreement import CLOSE, alike, as_float
from app.course.kinds.code.argument_classes import ArgumentClasses, ArgumentKindError, read_kinds
from app.course.kinds.code.calls import (
    Argument,
    CodeExercise,
    Says,
    TrialCall,
    exception_kind,
    function_in,
    in_line,
    plain_argument,
    returns_nothing,
    round_result,
    says_of_call,
    says_of_nothing,
    says_of_secret,
    says_of_secret_nothing,
)
from app.course.kinds.common_mistakes import common_mistake
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Outcome, Plain, StoppedRun
from app.course.sandbox.runner import Runner

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
    """The calls that grade: the examples and *drawn* ones, then other calls of every seed.

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
        secret = index >= len(self.drawn)
        says = says_of_secret if secret else says_of_call
        if returns_nothing(self.calls, outcomes):
            says = says_of_secret_nothing if secret else says_of_nothing
        return f"{call_place(index, len(self.calls))}: {says(call, outcome)}"


def returned_value(example: WorkedCall) -> Plain:
    """What *example* says that its call returns."""
    return None if example.returns is None else plain_argument(example.returns)


def passes(call: TrialCall, outcome: Outcome) -> bool:
    """Whether *outcome* is what *call* should return."""
    return isinstance(outcome, CallReturned) and alike(outcome.value, call.expected)


def trial_runs(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> tuple[TrialRun, ...]:
    """The results of the visible examples *calls*."""
    says = says_of_nothing if returns_nothing(calls, outcomes) else says_of_call
    return tuple(_trial_run(*pair, says) for pair in zip(calls, outcomes, strict=False))


def _trial_run(call: TrialCall, outcome: Outcome, says: Says) -> TrialRun:
    passed = passes(call, outcome)
    return TrialRun(
        call=call.text,
        expected=round_result(call.expected),
        got=round_result(outcome.value) if isinstance(outcome, CallReturned) else exception_kind(outcome),
        printed=visible_lines(outcome.printed),
        passed=passed,
        says="" if passed else says(call, outcome),
        line=in_line(outcome),
    )


def call_place(index: int, count: int) -> str:
    """Which call of how many."""
    return translate("Call {place} of {count}", place=index + 1, count=count)


def same_results(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether two programs return the same for all calls, or fail alike for some of them."""
    returned_some = not some or any(isinstance(one, CallReturned) for one in some)
    return len(some) == len(others) and returned_some and all(map(_same_result, some, others))


def _same_result(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, CallRaised) and isinstance(other, CallRaised):
        return one.type == other.type
    return isinstance(one, CallReturned) and isinstance(other, CallReturned) and alike(one.value, other.value)


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
    ratios = list(_ratios(calls, outcomes))
    first = ratios[0] if ratios else 0.0
    if not first or any(abs(ratio / first - 1) > CLOSE for ratio in ratios):
        return ""
    return common_mistake(first, scale, CLOSE)


def _ratios(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> Iterator[float]:
    for call, outcome in zip(calls, outcomes, strict=False):
        number = _returned_number(outcome)
        if (expected := as_float(call.expected)) and number is not None:
            yield number / expected


def _returned_number(outcome: Outcome) -> float | None:
    """The finite number that a call returned."""
    if not isinstance(outcome, CallReturned) or type(outcome.value) not in (int, float):
        return None
    number = as_float(outcome.value)
    return number if math.isfinite(number) else None


class _Results(ValueCache[str, tuple[Plain]]):
    """What the right program returns, by the text of the call."""

    most = 4096


class CalledFunction(CodeExercise):
    """An exercise that calls a function that learners write."""

    fewest_calls = 6  # beside the examples and those of every seed

    reference: str = Field(
        default="",
        description="a formula's name, or an expression of the arguments; without one, the right "
        "program is the reference, and each example says what it returns",
    )
    starter: str = Field(min_length=1, description="the first line, a docstring, and ...")
    right: str = Field(min_length=1, description="a whole right program")
    examples: list[list[Argument] | WorkedCall] = Field(
        min_length=1, max_length=6, description="visible calls: their arguments in order, or call and returns"
    )
    always: list[list[Argument]] = Field(
        default_factory=list,
        max_length=40,
        description="hidden calls of every seed, which tell nearly right programs from right ones; "
        "`wallclock lint` finds them",
    )
    takes: dict[str, str] = Field(
        default_factory=dict,
        description="what each argument is: degree, count, positive, amount, real, probability, choice, "
        "list of one of these, rows, list; calls of every class of it are made at every seed",
    )
    without: dict[str, str] = Field(
        default_factory=dict, description="a class of arguments that makes no sense here, and why: n is 1"
    )
    _entry: str = PrivateAttr(default="")
    _results: ValueCache[str, tuple[Plain]] = PrivateAttr(default_factory=_Results)
    _expected: ValueCache[int, HiddenCalls] = PrivateAttr(default_factory=ValueCache)

    @model_validator(mode="after")
    def _examples_fit(self) -> Self:
        self._entry = function_in(self.starter)
        for example in self.examples:
            row = example.call if isinstance(example, WorkedCall) else example
            if isinstance(example, WorkedCall) == bool(self.reference):
                raise ValueError(
                    f"the example {row} needs no `returns`: the reference says it"
                    if self.reference
                    else f"the example {row} needs `call` and `returns`: no reference is given"
                )
            self._fits("example", row)
        for row in self.always:
            self._fits("call", row)
        for name in self.takes:
            if name not in self.arguments:
                raise PlacedError(f"{name} is not an argument", ("takes", name), f"name {', '.join(self.arguments)}")
        try:
            read_kinds(self.takes, self.arguments)
        except ArgumentKindError as error:
            raise PlacedError(str(error), ("takes",), "see `wallclock schema`") from None
        return self

    @cached_property
    def classes(self) -> ArgumentClasses:
        """The classes of the arguments."""
        return ArgumentClasses(read_kinds(self.takes, self.arguments), self._meets_where)

    @cached_property
    def class_rows(self) -> list[list[Argument]]:
        """Calls of every seed that meet the classes of arguments which the file's own leave out."""
        return self.classes.choose_calls([*self._example_rows(), *self.always]) if self.takes else []

    def _meets_where(self, row: Sequence[Argument]) -> bool:
        return super().makes_sense(row)

    def makes_sense(self, row: Sequence[Argument]) -> bool:
        """Whether `where` allows the arguments *row*, and lists in it are as long as they must be."""
        return self.classes.fits(row) and super().makes_sense(row)

    def columns(self) -> Mapping[str, Sequence[Argument]]:
        """The values of each argument with which programs are compared."""
        return {one.name: one.column if self.takes else one.given for one in self.classes.arguments}

    def _example_rows(self) -> list[list[Argument]]:
        return [one.call if isinstance(one, WorkedCall) else one for one in self.examples]

    def _fits(self, what: str, row: Sequence[Argument]) -> None:
        if len(row) != len(self.arguments):
            raise ValueError(f"the {what} {row} does not give {', '.join(self.arguments)}")

    @property
    def entry(self) -> str:
        """The name of the function to write."""
        return self._entry

    def visible_calls(self) -> tuple[TrialCall, ...]:
        """The calls of the examples."""
        return tuple(
            replace(self.call(self.entry, example.call), expected=returned_value(example))
            if isinstance(example, WorkedCall)
            else self.call(self.entry, example)
            for example in self.examples
        )

    async def hidden_calls(self, seed: int, runner: Runner) -> HiddenCalls:
        """The calls that grade, with what the reference or the right program returns.

        Raises:
            UnavailableError: the right program was stopped, or there is nothing to call.
        """
        known = self._expected.get(seed)
        return known or self._expected.keep(seed, await self._worked_out(seed, runner))

    async def _worked_out(self, seed: int, runner: Runner) -> HiddenCalls:
        always = [self.call(self.entry, row) for row in (*self.always, *self.class_rows)]
        secret = {call.text for call in always}
        told = [*self.visible_calls(), *self.calls(self.entry, seed)]
        told = list({call.text: call for call in told if call.text not in secret}.values())
        calls = [*told, *always]
        if not self.reference:
            calls = await self._with_results(calls, runner)
        return HiddenCalls(tuple(calls[: len(told)]), tuple(calls[len(told) :]))

    async def _with_results(self, calls: Sequence[TrialCall], runner: Runner) -> list[TrialCall]:
        """*calls* with what the right program returns, which is worked out once for each."""
        new = [call for call in calls if call.text not in self._results]
        report = await self.run_calls(self.right, new, runner, "") if new else None
        found = {
            call.text: (outcome.value,)
            for call, outcome in (paired_outcomes(new, report) if report else ())
            if isinstance(outcome, CallReturned)
        }
        if len(found) < len(new):  # never grade by some of them
            raise UnavailableError(translate("the expected results could not be computed: please submit it again"))
        known = {call.text: self._results.get(call.text) or found[call.text] for call in calls}
        for text, value in found.items():
            self._results.keep(text, value)
        return [replace(call, expected=known[call.text][0]) for call in calls]

    async def run_calls(self, source: str, calls: Sequence[TrialCall], runner: Runner, learner: str) -> Execution:
        """What the function of *source* returns for each of *calls*.

        Raises:
            UnavailableError: the server lost the run, or was too busy for it.
        """
        report = await runner.run(source, self.entry, [c.arguments for c in calls], learner)
        refuse_lost(report)
        return report

    def rows_of_every_seed(self) -> list[list[Argument]]:
        """Calls that are made whatever the seed: of a single argument every value is drawn."""
        columns = list(self.arguments.values())
        alone = [[value] for value in columns[0]] if len(columns) == 1 else []
        return [*self._example_rows(), *self.always, *self.class_rows, *(row for row in alone if self.makes_sense(row))]


def paired_outcomes(calls: Sequence[TrialCall], report: Execution) -> Iterator[tuple[TrialCall, Outcome]]:
    """Each of *calls* with what came of it."""
    return zip(calls, report.outcomes, strict=False)
