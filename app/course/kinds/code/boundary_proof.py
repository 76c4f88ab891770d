"""Whether the calls made at every seed meet the boundaries of a program.

Its comparisons and whole divisions are watched while it runs.
"""

import ast
import copy
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.core.errors import UnavailableError
from app.course.kinds.base import Finding
from app.course.kinds.code import agreement, boundaries
from app.course.kinds.code.calls import Argument, as_argument, plain_argument
from app.course.kinds.code.feedback import refuse_lost
from app.course.sandbox.execution import CallReturned, Plain
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
    watching = _Watching()
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


class _Watching(ast.NodeTransformer):
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
