"""Exercises whose answer is a Python function, called in the sandbox with drawn arguments."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.errors import AnswerError, UnavailableError
from app.expressions import ExpressionError
from app.kinds.base import KEPT, Answer, Finding, Verdict, Where, single
from app.kinds.calling import Call, Coded, Given, as_float, function_in, rounded
from app.kinds.outcomes import in_line, kind_of, place_of, says_of
from app.kinds.program import (
    Example,
    FunctionQuestion,
    Trial,
    TrialRun,
    Worked,
    Wrong,
    returned,
    says_of_call,
)
from app.kinds.slips import slip
from app.sandbox.report import Outcome, Report, Returned, Stopped
from app.sandbox.runner import Runner
from app.units import scale_of

_CLOSE = 1e-6


class Function(Coded):
    """Write a function."""

    kind: Literal["function"]
    reference: str = Field(
        default="",
        description="a formula's name, or an expression of the arguments; without one, the right "
        "program is the reference, and each example says what it returns",
    )
    starter: str = Field(min_length=1, description="the first line, a docstring, and ...")
    right: str = Field(min_length=1, description="a whole right program")
    examples: list[list[Given] | Worked] = Field(
        min_length=1,
        max_length=6,
        description="visible calls: their arguments in order, or call and returns",
    )
    wrong: list[Wrong] = Field(
        min_length=1, description="code and says of typical mistakes; each must fail a drawn call"
    )
    _entry: str = PrivateAttr(default="")
    _expected: dict[int, tuple[Call, ...]] = PrivateAttr(default_factory=dict)
    _foreseen: dict[int, list[tuple[tuple[Outcome, ...], str]]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _examples_fit(self) -> Self:
        self._entry = function_in(self.starter)
        for example in self.examples:
            row = example.call if isinstance(example, Worked) else example
            if len(row) != len(self.arguments):
                raise ValueError(f"the example {row} does not give {', '.join(self.arguments)}")
            if isinstance(example, Worked) == bool(self.reference):
                raise ValueError(
                    f"the example {row} needs no `returns`: the reference says it"
                    if self.reference
                    else f"the example {row} needs call and `returns`: there is no reference"
                )
        return self

    @property
    def entry(self) -> str:
        """The name of the function to write."""
        return self._entry

    def question(self, seed: int) -> FunctionQuestion:
        """The function to write, and visible examples of it."""
        examples = tuple(Example(call.text, rounded(call.expected)) for call in self._visible())
        return FunctionQuestion(self.entry, self.starter, examples)

    def _visible(self) -> tuple[Call, ...]:
        """The calls of the examples."""
        return tuple(
            replace(self.call(self.entry, example.call), expected=returned(example))
            if isinstance(example, Worked)
            else self.call(self.entry, example)
            for example in self.examples
        )

    async def _hidden(self, seed: int, runner: Runner) -> tuple[Call, ...]:
        """The calls that grade, with what the reference or the right program returns."""
        calls = self.calls(self.entry, seed)
        if self.reference:
            return calls
        if seed not in self._expected:
            if len(self._expected) >= KEPT:
                self._expected.clear()
            report = await self._run(self.right, calls, runner, "")
            self._expected[seed] = tuple(
                replace(call, expected=outcome.value)
                for call, outcome in _pairs(calls, report)
                if isinstance(outcome, Returned)
            )
        return self._expected[seed]

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
        source = _source(answer)
        calls = await self._hidden(seed, runner)
        report = await self._run(source, calls, runner, learner)
        if report.body:
            return Verdict(False, 0.0, (says_of(report.body),))
        passed = [self._passes(call, outcome) for call, outcome in _pairs(calls, report)]
        if all(passed) and len(passed) == len(calls):
            return Verdict(True, 1.0, (f"All {len(calls)} calls return the right value.",))
        says = [self._first_failing(calls, report, passed)]
        if diagnosis := await self._diagnosis(seed, calls, report, runner):
            says.append(diagnosis)
        return Verdict(False, sum(passed) / len(calls), tuple(says))

    async def try_out(self, seed: int, source: str, runner: Runner, learner: str = "") -> Trial:
        """Run the visible examples.

        Raises:
            AnswerError: there is nothing to run.
            UnavailableError: the sandbox cannot run it.
        """
        calls = self._visible()
        report = await self._run(_source(source), calls, runner, learner)
        if report.body:
            return Trial(says_of(report.body), in_line(report.body), report.printed, ())
        runs = (self._trial(call, outcome) for call, outcome in _pairs(calls, report))
        return Trial("", None, report.printed, tuple(runs))

    def _trial(self, call: Call, outcome: Outcome) -> TrialRun:
        passed = self._passes(call, outcome)
        got = rounded(outcome.value) if isinstance(outcome, Returned) else kind_of(outcome)
        says = "" if passed else says_of_call(call, outcome)
        expected = rounded(call.expected)
        return TrialRun(call.text, expected, got, outcome.printed, passed, says, in_line(outcome))

    async def _run(
        self, source: str, calls: Sequence[Call], runner: Runner, learner: str
    ) -> Report:
        report = await runner.run(source, self.entry, [c.arguments for c in calls], learner)
        for outcome in (report.body, *report.outcomes):
            if isinstance(outcome, Stopped) and outcome.reason == "lost":
                raise UnavailableError("this run was lost by the server: please send it again")
        return report

    def _passes(self, call: Call, outcome: Outcome) -> bool:
        return isinstance(outcome, Returned) and self.agrees(outcome.value, call.expected)

    def _first_failing(self, calls: Sequence[Call], report: Report, passed: Sequence[bool]) -> str:
        index = passed.index(False)
        place = place_of(index, len(calls))
        return f"{place}: {says_of_call(calls[index], report.outcomes[index])}"

    async def _diagnosis(
        self, seed: int, calls: Sequence[Call], report: Report, runner: Runner
    ) -> str:
        """The sentence of the foreseen mistake with the same results, or of a common slip."""
        if not all(isinstance(outcome, Returned) for outcome in report.outcomes):
            return ""
        for outcomes, says in await self._wrong_outcomes(seed, calls, runner):
            if self._alike(report.outcomes, outcomes):
                return self.fill(says, self.draw(seed))
        return self._slip(calls, report)

    async def _wrong_outcomes(
        self, seed: int, calls: Sequence[Call], runner: Runner
    ) -> list[tuple[tuple[Outcome, ...], str]]:
        if seed not in self._foreseen:
            if len(self._foreseen) >= KEPT:
                self._foreseen.clear()
            reports = [(await self._run(w.code, calls, runner, ""), w.says) for w in self.wrong]
            self._foreseen[seed] = [(report.outcomes, says) for report, says in reports]
        return self._foreseen[seed]

    def _alike(self, some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
        """Whether two programs return the same numbers for all calls."""
        return len(some) == len(others) and all(
            isinstance(a, Returned) and isinstance(b, Returned) and self.agrees(a.value, b.value)
            for a, b in zip(some, others, strict=True)
        )

    def _slip(self, calls: Sequence[Call], report: Report) -> str:
        """What to say when every value is off by the same well-known factor."""
        ratios = [
            number / expected
            for call, outcome in _pairs(calls, report)
            if (expected := as_float(call.expected)) and (number := _number(outcome)) is not None
        ]
        first = ratios[0] if ratios else 0.0
        if not first or any(abs(ratio / first - 1) > _CLOSE for ratio in ratios):
            return ""
        return slip(first, scale_of(self.unit).unit, _CLOSE)

    def texts(self) -> Iterator[tuple[Where, str]]:
        """The sentences of wrong programs, too."""
        yield from super().texts()
        for index, wrong in enumerate(self.wrong):
            yield ("wrong", index, "says"), wrong.says

    async def prove_code(self, seeds: Sequence[int], runner: Runner) -> list[Finding]:
        """The right program passes, each wrong one fails, and no two wrong ones are alike."""
        findings: list[Finding] = []
        for seed in seeds:
            try:
                findings += await self._prove(seed, runner)
            except ExpressionError as error:
                return [Finding(("reference",), str(error))]
        return findings

    async def _prove(self, seed: int, runner: Runner) -> list[Finding]:
        findings = []
        if not self.reference:
            findings += await self._prove_examples(seed, runner)
        if findings:
            return findings
        verdict = await self.grade(seed, self.right, runner)
        if not verdict.correct:
            findings.append(Finding(("right",), f"the right program fails: {verdict.feedback[0]}"))
        for index, wrong in enumerate(self.wrong):
            verdict = await self.grade(seed, wrong.code, runner)
            if verdict.correct:
                says = f"seed {seed}: passes every drawn call: the arguments are too tame"
                cure = "add arguments for which it goes wrong"
                findings.append(Finding(("wrong", index), says, cure))
            elif self.fill(wrong.says, self.draw(seed)) not in verdict.feedback:
                says = f"seed {seed}: does not get its sentence, but: {' '.join(verdict.feedback)}"
                findings.append(Finding(("wrong", index), says))
        return findings

    async def _prove_examples(self, seed: int, runner: Runner) -> list[Finding]:
        """The right program runs on every drawn call, and returns what the examples say."""
        trial = await self.try_out(seed, self.right, runner)
        if trial.problem:
            return [Finding(("right",), f"the right program does not run: {trial.problem}")]
        findings = [
            Finding(("examples", index), f"the right program disagrees: {run.says}")
            for index, run in enumerate(trial.runs)
            if not run.passed
        ]
        if not findings and len(await self._hidden(seed, runner)) < len(self.calls("f", seed)):
            findings.append(Finding(("right",), "the right program fails on a drawn call"))
        return findings


def _source(answer: Answer) -> str:
    source = single(answer)
    if not source.strip():
        raise AnswerError("nothing is written here yet: a function is wanted")
    return source


def _pairs(calls: Sequence[Call], report: Report) -> Iterator[tuple[Call, Outcome]]:
    return zip(calls, report.outcomes, strict=False)


def _number(outcome: Outcome) -> float | None:
    """The finite number that a call returned."""
    if not isinstance(outcome, Returned) or type(outcome.value) not in (int, float):
        return None
    number = as_float(outcome.value)
    return number if math.isfinite(number) else None
