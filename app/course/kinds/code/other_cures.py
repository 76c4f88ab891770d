"""Cures of a wrong listing on another line than the wrong one: there must be none.

Else a learner who finds the cure is told that the line is right.
"""

import ast
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import product

from app.course.kinds.code.interpreter import CompiledListing
from app.course.kinds.code.mutants import TreePlace
from app.course.kinds.code.mutation import Listing, all_edits, cured_by, walked

_NUMBERS = ("1", "2")
_SIGNS = ("*", "/", "+", "-")
_SCALES = (ast.Mult, ast.Div)
_SCALED = (ast.Name, ast.BinOp, ast.Call, ast.Subscript)


def equally_guilty(listing: Listing, line: int, argued: Container[int] = ()) -> int | None:
    """Another line than *line* of the wrong *listing*, a small change of which cures all.

    The lines *argued* are left out: their author says why they are right.
    """
    edits = all_edits(listing.lines)
    return cured_by(listing, [e for e in edits if e.line != line and e.line not in argued])


Candidates = Callable[[ast.stmt, Sequence[str]], Iterator[tuple[TreePlace, ast.expr]]]


def mended_elsewhere(listing: Listing, line: int, argued: Container[int] = ()) -> tuple[int, str] | None:
    """Another line of the wrong *listing* than *line*, and a value, as simple, that cures all.

    The lines *argued* are left out: their author says why they are right.
    """
    return _cure_elsewhere(listing, line, argued, _simple_values)


def scaled_elsewhere(listing: Listing, line: int) -> tuple[int, str] | None:
    """Another line of the wrong *listing* than *line*, and a factor or divisor that cures all."""
    return _cure_elsewhere(listing, line, (), _scaled_values)


def _cure_elsewhere(
    listing: Listing, line: int, argued: Container[int], candidates: Candidates
) -> tuple[int, str] | None:
    tree = ast.parse("\n".join(listing.lines))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    known = [argument.arg for argument in function.args.args]
    program = CompiledListing(tree, listing.entry)  # each run reads the tree again
    for statement in walked(function.body):
        if statement.lineno != line and statement.lineno not in argued:
            for place, value in candidates(statement, known):
                place.put(value)
                cures = listing.is_right_as(program)
                place.put(place.node)
                if cures:
                    return statement.lineno, ast.unparse(value)
        known += _named_by(statement)
    return None


def _simple_values(statement: ast.stmt, known: Sequence[str]) -> Iterator[tuple[TreePlace, ast.expr]]:
    """Names and terms as simple as the value of *statement*."""
    if isinstance(statement, ast.Assign | ast.Return) and statement.value:
        whole = TreePlace(statement, "value", None, statement.value)
        yield from ((whole, value) for value in _as_simple(statement.value, known))


def _scaled_values(statement: ast.stmt, known: Sequence[str]) -> Iterator[tuple[TreePlace, ast.expr]]:
    """What is in *statement*, multiplied with a name or divided by it."""
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
        scales = _scales(known)
        for place, node in _places(statement):
            for sign, scale in product(_SCALES, scales):
                yield place, ast.copy_location(ast.BinOp(node, sign(), scale), node)


def _scales(known: Sequence[str]) -> list[ast.expr]:
    """What a value may be multiplied with or divided by."""
    texts = [*dict.fromkeys(known), "2", *(f"len({name})" for name in dict.fromkeys(known))]
    return [ast.parse(text, mode="eval").body for text in texts]


def _places(parent: ast.AST) -> Iterator[tuple[TreePlace, ast.expr]]:
    """The values in *parent* that may be scaled, with their places."""
    for field, value in ast.iter_fields(parent):
        if field in ("target", "targets", "func", "slice", "generators"):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, _SCALED):
                yield TreePlace(parent, field, index, node), node
            if isinstance(node, ast.AST):
                yield from _places(node)


def _named_by(statement: ast.stmt) -> list[str]:
    """The names that *statement* gives values."""
    targets = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.For):
        targets = [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _as_simple(value: ast.expr, names: Sequence[str]) -> Iterator[ast.expr]:
    """Names in place of a name, and two with one sign between them in place of such a term."""
    texts: list[str] = []
    terms = list(dict.fromkeys([*names, *_NUMBERS]))
    match value:
        case ast.Name():
            texts = list(names)
        case ast.BinOp(ast.Name() | ast.Constant(), _, ast.Name() | ast.Constant()):
            texts = [f"{a} {sign} {b}" for sign in _SIGNS for a, b in product(terms, terms)]
    return (ast.parse(text, mode="eval").body for text in texts)
