"""The nodes of an expression's tree."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.units import Scale


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, with or without a unit."""

    text: str
    value: float
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word in quotes, for an argument of a formula that is a choice."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol, or a formula whose arguments are the symbols of the same names."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """*term* with a minus sign."""

    term: "Node"


@dataclass(frozen=True, slots=True)
class Binary:
    """Two terms with one of + - * / ^ or a comparison operator between them."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function or a formula; *part* picks one of several results."""

    name: str
    arguments: tuple["Node", ...]
    named: tuple[tuple[str, "Node"], ...] = ()
    part: str = ""


Node = Number | Word | Name | Negative | Binary | FunctionCall
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")


def names_in(node: Node) -> set[str]:
    """Every symbol and formula in *node*."""
    match node:
        case Name(name):
            return {name}
        case Negative(term):
            return names_in(term)
        case Binary(_, left, right):
            return names_in(left) | names_in(right)
        case FunctionCall(name, arguments, named, _):
            inside = [*arguments, *(argument for _, argument in named)]
            mentioned = {name} if "." in name else set()
            return mentioned.union(*(names_in(argument) for argument in inside))
    return set()


def nodes_in(node: Node) -> Iterator[Node]:
    """*node*, and every part of it."""
    yield node
    match node:
        case Negative(term):
            yield from nodes_in(term)
        case Binary(_, left, right):
            yield from nodes_in(left)
            yield from nodes_in(right)
        case FunctionCall(_, arguments, named, _):
            for argument in (*arguments, *(value for _, value in named)):
                yield from nodes_in(argument)


def numbers_in(node: Node) -> list[Number]:
    """Every number in *node*, in the order in which they are written."""
    match node:
        case Number():
            return [node]
        case Negative(term):
            return numbers_in(term)
        case Binary(_, left, right):
            return [*numbers_in(left), *numbers_in(right)]
        case FunctionCall(_, arguments, named, _):
            inside = [*arguments, *(argument for _, argument in named)]
            return [number for argument in inside for number in numbers_in(argument)]
    return []
