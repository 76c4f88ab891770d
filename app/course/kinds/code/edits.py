"""Every small change of one line of a listing."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.course.kinds.code.interpreter import ListingError

Operator = Literal["constant", "operator", "factor", "off-by-one", "swap"]
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
class Edit:
    """A line with *text* in its place."""

    line: int
    text: str
    operator: Operator


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text in place of some columns of a line."""

    line: int
    columns: tuple[int, int]
    text: str
    operator: Operator


def all_edits(lines: Sequence[str]) -> list[Edit]:
    """Every small change of one line, each result once."""
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError as error:
        raise ListingError(f"line {error.lineno} is not valid Python") from error
    found: dict[tuple[int, str], Edit] = {}
    for cut in _cuts(tree, lines):
        line, (start, end) = lines[cut.line - 1], cut.columns
        text = _tidy(line[:start] + cut.text + line[end:])
        if text != line:
            found.setdefault((cut.line, text), Edit(cut.line, text, cut.operator))
    return list(found.values())


def _tidy(line: str) -> str:
    """*line* without brackets around a single name, or around all that is assigned or returned."""
    line = re.sub(r"(?<![\w)\]])\((\w+)\)", r"\1", line)
    return re.sub(r"(= |return )\(([^()]*)\)$", r"\1\2", line)


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
                yield _Cut(node.lineno, (start, end), other, operator)
        case ast.Name(name, ast.Load()) if name in known:
            for other in known:
                if other != name and not _divides_itself(line[:start], line[end:], other):
                    yield _Cut(node.lineno, (start, end), other, "swap")
        case ast.BinOp(left, sign, right):
            yield from _binary(node, left, sign, right, line)
        case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARISONS:
            old, new = _COMPARISONS[type(sign)]
            at = line.index(old, left.end_col_offset or 0)
            yield _Cut(node.lineno, (at, at + len(old)), new, "off-by-one")


def _divides_itself(before: str, after: str, name: str) -> bool:
    """Whether *name* between the two texts would make x / x, an obvious bug."""
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


def _binary(node: ast.BinOp, left: ast.expr, sign: ast.operator, right: ast.expr, line: str) -> Iterator[_Cut]:
    start, end = node.col_offset, node.end_col_offset or 0
    gap = left.end_col_offset or 0
    if type(sign) in _SIGNS:
        old, new = _SIGNS[type(sign)]
        at = line.index(old, gap)
        yield _Cut(node.lineno, (at, at + len(old)), new, "operator")
        sides = (line[start:at].rstrip(), line[at + len(old) : end].lstrip())
        if isinstance(sign, ast.Mult):
            for side in sides:
                yield _Cut(node.lineno, (start, end), side, "factor")
        if isinstance(sign, ast.Div):
            yield _Cut(node.lineno, (start, end), sides[0], "factor")
        if isinstance(sign, ast.Add | ast.Sub) and isinstance(right, ast.Constant):
            yield _Cut(node.lineno, (start, end), sides[0], "off-by-one")
