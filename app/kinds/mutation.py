"""Bugs drawn from a right listing: one small change of one line, proven to matter."""

import ast
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.kinds.calling import Call
from app.kinds.listing import ListingError, run
from app.sandbox.report import Plain

Operator = Literal["constant", "operator", "factor", "off-by-one", "swap"]
SAYS: dict[Operator, str] = {
    "constant": "The constant in this line is not the right one.",
    "operator": "The operator in this line is not the right one.",
    "factor": "This line has lost a factor.",
    "off-by-one": "This line is off by one.",
    "swap": "This line uses the wrong variable.",
}
_CLOSE = 1e-6
_TELLING = 0.5  # of the calls must come out wrong
_SIGNS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed line of a listing, *shown* instead of the right one."""

    line: int
    shown: str
    operator: Operator
    ratio: float | None  # of the wrong result to the right one, where it is always the same


@dataclass(frozen=True, slots=True)
class Edit:
    """A line with *text* in its place."""

    line: int
    text: str
    operator: Operator


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text in place of some columns of a line."""

    line: int
    start: int
    end: int
    text: str
    operator: Operator


def mutants(
    code: str,
    calls: Sequence[Call],
    operators: Sequence[Operator],
    mixed: Callable[[list[Edit]], list[Edit]],
) -> Iterator[Mutant]:
    """Small changes of one line of *code* that show in the results of *calls*, in a *mixed* order.

    A change is kept when the changed listing runs on every call, is wrong on half of them or more,
    and no change of another line makes all of them right again: then exactly one line is at fault.

    Raises:
        ListingError: the listing is more than arithmetic, or does not return what it should.
    """
    for call in calls:
        if not _agree(run(ast.parse(code), call.arguments), call.expected):
            raise ListingError(f"{call.text} does not return {call.expected}")
    lines = code.splitlines()
    edits = _all_edits(lines)
    for edit in mixed([edit for edit in edits if edit.operator in operators]):
        mutant = _judged(lines, edit, calls)
        others = [other for other in edits if other.line != edit.line]
        if mutant and not _cured_elsewhere(_with(lines, edit), others, calls):
            yield mutant


def equally_guilty(code: str, line: int, calls: Sequence[Call]) -> int | None:
    """Another line of the wrong listing *code*, a change of which also makes every call right."""
    lines = code.splitlines()
    others = [edit for edit in _all_edits(lines) if edit.line != line]
    return _cured_elsewhere(lines, others, calls)


def _judged(lines: Sequence[str], edit: Edit, calls: Sequence[Call]) -> Mutant | None:
    try:
        tree = ast.parse("\n".join(_with(lines, edit)))
        pairs = [(run(tree, call.arguments), call.expected) for call in calls]
    except (SyntaxError, ListingError):
        return None
    if not all(_comparable(value, expected) for value, expected in pairs):
        return None
    wrong = [not _agree(value, expected) for value, expected in pairs]
    if sum(wrong) < _TELLING * len(calls):
        return None
    return Mutant(edit.line, edit.text, edit.operator, _ratio(pairs))


def _cured_elsewhere(
    lines: Sequence[str], others: Sequence[Edit], calls: Sequence[Call]
) -> int | None:
    """The line of the first of *others* that makes every call right."""
    for other in others:
        try:
            tree = ast.parse("\n".join(_with(lines, other)))
            if all(_agree(run(tree, call.arguments), call.expected) for call in calls):
                return other.line
        except (SyntaxError, ListingError):
            continue
    return None


def _comparable(value: Plain, expected: Plain) -> bool:
    """Whether the type alone would not give the mutant away."""
    return type(value) is type(expected) or (type(value) is int and type(expected) is float)


def _agree(value: Plain, expected: Plain) -> bool:
    if isinstance(value, int | float) and isinstance(expected, int | float):
        return math.isclose(value, expected, rel_tol=_CLOSE, abs_tol=1e-12)
    return value == expected


def _ratio(pairs: Sequence[tuple[Plain, Plain]]) -> float | None:
    """How many times too large every result is, where that is always the same."""
    ratios = {
        float(f"{value / right:.6g}")
        for value, right in pairs
        if isinstance(value, int | float) and isinstance(right, int | float) and right
    }
    return ratios.pop() if len(ratios) == 1 else None


def _with(lines: Sequence[str], edit: Edit) -> list[str]:
    return [*lines[: edit.line - 1], edit.text, *lines[edit.line :]]


def _all_edits(lines: Sequence[str]) -> list[Edit]:
    """Every small change of one line, each result once."""
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError as error:
        raise ListingError(f"line {error.lineno} is no Python") from error
    found: dict[tuple[int, str], Edit] = {}
    for cut in _cuts(tree, lines):
        line = lines[cut.line - 1]
        text = line[: cut.start] + cut.text + line[cut.end :]
        if text != line:
            found.setdefault((cut.line, text), Edit(cut.line, text, cut.operator))
    return list(found.values())


def _cuts(tree: ast.Module, lines: Sequence[str]) -> Iterator[_Cut]:
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        known = [argument.arg for argument in function.args.args]
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
                    yield from _cuts_of(node, lines[node.lineno - 1], known)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                known.append(statement.targets[0].id)


def _cuts_of(node: ast.expr, line: str, known: Sequence[str]) -> Iterator[_Cut]:
    start, end = node.col_offset, node.end_col_offset or 0
    match node:
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            for other, operator in _constants(value):
                yield _Cut(node.lineno, start, end, other, operator)
        case ast.Name(name, ast.Load()) if name in known:
            for other in known:
                if other != name and not _divides_itself(line[:start], line[end:], other):
                    yield _Cut(node.lineno, start, end, other, "swap")
        case ast.BinOp(left, sign, right):
            yield from _binary(node, left, sign, right, line)
        case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARISONS:
            old, new = _COMPARISONS[type(sign)]
            at = line.index(old, left.end_col_offset or 0)
            yield _Cut(node.lineno, at, at + len(old), new, "off-by-one")


def _divides_itself(before: str, after: str, name: str) -> bool:
    """Whether *name* between the two texts would be x / x: nobody would write that."""
    return before.rstrip().endswith(f"{name} /") or after.lstrip().startswith(f"/ {name}")


def _constants(value: float) -> Iterator[tuple[str, Operator]]:
    if isinstance(value, int):
        yield str(value + 1), "off-by-one"
        if value > 1:
            yield str(value - 1), "off-by-one"
    if value and abs(value) < 1e3:  # noqa: PLR2004  (larger ones are prefixes)
        yield f"{2 * value:g}", "constant"
        if value % 2 == 0 and value > 2:  # noqa: PLR2004
            yield f"{value / 2:g}", "constant"
    elif value:
        yield f"{value * 1000:g}" if value < 1e9 else f"{value / 1000:g}", "constant"  # noqa: PLR2004


def _binary(
    node: ast.BinOp, left: ast.expr, sign: ast.operator, right: ast.expr, line: str
) -> Iterator[_Cut]:
    start, end = node.col_offset, node.end_col_offset or 0
    gap = left.end_col_offset or 0
    if type(sign) in _SIGNS:
        old, new = _SIGNS[type(sign)]
        at = line.index(old, gap)
        yield _Cut(node.lineno, at, at + len(old), new, "operator")
        sides = (line[start:at].rstrip(), line[at + len(old) : end].lstrip())
        if isinstance(sign, ast.Mult):
            for side in sides:
                yield _Cut(node.lineno, start, end, side, "factor")
        if isinstance(sign, ast.Div):
            yield _Cut(node.lineno, start, end, sides[0], "factor")
        if isinstance(sign, ast.Add | ast.Sub) and isinstance(right, ast.Constant):
            yield _Cut(node.lineno, start, end, sides[0], "off-by-one")
