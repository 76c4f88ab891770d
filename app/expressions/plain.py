"""Formulas made of given letters alone, as learners derive them."""

from collections.abc import Collection

from app.errors import nearest
from app.expressions.operations import FUNCTIONS
from app.expressions.reading import ExpressionError, parse
from app.expressions.tree import COMPARISONS, Binary, Call, Name, Negative, Node, Word


def parse_plain(text: str, letters: Collection[str]) -> Node:
    """The tree of *text*, in which nothing but *letters*, figures and plain functions occurs.

    Raises:
        ExpressionError: *text* is no expression, or mentions something else.
    """
    node = parse(text, letters)
    _check(node, letters)
    return node


def _check(node: Node, letters: Collection[str]) -> None:
    match node:
        case Name(name):
            _known(name, letters, "letters")
        case Word():
            raise ExpressionError("words in quotes have no place in a formula")
        case Negative(term):
            _check(term, letters)
        case Binary():
            _check_both(node, letters)
        case Call():
            _check_call(node, letters)


def _check_both(node: Binary, letters: Collection[str]) -> None:
    if node.operator in COMPARISONS:
        raise ExpressionError(f"a formula is wanted, without {node.operator}")
    _check(node.left, letters)
    _check(node.right, letters)


def _check_call(call: Call, letters: Collection[str]) -> None:
    _known(call.name, FUNCTIONS, "functions")
    if call.named or call.part:
        raise ExpressionError(f"{call.name} takes values alone, without names or parts")
    for argument in call.arguments:
        _check(argument, letters)


def _known(name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        near = nearest(name, known)
        raise ExpressionError(f"{name!r} is none of the {what} {', '.join(known)}{near}")
