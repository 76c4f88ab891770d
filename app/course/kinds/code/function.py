"""Exercises whose answer is a Python function, called in the sandbox up to the boundaries of programs."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import UnavailableError
from app.core.expressions import ExpressionError
from app.core.quotation import visible_lines
from app.core.translation import localize, noted, translate
from app.core.units import Scale, scale_of
from app.core.validation import PlacedError
from app.course.kinds.base import Answer, Finding, Markdown, Strict, ValueCache, Verdict, Where, mistake_key
from app.course.kinds.code.adequacy import Contest, sensible
from app.course.kinds.code.agreement import CLOSE, alike, as_float
from app.course.kinds.code.argument_classes import ArgumentClasses, ArgumentKindError, find_unmet, read_kinds
from app.course.kinds.code.calls import (
    Argument,
    CallCache,
    CodeExercise,
    TrialCall,
    function_in,
    in_line,
    outcome_sentence,
    plain_argument,
    refuse_lost,
    returns_nothing,
    round_result,
    says_of_call,
    source_in,
)
from app.course.kinds.common_mistakes import common_mistake
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Outcome, Plain, StoppedRun
from app.course.sandbox.runner import Runner

Foreseen = list[tuple[tuple[Outcome, ...], str]]  # results of a wrong program, its sentence
_USUAL = 5  # solutions that are kept beside those with words
_REVEAL = "add arguments for which it goes wrong"
_ANY = -1  # in place of a seed, where all have the same


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
        secret, nothing = index >= len(self.drawn), returns_nothing(self.calls, outcomes)
        place = translate("Call {place} of {count}", place=index + 1, count=len(self.calls))
        return f"{place}: {says_of_call(self.calls[index], outcomes[index], secret=secret, nothing=nothing)}"


def passes(call: TrialCall, outcome: Outcome) -> bool:
    """Whether *outcome* is what *call* should return."""
    return isinstance(outcome, CallReturned) and alike(outcome.value, call.expected)


def trial_runs(calls: Sequence[TrialCall], outcomes: Sequence[Outcome]) -> tuple[TrialRun, ...]:
    """The results of the visible examples *calls*."""
    nothing = returns_nothing(calls, outcomes)
    runs = []
    for call, outcome in zip(calls, outcomes, strict=False):
        passed = passes(call, outcome)
        raised = outcome.type if isinstance(outcome, CallRaised) else translate("nothing")  # nothing: it was stopped
        run = TrialRun(
            call=call.text,
            expected=round_result(call.expected),
            got=round_result(outcome.value) if isinstance(outcome, CallReturned) else raised,
            printed=visible_lines(outcome.printed),
            passed=passed,
            says="" if passed else says_of_call(call, outcome, nothing=nothing),
            line=in_line(outcome),
        )
        runs.append(run)
    return tuple(runs)


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


class Function(CodeExercise):
    """Write a function."""

    kind_title = noted("Write code")
    sample = "collectives/write-ring-time"
    pace = 5.0
    runs_code = True
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
    kind: Literal["function"]
    wrong: list[WrongProgram] = Field(
        min_length=1, description="code and says of typical mistakes; each must fail a drawn call"
    )
    right_too: list[str] = Field(
        default_factory=list, description="right programs as others write them, of other forms and types"
    )
    wrong_too: list[str] = Field(
        default_factory=list,
        description="wrong programs without words of their own: the usual off-by-one, shift or clip; "
        "each must fail at every seed",
    )
    _entry: str = PrivateAttr(default="")
    _results: ValueCache[str, tuple[Plain]] = PrivateAttr(default_factory=CallCache)
    _expected: ValueCache[int, HiddenCalls] = PrivateAttr(default_factory=ValueCache)
    _foreseen: ValueCache[int, Foreseen] = PrivateAttr(default_factory=ValueCache)

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
        return ArgumentClasses(read_kinds(self.takes, self.arguments), super().makes_sense)

    @cached_property
    def class_rows(self) -> list[list[Argument]]:
        """Calls of every seed that meet the classes of arguments which the file's own leave out."""
        return self.classes.choose_calls([*self._example_rows(), *self.always]) if self.takes else []

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
            replace(
                self.call(self.entry, example.call),
                expected=None if example.returns is None else plain_argument(example.returns),
            )
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
            for call, outcome in zip(new, report.outcomes if report else (), strict=False)
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

    def question(self, seed: int) -> FunctionQuestion:
        """The function to write, and visible examples of it."""
        examples = tuple(Example(call.text, round_result(call.expected)) for call in self.visible_calls())
        return FunctionQuestion(self.entry, self.starter, examples)

    def right_answer(self, seed: int) -> Answer:
        """A right program."""
        return self.right

    def reveal(self, seed: int) -> str:
        """A right program, as a listing."""
        return f"```python\n{self.right.rstrip()}\n```"

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each typical wrong program."""
        drawn = self.draw(seed)
        for wrong in self.wrong:
            yield wrong.code, self.fill(wrong.says, drawn)

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Run the program on drawn calls; the first failing one is shown."""
        source = source_in(answer)
        hidden = await self.hidden_calls(seed, runner)
        calls = hidden.calls
        report = await self.run_calls(source, calls, runner, learner)
        if report.body:
            return Verdict(False, 0.0, (outcome_sentence(report.body),))
        passed = [passes(call, outcome) for call, outcome in zip(calls, report.outcomes, strict=False)]
        if all(passed) and len(passed) == len(calls):
            says = translate("All {calls} calls return the right value.", calls=len(calls))
            return Verdict(True, 1.0, (says,))
        told = [hidden.says_of(passed.index(False), report.outcomes)]
        diagnosis = await self._diagnosis(seed, hidden, report, runner)
        if diagnosis:
            told.append(localize(self.fill(diagnosis, self.draw(seed))))
        known = mistake_key(diagnosis) if diagnosis else ""
        return Verdict(False, sum(passed) / len(calls), tuple(told), mistake=known)

    async def try_out(self, seed: int, source: str, runner: Runner, learner: str = "") -> Trial:
        """Run the visible examples.

        Raises:
            AnswerError: there is nothing to run.
            UnavailableError: the sandbox cannot run it.
        """
        calls = self.visible_calls()
        report = await self.run_calls(source_in(source), calls, runner, learner)
        if report.body:
            problem = outcome_sentence(report.body)
            line = in_line(report.body)
            return Trial(problem=problem, line=line, printed=visible_lines(report.printed), runs=())
        runs = trial_runs(calls, report.outcomes)
        return Trial(problem="", line=None, printed=visible_lines(report.printed), runs=runs)

    async def _diagnosis(self, seed: int, hidden: HiddenCalls, report: Execution, runner: Runner) -> str:
        """The wording of the listed mistake with the same results, or of a common one."""
        if was_stopped(report):
            return ""
        calls, outcomes = hidden.always or hidden.drawn, report.outcomes
        foreseen = await self._wrong_outcomes(seed, calls, runner)
        for wrong, (results, says) in zip(self.wrong, foreseen, strict=True):
            if not same_results(outcomes[-len(calls) :], results):
                continue
            if hidden.always:
                other = await self.run_calls(wrong.code, hidden.drawn, runner, "")
                if not same_results(outcomes[: len(hidden.drawn)], other.outcomes):
                    continue
            return says
        if not all(isinstance(outcome, CallReturned) for outcome in outcomes):
            return ""
        return common_mistake_in(hidden.calls, outcomes, scale_of(self.unit))

    async def _wrong_outcomes(self, seed: int, calls: Sequence[TrialCall], runner: Runner) -> Foreseen:
        """The results of each typical wrong program, which are stored unless one of them was stopped."""
        key = _ANY if self.always else seed
        if key in self._foreseen:
            return self._foreseen[key]
        reports = [(await self.run_calls(w.code, calls, runner, ""), w.says) for w in self.wrong]
        found = [(report.outcomes, says) for report, says in reports]
        if not any(was_stopped(report) for report, _ in reports):
            self._foreseen.keep(key, found)
        return found

    def texts(self) -> Iterator[tuple[Where, str]]:
        """The sentences of wrong programs, too."""
        yield from super().texts()
        for index, wrong in enumerate(self.wrong):
            yield ("wrong", index, "says"), wrong.says

    async def prove_code(self, seeds: Sequence[int], runner: Runner) -> list[Finding]:
        """The right program passes, wrong ones fail at any seed and get their sentences."""
        try:
            findings = await self._prove_right(runner)
            contest = self.contest()
            findings = findings or await contest.findings(runner)
            findings = findings or await contest.boundary_findings(self.makes_sense, runner)
            for seed in seeds:
                findings += [] if findings else await self._prove(seed, runner)
            findings = findings or self._prove_classes()
        except ExpressionError as error:
            return [Finding(("reference",), str(error))]
        return findings

    def _prove_classes(self) -> list[Finding]:
        """Every argument says what it is, and every class of it is called or makes no sense."""
        findings = []
        if missing := [name for name in self.arguments if name not in self.takes]:
            says = f"{', '.join(missing)}: not known what it takes"
            findings.append(Finding(("takes",), says, "say it as in `size: positive`: see `wallclock schema`"))
        if len(self.right_too) + len(self.wrong_too) < _USUAL:
            says = f"fewer than {_USUAL} usual solutions are kept"
            cure = "add programs as others write them under right_too, and usual slips under wrong_too"
            findings.append(Finding(("wrong_too",), says, cure))
        if findings:
            return findings
        lacking, senseless = find_unmet(self.classes, self.rows_of_every_seed())
        for label in lacking:
            if label not in self.without:
                cure = f"add a call of it to always, or say why it makes no sense: without: {{{label}: ...}}"
                findings.append(Finding(("always",), f"no call made at every seed is one in which {label}", cure))
        for label in self.without:
            if label not in (*lacking, *senseless):
                says = f"{label!r} is called, or is not a class of an argument"
                findings.append(Finding(("without", label), says, f"classes are {', '.join(self.classes.demanded())}"))
        return findings

    def notes(self) -> Iterator[str]:
        """How many classes of arguments no call meets."""
        lacking, senseless = find_unmet(self.classes, self.rows_of_every_seed())
        if none := [*lacking, *senseless]:
            whole = len(self.classes.demanded())
            yield f"{len(none)} of {whole} classes of arguments make no sense: {'; '.join(none)}"

    def contest(self) -> Contest:
        """The right program against nearly right ones."""
        places = sensible(self.columns(), self.makes_sense)
        random.Random("places").shuffle(places)  # so that some of them are of every sort
        return Contest(
            entry=self.entry,
            right=self.right,
            right_too=self.right_too,
            wrong=[wrong.code for wrong in self.wrong],
            wrong_too=self.wrong_too,
            arguments=self.columns(),
            always=self.rows_of_every_seed(),
            places=places,
            floats=bool(self.reference) and self.result == "float",
        )

    async def _prove(self, seed: int, runner: Runner) -> list[Finding]:
        findings = []
        verdict = await self.grade(seed, self.right, runner)
        if not verdict.correct:
            findings.append(Finding(("right",), f"the right program fails: {verdict.feedback[0]}"))
        for index, program in enumerate(self.right_too):
            verdict = await self.grade(seed, program, runner)
            if not verdict.correct:
                says = f"the right program fails at seed {seed}: {verdict.feedback[0]}"
                findings.append(Finding(("right_too", index), says))
        for index, wrong in enumerate(self.wrong):
            verdict = await self.grade(seed, wrong.code, runner)
            if verdict.correct:
                says = f"seed {seed}: passes every drawn call: the arguments do not reveal it"
                findings.append(Finding(("wrong", index), says, _REVEAL))
            elif self.fill(wrong.says, self.draw(seed)) not in verdict.feedback:
                says = f"seed {seed}: does not get its feedback, but: {' '.join(verdict.feedback)}"
                findings.append(Finding(("wrong", index), says))
        return findings

    async def _prove_right(self, runner: Runner) -> list[Finding]:
        """The right program runs, and returns what the examples say."""
        trial = await self.try_out(0, self.right, runner)
        if trial.problem:
            return [Finding(("right",), f"the right program fails: {trial.problem}")]
        failed = [(index, run.says) for index, run in enumerate(trial.runs) if not run.passed]
        if failed and self.reference:
            return [Finding(("right",), f"the right program fails: {failed[0][1]}")]
        return [Finding(("examples", index), f"the right program disagrees: {says}") for index, says in failed]
