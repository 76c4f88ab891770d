"""Exercises whose answer is a Python function, called in the sandbox with drawn arguments."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.errors import UnavailableError
from app.expressions import ExpressionError
from app.kinds.answers import Answer, Verdict
from app.kinds.base import Finding, Where
from app.kinds.code.adequacy import Contest, sensible
from app.kinds.code.base import CodeExercise
from app.kinds.code.calls import Argument, TrialCall, function_in, rounded, source_in
from app.kinds.code.feedback import (
    Example,
    FunctionQuestion,
    Hidden,
    Trial,
    Worked,
    Wrong,
    common_mistake_in,
    in_line,
    outcome_sentence,
    passes,
    refuse_lost,
    returned,
    same_results,
    trial_run,
    was_stopped,
)
from app.kinds.diagnosis_key import mistake_key
from app.kinds.memo import Remembered
from app.quotation import visible_lines
from app.sandbox.execution import CallReturned, Execution, Outcome
from app.sandbox.runner import Runner
from app.translation import localized, noted, translate
from app.units import scale_of

Foreseen = list[tuple[tuple[Outcome, ...], str]]  # results of a wrong program, its sentence
_ANY = -1  # in place of a seed, where all have the same


class Function(CodeExercise):
    """Write a function."""

    kind_title = noted("Write code")
    sample = "collectives/write-ring-time"
    pace = 5.0
    runs_code = True
    kind: Literal["function"]
    reference: str = Field(
        default="",
        description="a formula's name, or an expression of the arguments; without one, the right "
        "program is the reference, and each example says what it returns",
    )
    starter: str = Field(min_length=1, description="the first line, a docstring, and ...")
    right: str = Field(min_length=1, description="a whole right program")
    examples: list[list[Argument] | Worked] = Field(
        min_length=1,
        max_length=6,
        description="visible calls: their arguments in order, or call and returns",
    )
    wrong: list[Wrong] = Field(
        min_length=1, description="code and says of typical mistakes; each must fail a drawn call"
    )
    always: list[list[Argument]] = Field(
        default_factory=list,
        max_length=40,
        description="hidden calls of every seed, which tell nearly right programs from right ones; "
        "`wallclock lint` finds them",
    )
    _entry: str = PrivateAttr(default="")
    _expected: Remembered[int, Hidden] = PrivateAttr(default_factory=Remembered)
    _foreseen: Remembered[int, Foreseen] = PrivateAttr(default_factory=Remembered)

    @model_validator(mode="after")
    def _examples_fit(self) -> Self:
        self._entry = function_in(self.starter)
        for example in self.examples:
            row = example.call if isinstance(example, Worked) else example
            if isinstance(example, Worked) == bool(self.reference):
                raise ValueError(
                    f"the example {row} needs no `returns`: the reference says it"
                    if self.reference
                    else f"the example {row} needs call and `returns`: there is no reference"
                )
            self._fits("example", row)
        for row in self.always:
            self._fits("call", row)
        return self

    def _fits(self, what: str, row: Sequence[Argument]) -> None:
        if len(row) != len(self.arguments):
            raise ValueError(f"the {what} {row} does not give {', '.join(self.arguments)}")

    @property
    def entry(self) -> str:
        """The name of the function to write."""
        return self._entry

    def question(self, seed: int) -> FunctionQuestion:
        """The function to write, and visible examples of it."""
        examples = tuple(Example(call.text, rounded(call.expected)) for call in self._visible())
        return FunctionQuestion(self.entry, self.starter, examples)

    def _visible(self) -> tuple[TrialCall, ...]:
        """The calls of the examples."""
        return tuple(
            replace(self.call(self.entry, example.call), expected=returned(example))
            if isinstance(example, Worked)
            else self.call(self.entry, example)
            for example in self.examples
        )

    async def _hidden(self, seed: int, runner: Runner) -> Hidden:
        """The calls that grade, with what the reference or the right program returns.

        Raises:
            UnavailableError: the right program was stopped, or there is nothing to call.
        """
        known = self._expected.get(seed)
        return known or self._expected.keep(seed, await self._worked_out(seed, runner))

    async def _worked_out(self, seed: int, runner: Runner) -> Hidden:
        always = [self.call(self.entry, row) for row in self.always]
        texts = {call.text for call in always}
        drawn = [call for call in self.calls(self.entry, seed) if call.text not in texts]
        calls = [*drawn, *always]
        if not self.reference:
            report = await self._run(self.right, calls, runner, "")
            calls = [
                replace(call, expected=outcome.value)
                for call, outcome in _pairs(calls, report)
                if isinstance(outcome, CallReturned)
            ]
        if not calls or len(calls) < len(drawn) + len(always):  # never grade by some of them
            raise UnavailableError(
                translate("the expected results could not be computed: please submit it again")
            )
        return Hidden(tuple(calls[: len(drawn)]), tuple(calls[len(drawn) :]))

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
        hidden = await self._hidden(seed, runner)
        calls = hidden.calls
        report = await self._run(source, calls, runner, learner)
        if report.body:
            return Verdict(False, 0.0, (outcome_sentence(report.body),))
        passed = [passes(call, outcome) for call, outcome in _pairs(calls, report)]
        if all(passed) and len(passed) == len(calls):
            says = translate("All {calls} calls return the right value.", calls=len(calls))
            return Verdict(True, 1.0, (says,))
        told = [hidden.says_of(passed.index(False), report.outcomes)]
        diagnosis = await self._diagnosis(seed, hidden, report, runner)
        if diagnosis:
            told.append(localized(self.fill(diagnosis, self.draw(seed))))
        known = mistake_key(diagnosis) if diagnosis else ""
        return Verdict(False, sum(passed) / len(calls), tuple(told), mistake=known)

    async def try_out(self, seed: int, source: str, runner: Runner, learner: str = "") -> Trial:
        """Run the visible examples.

        Raises:
            AnswerError: there is nothing to run.
            UnavailableError: the sandbox cannot run it.
        """
        calls = self._visible()
        report = await self._run(source_in(source), calls, runner, learner)
        if report.body:
            problem = outcome_sentence(report.body)
            line = in_line(report.body)
            return Trial(problem=problem, line=line, printed=visible_lines(report.printed), runs=())
        runs = (trial_run(call, outcome) for call, outcome in _pairs(calls, report))
        return Trial(problem="", line=None, printed=visible_lines(report.printed), runs=tuple(runs))

    async def _run(
        self, source: str, calls: Sequence[TrialCall], runner: Runner, learner: str
    ) -> Execution:
        report = await runner.run(source, self.entry, [c.arguments for c in calls], learner)
        refuse_lost(report)
        return report

    async def _diagnosis(self, seed: int, hidden: Hidden, report: Execution, runner: Runner) -> str:
        """The wording of the listed mistake with the same results, or of a common one."""
        if not all(isinstance(outcome, CallReturned) for outcome in report.outcomes):
            return ""
        calls = hidden.always or hidden.drawn
        outcomes = report.outcomes[-len(calls) :]
        for foreseen, says in await self._wrong_outcomes(seed, calls, runner):
            if same_results(outcomes, foreseen):
                return says
        return common_mistake_in(hidden.calls, report.outcomes, scale_of(self.unit))

    async def _wrong_outcomes(
        self, seed: int, calls: Sequence[TrialCall], runner: Runner
    ) -> Foreseen:
        """The results of each typical wrong program; stored unless one of them was stopped.

        Calls of every seed tell wrong programs apart, as lint proves: they are run for them once.
        """
        key = _ANY if self.always else seed
        if key in self._foreseen:
            return self._foreseen[key]
        reports = [(await self._run(w.code, calls, runner, ""), w.says) for w in self.wrong]
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
            findings = findings or await self.contest().findings(runner)
            for seed in seeds:
                findings += [] if findings else await self._prove(seed, runner)
        except ExpressionError as error:
            return [Finding(("reference",), str(error))]
        return findings

    def contest(self) -> Contest:
        """The right program against nearly right ones."""
        return Contest(
            entry=self.entry,
            right=self.right,
            wrong=[wrong.code for wrong in self.wrong],
            arguments=self.arguments,
            always=self._at_every_seed(),
            places=sensible(self.arguments, self.makes_sense),
            floats=bool(self.reference) and self.result == "float",
        )

    def _at_every_seed(self) -> list[list[Argument]]:
        """Calls that are made whatever the seed: of a single argument every value is drawn."""
        columns = list(self.arguments.values())
        alone = [[value] for value in columns[0]] if len(columns) == 1 else []
        return [*self.always, *(row for row in alone if self.makes_sense(row))]

    async def _prove(self, seed: int, runner: Runner) -> list[Finding]:
        findings = []
        verdict = await self.grade(seed, self.right, runner)
        if not verdict.correct:
            findings.append(Finding(("right",), f"the right program fails: {verdict.feedback[0]}"))
        for index, wrong in enumerate(self.wrong):
            verdict = await self.grade(seed, wrong.code, runner)
            if verdict.correct:
                says = f"seed {seed}: passes every drawn call: the arguments do not reveal it"
                cure = "add arguments for which it goes wrong"
                findings.append(Finding(("wrong", index), says, cure))
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
        return [
            Finding(("examples", index), f"the right program disagrees: {says}")
            for index, says in failed
        ]


def _pairs(calls: Sequence[TrialCall], report: Execution) -> Iterator[tuple[TrialCall, Outcome]]:
    return zip(calls, report.outcomes, strict=False)
