"""Exercises whose answer is a Python function, called in the sandbox up to the boundaries of programs."""

import ast
import copy
import inspect
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, PrivateAttr

from app.core.errors import UnavailableError
from app.core.expressions import ExpressionError
from app.core.quotation import visible_lines
from app.core.translation import localize, noted, translate
from app.core.units import scale_of
from app.course.kinds.base import Answer, Finding, ValueCache, Verdict, Where, mistake_key
from app.course.kinds.code import agreement, boundaries
from app.course.kinds.code.adequacy import Contest, sensible
from app.course.kinds.code.argument_classes import find_unmet, guess_kind
from app.course.kinds.code.calls import (
    Argument,
    TrialCall,
    as_argument,
    in_line,
    outcome_sentence,
    plain_argument,
    round_result,
    source_in,
)
from app.course.kinds.code.feedback import (
    CalledFunction,
    Example,
    FunctionQuestion,
    HiddenCalls,
    Trial,
    WrongProgram,
    common_mistake_in,
    paired_outcomes,
    passes,
    refuse_lost,
    same_results,
    trial_runs,
    was_stopped,
)
from app.course.sandbox.process import CallReturned, Execution, Outcome, Plain
from app.course.sandbox.runner import Runner

_GLUE = """
SEARCH = {search}({source!r}, {entry!r}, {count})
def search(given):
    return SEARCH.rows(given, alike)
"""
_SIGNS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


@dataclass(frozen=True, slots=True)
class WatchedProgram:
    """The *source* of a program, and the comparisons in it: each has a line and a text.

    A comparison `a < b` is `_compared(number, "<", a, b)` in it, and `a // b` is
    `_divided(number, a, b)`: see `app.course.kinds.code.boundaries`.
    """

    source: str
    places: tuple[tuple[int, str], ...]


def watched_program(source: str) -> WatchedProgram:
    """*source*, with all that is compared or divided in it watched."""
    watching = _TraceInserter()
    tree = ast.fix_missing_locations(watching.visit(ast.parse(source)))
    return WatchedProgram(ast.unparse(tree), tuple(watching.places))


async def boundary_findings(
    right: str,
    entry: str,
    always: Sequence[Sequence[Argument]],
    makes_sense: Callable[[Sequence[Argument]], bool],
    runner: Runner,
) -> list[Finding]:
    """A finding for each comparison of *right* that no call tells from its neighbor.

    Raises:
        UnavailableError: the sandbox did not search.
    """
    watched = watched_program(right)
    if not watched.places:
        return []
    findings = []
    for place, rows in await _searched(watched, entry, always, runner):
        arguments = [[as_argument(value) for value in row] for row in rows]
        row = next((one for one in arguments if makes_sense(one)), None)
        if row is not None:
            line, text = watched.places[place]
            says = f"no call made at every seed is at the boundary of `{text}` in line {line}"
            cure = f"add to always: {json.dumps(row, ensure_ascii=False)}"
            findings.append(Finding(("always",), says, cure))
    return findings


async def _searched(
    watched: WatchedProgram, entry: str, always: Sequence[Sequence[Argument]], runner: Runner
) -> list[tuple[int, list[list[Plain]]]]:
    """Rows of arguments at the boundaries that *always* does not meet, by comparison."""
    glue = _GLUE.format(
        search=boundaries.BoundarySearch.__name__, source=watched.source, entry=entry, count=len(watched.places)
    )
    source = "\n".join([*map(inspect.getsource, (agreement, boundaries)), glue])
    given: list[Plain] = [[plain_argument(value) for value in row] for row in always]
    report = await runner.run(source, "search", [(given,)])
    refuse_lost(report)
    outcome = report.outcomes[0] if report.outcomes else report.body
    if not isinstance(outcome, CallReturned):
        raise UnavailableError(f"the sandbox did not search for boundaries: {outcome}")
    return outcome.value  # type: ignore[return-value]


class _TraceInserter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.places: list[tuple[int, str]] = []

    def _call(self, name: str, node: ast.expr, *given: ast.expr) -> ast.expr:
        place = ast.Constant(len(self.places))
        self.places.append((node.lineno, ast.unparse(node)))
        return ast.Call(ast.Name(name, ast.Load()), [place, *given], [])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        written = copy.deepcopy(node)
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _SIGNS:
            return node
        sign = ast.Constant(_SIGNS[type(node.ops[0])])
        return self._call("_compared", written, sign, node.left, node.comparators[0])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        written = copy.deepcopy(node)
        self.generic_visit(node)
        if not isinstance(node.op, ast.FloorDiv):
            return node
        return self._call("_divided", written, node.left, node.right)


Foreseen = list[tuple[tuple[Outcome, ...], str]]  # results of a wrong program, its sentence
_USUAL = 5  # solutions that are kept beside those with words
_REVEAL = "add arguments for which it goes wrong"
_ANY = -1  # in place of a seed, where all have the same


class Function(CalledFunction):
    """Write a function."""

    kind_title = noted("Write code")
    sample = "collectives/write-ring-time"
    pace = 5.0
    runs_code = True
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
    _foreseen: ValueCache[int, Foreseen] = PrivateAttr(default_factory=ValueCache)

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
        passed = [passes(call, outcome) for call, outcome in paired_outcomes(calls, report)]
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
            if not hidden.always or await self._agrees(wrong, hidden.drawn, outcomes, runner):
                return says
        if not all(isinstance(outcome, CallReturned) for outcome in outcomes):
            return ""
        return common_mistake_in(hidden.calls, outcomes, scale_of(self.unit))

    async def _agrees(
        self, wrong: WrongProgram, drawn: Sequence[TrialCall], outcomes: Sequence[Outcome], runner: Runner
    ) -> bool:
        """Whether a typical wrong program has the results *outcomes* in the *drawn* calls, too."""
        other = await self.run_calls(wrong.code, drawn, runner, "")
        return same_results(outcomes[: len(drawn)], other.outcomes)

    async def _wrong_outcomes(self, seed: int, calls: Sequence[TrialCall], runner: Runner) -> Foreseen:
        """The results of each typical wrong program; stored unless one of them was stopped.

        Calls of every seed tell wrong programs apart, as lint proves: they are run for them once.
        """
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
            findings = findings or await self.contest().findings(runner)
            findings = findings or await self._prove_boundaries(runner)
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
            guess = ", ".join(f"{name}: {guess_kind(self.arguments[name])}" for name in missing)
            findings.append(Finding(("takes",), f"{', '.join(missing)}: not known what it takes", f"add {guess}"))
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

    async def _prove_boundaries(self, runner: Runner) -> list[Finding]:
        """Every boundary of the right program is met by a call of every seed."""
        rows = self.rows_of_every_seed()
        return await boundary_findings(self.right, self.entry, rows, self.makes_sense, runner)

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
                findings.append(
                    Finding(("right_too", index), f"the right program fails at seed {seed}: {verdict.feedback[0]}")
                )
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
