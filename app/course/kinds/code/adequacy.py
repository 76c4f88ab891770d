"""Whether the calls made at every seed tell the right program from nearly right ones.

Nearly right programs are the typical wrong ones, and those that differ from the right one by one
small change. A change that no combination of arguments reveals does not count, nor does one that
never runs. This is measured in the sandbox when an exercise is proven, never during grading.
"""

import ast
import copy
import inspect
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod

from app.core.errors import UnavailableError
from app.course.kinds.base import Finding
from app.course.kinds.code import agreement
from app.course.kinds.code.calls import Argument, as_argument, plain_argument, python, refuse_lost
from app.course.kinds.code.mutants import AlteredProgram, alterations, careless_programs
from app.course.sandbox.process import CallReturned, Plain, StoppedRun
from app.course.sandbox.runner import Runner

_ROWS = 2000  # combinations of arguments that are looked at
_SOME = 250  # of them, for changes of other right programs
_CHANGED_TOO = 120  # of those
_AT_ONCE = 20_000  # calls of one run
_TWICE = 2  # calls that reveal a changed program, where there are that many
_SHOWN = 3  # survivors that are named
_GLUE = """
import codec
def plain(value):
    try:
        return codec.decode(codec.encode(value))
    except (TypeError, ValueError):
        return value
CALLS = [*{always!r}, *combinations({columns!r}, {places!r})]
def found(source, calls):
    for value in results(program(source, {entry!r}), calls):
        yield float(value) if {floats!r} and type(value) is int else value
EXPECTED = list(found({right!r}, CALLS))
def search(what, source, other, count):
    calls = CALLS[:count] if count else CALLS
    if what == "failing":
        return failing(EXPECTED)
    if what == "plain":
        return first(map(plain, found(source, calls)), EXPECTED, alike)
    expected = found(other, calls) if other else EXPECTED
    return (first if what == "first" else differing)(found(source, calls), expected, alike)
"""

_BOUNDARY_GLUE = """
SEARCH = {search}({source!r}, {entry!r}, {count})
def search(given):
    return SEARCH.rows(given, alike)
"""
_SIGNS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


@dataclass(frozen=True, slots=True)
class Adequacy:
    """How many of the programs that differ from the right one fail, and those that do not."""

    differing: int
    survivors: tuple[AlteredProgram, ...]

    @property
    def share(self) -> float:
        """The share that fails."""
        return 1 - len(self.survivors) / self.differing if self.differing else 1.0


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Right and wrong programs, and the arguments with which they can be called."""

    entry: str
    right: str
    right_too: Sequence[str] = ()
    wrong: Sequence[str]
    wrong_too: Sequence[str] = ()
    arguments: Mapping[str, Sequence[Argument]]
    always: Sequence[Sequence[Argument]]  # the calls that grade at every seed
    places: Sequence[int]  # of the combinations that make sense
    floats: bool  # whether an int stands for a float

    async def failing(self, runner: Runner) -> Finding | None:
        """A finding if the right program fails for some combination."""
        (place,) = await self._searched(runner, "failing", [("", "")])
        if isinstance(place, int) and place >= 0:
            return Finding(("right",), f"the right program fails on {self._text(place)}")
        return None

    async def measured(self, runner: Runner) -> Adequacy:
        """The share of changed programs that fail one of the calls made at every seed."""
        columns = [[plain_argument(value) for value in values] for values in self.arguments.values()]
        own = [*_alterations(self.right), *careless_programs(self.right, self.entry, columns)]
        # One that searches without end would take a second, so none with a `while` is changed.
        others = [one for program in self.right_too if "while" not in program for one in _alterations(program)]
        others = others[:: -(-len(others) // _CHANGED_TOO) or 1]
        found = await self._searched(runner, "first", [(one.source, "") for one in own])
        some = len(self.always) + _SOME
        found += await self._searched(runner, "first", [(one.source, "") for one in others], some)
        changed = [*own, *others]
        count, survivors = 0, []
        for one, result in zip(changed, found, strict=True):
            if not isinstance(result, list):  # it never ends, so it fails
                continue
            place, ran = result
            if place == -1 or not ran:  # the same everywhere, or no program at all
                continue
            count += 1
            if int(str(place)) >= len(self.always):
                survivors.append(one)
        return Adequacy(count, tuple(survivors))

    async def findings(self, runner: Runner) -> list[Finding]:
        """Findings on wrong programs that pass the calls made at every seed, with better calls."""
        if found := await self.failing(runner) or await self._unrevealed(runner):
            return [found]
        measured = await self.measured(runner)
        says = []
        if alike := await self._passing(runner):
            says.append(f"no call made at every seed tells {alike}")
        if measured.survivors:
            named = "; ".join(map(str, measured.survivors[:_SHOWN]))
            says.append(
                f"{len(measured.survivors)} of {measured.differing} programs with one small change "
                f"pass every call made at all seeds: {named}"
            )
        if not says:
            return []
        cure = await self._cure(measured.survivors, runner)
        return [Finding(("always",), one, cure) for one in says]

    async def _unrevealed(self, runner: Runner) -> Finding | None:
        """A finding if a wrong program is right for every combination of arguments, or a right one is not."""
        for key, programs in (("wrong", self.wrong), ("wrong_too", self.wrong_too)):
            found = await self._searched(runner, "first", [(program, "") for program in programs])
            for index, result in enumerate(found):
                if isinstance(result, list) and result[0] == -1:
                    says = "is right for every combination of the arguments: they do not reveal it"
                    return Finding((key, index), says, "add arguments for which it goes wrong")
        found = await self._searched(runner, "plain", [(program, "") for program in self.right_too])
        for index, result in enumerate(found):
            if not isinstance(result, list) or result[0] != -1:
                at = f" on {self._text(int(str(result[0])))}" if isinstance(result, list) else ""
                return Finding(("right_too", index), f"differs from the right program{at}")
        return None

    async def _passing(self, runner: Runner) -> str:
        """Wrong programs that the calls made at every seed do not tell apart."""
        pairs = self._wrong_pairs()
        found = await self._searched(runner, "first", [pair for pair, _ in pairs])
        too = await self._searched(runner, "first", [(program, "") for program in self.wrong_too])
        says = [*(says for _, says in pairs), *(f"wrong_too {i} from the right program" for i in range(len(too)))]
        return "; ".join(
            one
            for one, result in zip(says, (*found, *too), strict=True)
            if isinstance(result, list) and not 0 <= int(str(result[0])) < len(self.always)
        )

    def _wrong_pairs(self) -> list[tuple[tuple[str, str], str]]:
        """Pairs of programs that must differ somewhere; an empty one is the right program."""
        pairs = []
        for late, program in enumerate(self.wrong):
            pairs.append(((program, ""), f"wrong program {late} from the right one"))
            for early, other in enumerate(self.wrong[:late]):
                pairs.append(((program, other), f"wrong program {late} from {early}"))
        return pairs

    async def _cure(self, survivors: Sequence[AlteredProgram], runner: Runner) -> str:
        """A few calls that tell apart what the others do not, ready to paste."""
        changed = [(one.source, "") for one in survivors]
        others = [(program, "") for program in self.wrong_too]
        pairs = [*changed, *others, *(pair for pair, _ in self._wrong_pairs())]
        found = await self._searched(runner, "differing", pairs)
        bits = [one for one in found if isinstance(one, int) and one and not one % (1 << len(self.always))]
        rows = [self._rows[place] for place in _cover(bits, self._rows)]
        return f"add to always: {json.dumps(rows, ensure_ascii=False)}"

    async def _searched(
        self, runner: Runner, what: str, pairs: Sequence[tuple[str, str]], count: int = 0
    ) -> list[Plain]:
        """The result of a search for each of *pairs*; None where it did not finish."""
        found: list[Plain] = []
        at_once = max(1, _AT_ONCE // (count or len(self._rows)))
        while len(found) < len(pairs):
            calls = [(what, *pair, count) for pair in pairs[len(found) : len(found) + at_once]]
            report = await runner.run(self._source, "search", calls)
            refuse_lost(report)
            if report.body or not report.outcomes:
                raise UnavailableError(f"the sandbox did not run a search: {report.body}")
            for index, outcome in enumerate(report.outcomes):
                if isinstance(outcome, StoppedRun) and index:
                    break  # the next run starts with it
                found.append(outcome.value if isinstance(outcome, CallReturned) else None)
        return found

    async def boundary_findings(
        self, makes_sense: Callable[[Sequence[Argument]], bool], runner: Runner
    ) -> list[Finding]:
        """A finding for each comparison of the right program that no call tells from its neighbor.

        Raises:
            UnavailableError: the sandbox did not search.
        """
        watching = _TraceInserter()
        source = ast.unparse(ast.fix_missing_locations(watching.visit(ast.parse(self.right))))
        if not watching.places:
            return []
        search = agreement.BoundarySearch.__name__
        glue = _BOUNDARY_GLUE.format(search=search, source=source, entry=self.entry, count=len(watching.places))
        always: list[Plain] = [[plain_argument(value) for value in row] for row in self.always]
        report = await runner.run(f"{inspect.getsource(agreement)}\n{glue}", "search", [(always,)])
        refuse_lost(report)
        outcome = report.outcomes[0] if report.outcomes else report.body
        if not isinstance(outcome, CallReturned):
            raise UnavailableError(f"the sandbox did not search for boundaries: {outcome}")
        rows: list[tuple[int, list[list[Plain]]]] = outcome.value  # type: ignore[assignment]
        found = []
        for place, given in rows:
            row = next(filter(makes_sense, ([as_argument(value) for value in one] for one in given)), None)
            if row is not None:
                line, text = watching.places[place]
                says = f"no call made at every seed is at the boundary of `{text}` in line {line}"
                found.append(Finding(("always",), says, f"add to always: {json.dumps(row, ensure_ascii=False)}"))
        return found

    @cached_property
    def _rows(self) -> list[Sequence[Argument]]:
        """The calls to try: those made at every seed, then all that make sense."""
        columns = list(self.arguments.values())
        return [*self.always, *agreement.combinations(columns, self.places)]

    @cached_property
    def _source(self) -> str:
        glue = _GLUE.format(
            always=[tuple(map(plain_argument, row)) for row in self.always],
            columns=[[plain_argument(value) for value in values] for values in self.arguments.values()],
            places=list(self.places),
            entry=self.entry,
            floats=self.floats,
            right=self.right,
        )
        return f"{inspect.getsource(agreement)}\n{glue}"

    def _text(self, place: int) -> str:
        arguments = [python(plain_argument(value)) for value in self._rows[place]]
        return f"{self.entry}({', '.join(arguments)})"


def sensible(
    arguments: Mapping[str, Sequence[Argument]], makes_sense: Callable[[Sequence[Argument]], bool]
) -> list[int]:
    """The combinations to try, by their place among all: every one, or a few thousand."""
    columns = list(arguments.values())
    total = prod(map(len, columns))
    source = random.Random("combinations")
    some = list(range(total))
    if total > _ROWS:
        some = sorted({int(source.random() * total) for _ in range(_ROWS)})
    rows = zip(some, agreement.combinations(columns, some), strict=True)
    return [place for place, row in rows if makes_sense(row)]


def _alterations(source: str) -> list[AlteredProgram]:
    found = []
    for one in alterations(source):
        with suppress(SyntaxError):
            compile(one.source, "changed", "exec")
            found.append(one)
    return found


def _cover(differing: Sequence[int], rows: Sequence[Sequence[Argument]]) -> list[int]:
    """A few of *rows*, chosen greedily, so that each of *differing* has two of its bits set, if it has that many."""
    chosen: list[int] = []
    left = Counter({bits: min(_TWICE, bits.bit_count()) for bits in differing})
    known: set[str] = set()

    def worth(place: int) -> tuple[int, int]:
        new = {f"{index} {value}" for index, value in enumerate(rows[place])} - known
        return sum(bits >> place & 1 for bits in left), len(new)

    while left:
        best = max((place for place in range(len(rows)) if place not in chosen), key=worth)
        chosen.append(best)
        known |= {f"{index} {value}" for index, value in enumerate(rows[best])}
        left -= Counter(bits for bits in left if bits >> best & 1)
    return sorted(chosen)


class _TraceInserter(ast.NodeTransformer):
    """Watches what is compared or divided in a program: see `app.course.kinds.code.agreement`.

    `a < b` becomes `_compared(number, "<", a, b)`, and `a // b` becomes `_divided(number, a, b)`; by number, *places*
    has the line and the text of each.
    """

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
