"""Whether exactly one line of a wrong listing is at fault: no other can be mended instead."""

import ast
from collections.abc import Container, Iterator, Sequence
from itertools import product

from app.kinds.code.edits import Edit, all_edits
from app.kinds.code.mutation import Listing, cured_by

_OTHER_VALUES = ("0", "987.5")  # of a line whose value may not matter
_NUMBERS = ("1", "2")
_SIGNS = ("*", "/", "+", "-")


def dead_lines(listing: Listing) -> list[int]:
    """The lines of the right *listing* that could set anything, and every call would be right."""
    return [
        statement.lineno
        for statement in _statements(listing)
        if isinstance(statement, ast.Assign)
        and all(listing.changed(_set(listing, statement, to)).is_right for to in _OTHER_VALUES)
    ]


def _set(listing: Listing, statement: ast.Assign, to: str) -> Edit:
    line = listing.lines[statement.lineno - 1]
    indent = line[: statement.col_offset]
    return Edit(statement.lineno, f"{indent}{ast.unparse(statement.targets[0])} = {to}", "constant")


def equally_guilty(listing: Listing, line: int, argued: Container[int] = ()) -> int | None:
    """Another line than *line* of the wrong *listing*, a small change of which cures all.

    The lines *argued* are left out: their author says why they are right.
    """
    edits = all_edits(listing.lines)
    return cured_by(listing, [e for e in edits if e.line != line and e.line not in argued])


def mended_elsewhere(
    listing: Listing, line: int, argued: Container[int] = ()
) -> tuple[int, str] | None:
    """Another line of the wrong *listing* than *line*, and a value, as simple, that cures all."""
    tree = ast.parse("\n".join(listing.lines))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    known = [argument.arg for argument in function.args.args]
    for statement in _walked(function.body):
        left_out = statement.lineno == line or statement.lineno in argued
        if isinstance(statement, ast.Assign | ast.Return) and not left_out:
            before = statement.value
            for text, value in _as_simple(before, known):
                statement.value = value
                if listing.is_right_as(tree):
                    return statement.lineno, text
            statement.value = before
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            known.append(statement.targets[0].id)
    return None


def _as_simple(value: ast.expr | None, names: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """Names in place of a name, and two with one sign between them in place of such a term."""
    texts: list[str] = []
    terms = list(dict.fromkeys([*names, *_NUMBERS]))
    match value:
        case ast.Name():
            texts = list(names)
        case ast.BinOp(ast.Name() | ast.Constant(), _, ast.Name() | ast.Constant()):
            texts = [f"{a} {sign} {b}" for sign in _SIGNS for a, b in product(terms, terms)]
    return ((text, ast.parse(text, mode="eval").body) for text in texts)


def _statements(listing: Listing) -> Iterator[ast.stmt]:
    tree = ast.parse("\n".join(listing.lines))
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            yield from _walked(function.body)


def _walked(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in statements:
        yield statement
        if isinstance(statement, ast.For | ast.If):
            yield from _walked(statement.body)
            yield from _walked(statement.orelse)
