"""Bugs drawn from a right listing: one small change of one line, proven to matter."""

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.translation import noted
from app.course.kinds.code.calls import TrialCall
from app.course.kinds.code.interpreter import CompiledListing, FailedError, ListingError
from app.course.sandbox.process import Plain

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


_Cut = tuple[int, int, str, Operator]  # the columns of a line from one to another, and what stands in their place


def all_edits(lines: Sequence[str]) -> list[Edit]:
    """Every small change of one line, each result once."""
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError as error:
        raise ListingError(f"line {error.lineno} is not valid Python") from error
    found: dict[tuple[int, str], Edit] = {}
    for number, (start, end, new, operator) in _cuts(tree, lines):
        line = lines[number - 1]
        text = _tidy(line[:start] + new + line[end:])
        if text != line:
            found.setdefault((number, text), Edit(number, text, operator))
    return list(found.values())


def _tidy(line: str) -> str:
    """*line* without brackets around a single name, or around all that is assigned or returned."""
    line = re.sub(r"(?<![\w)\]])\((\w+)\)", r"\1", line)
    return re.sub(r"(= |return )\(([^()]*)\)$", r"\1\2", line)


def _cuts(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[int, _Cut]]:
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        known = [argument.arg for argument in function.args.args]
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
                    yield from ((node.lineno, cut) for cut in _cuts_of(node, lines[node.lineno - 1], known))
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                known.append(statement.targets[0].id)


def _cuts_of(node: ast.expr, line: str, known: Sequence[str]) -> Iterator[_Cut]:
    start, end = node.col_offset, node.end_col_offset or 0
    match node:
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            for other, operator in _constants(value):
                yield start, end, other, operator
        case ast.Name(name, ast.Load()) if name in known:
            for other in known:
                before, after = line[:start].rstrip(), line[end:].lstrip()
                # x / x is an obvious bug.
                if other != name and not (before.endswith(f"{other} /") or after.startswith(f"/ {other}")):
                    yield start, end, other, "swap"
        case ast.BinOp(left, sign, right):
            yield from _binary(node, left, sign, right, line)
        case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARISONS:
            old, new = _COMPARISONS[type(sign)]
            at = line.index(old, left.end_col_offset or 0)
            yield at, at + len(old), new, "off-by-one"


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
        yield at, at + len(old), new, "operator"
        sides = (line[start:at].rstrip(), line[at + len(old) : end].lstrip())
        if isinstance(sign, ast.Mult):
            for side in sides:
                yield start, end, side, "factor"
        if isinstance(sign, ast.Div):
            yield start, end, sides[0], "factor"
        if isinstance(sign, ast.Add | ast.Sub) and isinstance(right, ast.Constant):
            yield start, end, sides[0], "off-by-one"


CallResult = tuple["Plain | FailedError", Plain]  # of a call, and what it should be
SAYS: dict[Operator, str] = {
    "constant": noted("The constant in this line is wrong."),
    "operator": noted("The operator in this line is wrong."),
    "factor": noted("A factor is missing from this line."),
    "off-by-one": noted("This line is off by one."),
    "swap": noted("This line uses the wrong variable."),
}
_CLOSE = 1e-6
_NOTICED = 0.01  # how far from 1 a ratio is that someone would see
_TELLING = 0.5  # of the calls must come out wrong
_OTHER_VALUES = ("0", "987.5")  # of a line whose value may not matter


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference between the results of a changed listing and the right ones."""

    ratio: float | None = None  # of the wrong result to the right one, where it is always the same
    lean: Literal["", "large", "small"] = ""  # never on the other side of the right result
    raises: str = ""  # the exception that Python raises
    always: bool = True  # it raises at every call


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed line of a listing, *shown* instead of the right one."""

    line: int
    shown: str
    operator: Operator
    effect: Effect


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing, calls of its function *entry* that tell bugs, and *more* to describe them."""

    lines: Sequence[str]
    entry: str
    calls: Sequence[TrialCall]
    more: Sequence[TrialCall] = ()

    def results(self, calls: Sequence[TrialCall]) -> list[CallResult]:
        """The result of each of *calls*, and the right one.

        Raises:
            ListingError: a call does more than arithmetic.
        """
        program = CompiledListing(self.tree, self.entry)
        return [(_result(program, call), call.expected) for call in calls]

    def changed(self, edit: Edit) -> "Listing":
        """This listing with *edit* in it."""
        lines = [*self.lines[: edit.line - 1], edit.text, *self.lines[edit.line :]]
        return replace(self, lines=lines)

    @property
    def tree(self) -> ast.Module:
        """The listing as Python reads it."""
        return ast.parse("\n".join(self.lines))

    @property
    def is_right(self) -> bool:
        """Whether it can be run, and every call returns what it should."""
        try:
            return self.is_right_as(CompiledListing(self.tree, self.entry))
        except (SyntaxError, ListingError):
            return False

    def is_right_as(self, program: CompiledListing) -> bool:
        """Whether every call of *program* returns what that of the listing should."""
        try:
            calls = (*self.calls, *self.more)
            return all(_agree(_result(program, c), c.expected) for c in calls)
        except ListingError:
            return False


class Mutants:
    """Small changes of one line of a right listing that show in its results.

    A change counts when the changed listing is wrong on half of the calls or more, and no change
    of another line makes all of them right again: then exactly one line is at fault.
    """

    def __init__(self, right: Listing, operators: Sequence[Operator]) -> None:
        """Look at *right*.

        Raises:
            ListingError: it is more than arithmetic, or does not return what it should.
        """
        for (value, expected), call in zip(right.results(right.calls), right.calls, strict=True):
            if not _agree(value, expected):
                raise ListingError(f"{call.text} does not return {expected}")
        self._right = right
        self._all = all_edits(right.lines)
        self._edits = [edit for edit in self._all if edit.operator in operators]
        self._known: dict[Edit, Mutant | None] = {}

    def drawn(self, mixed: Callable[[list[Edit]], list[Edit]]) -> Iterator[Mutant]:
        """Those that count, in a *mixed* order."""
        for edit in mixed(self._edits):
            if edit not in self._known:
                self._known[edit] = self._judged(edit)
            if mutant := self._known[edit]:
                yield mutant

    def _judged(self, edit: Edit) -> Mutant | None:
        changed = self._right.changed(edit)
        others = [other for other in self._all if other.line != edit.line]
        if not _is_told(changed) or any(changed.changed(other).is_right for other in others):
            return None
        effect = effect_of(changed)
        if effect.ratio and abs(effect.ratio - 1) < _NOTICED:
            return None
        return Mutant(edit.line, edit.text, edit.operator, effect)


def effect_of(listing: Listing) -> Effect:
    """The effect of the bug in *listing* on its results."""
    try:
        pairs = listing.results([*listing.calls, *listing.more])
    except ListingError:
        pairs = listing.results(listing.calls)
    raised = [value.kind for value, _ in pairs if isinstance(value, FailedError)]
    if raised:
        kinds = set(raised)
        kind = kinds.pop() if len(kinds) == 1 else "exception"
        return Effect(raises=kind, always=len(raised) == len(pairs))
    numbers = [
        (value, right) for value, right in pairs if isinstance(value, int | float) and isinstance(right, int | float)
    ]
    if len(numbers) != len(pairs):
        return Effect()
    return Effect(None if _has_one_length(listing.calls) else _ratio(numbers), _lean(numbers))


def _has_one_length(calls: Sequence[TrialCall]) -> bool:
    """Whether a list is always as long: a ratio may come of its length, which no one sees."""
    for values in zip(*(call.arguments for call in calls), strict=True):
        lengths = {len(value) for value in values if isinstance(value, list)}
        if len(lengths) == 1:
            return True
    return False


def _is_told(listing: Listing) -> bool:
    """Whether a listing with one change is wrong often enough, and runs at all."""
    try:
        pairs = listing.results(listing.calls)
    except (SyntaxError, ListingError):
        return False
    # The type alone would give it away.
    if not all(type(v) in (FailedError, type(right)) or (type(v), type(right)) == (int, float) for v, right in pairs):
        return False
    wrong = [isinstance(v, FailedError) or not _agree(v, right) for v, right in pairs]
    return sum(wrong) >= _TELLING * len(pairs)


def _result(program: CompiledListing, call: TrialCall) -> "Plain | FailedError":
    """What *call* returns, or the exception that it raises."""
    try:
        return program.run(call.arguments)
    except FailedError as error:
        return error


def _agree(value: "Plain | FailedError", expected: Plain) -> bool:
    if isinstance(value, int | float) and isinstance(expected, int | float):
        return math.isclose(value, expected, rel_tol=_CLOSE, abs_tol=1e-12)
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(_agree, value, expected))
    return value == expected


def _ratio(numbers: Sequence[tuple[float, float]]) -> float | None:
    """The ratio of every result to the right one, where it is always the same."""
    if any(value and not right for value, right in numbers):
        return None
    ratios = {float(f"{value / right:.6g}") for value, right in numbers if right}
    return ratios.pop() if len(ratios) == 1 else None


def _lean(numbers: Sequence[tuple[float, float]]) -> Literal["", "large", "small"]:
    """The side on which every result is that is wrong, where none is negative."""
    if any(value < 0 or right < 0 for value, right in numbers):
        return ""
    wrong = [(value, right) for value, right in numbers if not _agree(value, right)]
    if all(value > right for value, right in wrong):
        return "large"
    return "small" if all(value < right for value, right in wrong) else ""


def dead_lines(listing: Listing) -> list[int]:
    """The lines of the right *listing* that could set anything, and every call would be right."""
    found = []
    for function in listing.tree.body:
        for statement in walk_statements(function.body) if isinstance(function, ast.FunctionDef) else ():
            if isinstance(statement, ast.Assign):
                start = listing.lines[statement.lineno - 1][: statement.col_offset] + ast.unparse(statement.targets[0])
                edits = [Edit(statement.lineno, f"{start} = {other}", "constant") for other in _OTHER_VALUES]
                if all(listing.changed(edit).is_right for edit in edits):
                    found.append(statement.lineno)
    return found


def walk_statements(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """*statements*, and those inside loops and conditions."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.For | ast.If):
            yield from walk_statements(statement.body)
            yield from walk_statements(statement.orelse)
