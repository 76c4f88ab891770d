"""A function to write: its right program, its examples, and the calls that grade it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import PlacedError, UnavailableError
from app.core.translation import translate
from app.course.kinds.code.argument_classes import ArgumentClasses, ArgumentKindError, read_kinds
from app.course.kinds.code.base import CodeExercise
from app.course.kinds.code.calls import Argument, TrialCall, function_in
from app.course.kinds.code.feedback import Hidden, Worked, refuse_lost, returned
from app.course.kinds.strict import Remembered
from app.course.sandbox.execution import CallReturned, Execution, Outcome, Plain
from app.course.sandbox.runner import Runner


class _Results(Remembered[str, tuple[Plain]]):
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
    examples: list[list[Argument] | Worked] = Field(
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
    _results: Remembered[str, tuple[Plain]] = PrivateAttr(default_factory=_Results)
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
        return [one.call if isinstance(one, Worked) else one for one in self.examples]

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
        always = [self.call(self.entry, row) for row in (*self.always, *self.class_rows)]
        secret = {call.text for call in always}
        told = [*self.visible_calls(), *self.calls(self.entry, seed)]
        told = list({call.text: call for call in told if call.text not in secret}.values())
        calls = [*told, *always]
        if not self.reference:
            calls = await self._with_results(calls, runner)
        return Hidden(tuple(calls[: len(told)]), tuple(calls[len(told) :]))

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
