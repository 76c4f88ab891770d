"""A function to write: its right program, its examples, and the calls that grade it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import UnavailableError
from app.core.translation import translate
from app.course.kinds.code.base import CodeExercise
from app.course.kinds.code.calls import Argument, TrialCall, function_in
from app.course.kinds.code.feedback import Hidden, Worked, refuse_lost, returned
from app.course.kinds.memo import Remembered
from app.course.sandbox.execution import CallReturned, Execution, Outcome
from app.course.sandbox.runner import Runner


class CalledFunction(CodeExercise):
    """An exercise that calls a function that learners write."""

    reference: str = Field(
        default="",
        description="a formula's name, or an expression of the arguments; without one, the right "
        "program is the reference, and each example says what it returns",
    )
    starter: str = Field(min_length=1, description="the first line, a docstring, and ...")
    right: str = Field(min_length=1, description="a whole right program")
    examples: list[list[Argument] | Worked] = Field(
        min_length=1, max_length=6, description="visible calls: their arguments in order, or call and returns"
    )
    always: list[list[Argument]] = Field(
        default_factory=list,
        max_length=40,
        description="hidden calls of every seed, which tell nearly right programs from right ones; "
        "`wallclock lint` finds them",
    )
    _entry: str = PrivateAttr(default="")
    _expected: Remembered[int, Hidden] = PrivateAttr(default_factory=Remembered)

    @model_validator(mode="after")
    def _examples_fit(self) -> Self:
        self._entry = function_in(self.starter)
        for example in self.examples:
            row = example.call if isinstance(example, Worked) else example
            if isinstance(example, Worked) == bool(self.reference):
                raise ValueError(
                    f"the example {row} needs no `returns`: the reference says it"
                    if self.reference
                    else f"the example {row} needs `call` and `returns`: no reference is given"
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

    def visible_calls(self) -> tuple[TrialCall, ...]:
        """The calls of the examples."""
        return tuple(
            replace(self.call(self.entry, example.call), expected=returned(example))
            if isinstance(example, Worked)
            else self.call(self.entry, example)
            for example in self.examples
        )

    async def hidden_calls(self, seed: int, runner: Runner) -> Hidden:
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
            report = await self.run_calls(self.right, calls, runner, "")
            calls = [
                replace(call, expected=outcome.value)
                for call, outcome in paired_outcomes(calls, report)
                if isinstance(outcome, CallReturned)
            ]
        if not calls or len(calls) < len(drawn) + len(always):  # never grade by some of them
            raise UnavailableError(translate("the expected results could not be computed: please submit it again"))
        return Hidden(tuple(calls[: len(drawn)]), tuple(calls[len(drawn) :]))

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
        return [*self.always, *(row for row in alone if self.makes_sense(row))]


def paired_outcomes(calls: Sequence[TrialCall], report: Execution) -> Iterator[tuple[TrialCall, Outcome]]:
    """Each of *calls* with what came of it."""
    return zip(calls, report.outcomes, strict=False)
