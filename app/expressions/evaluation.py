"""What an expression comes to: values with dimensions, checked as they meet."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from app.errors import nearest
from app.expressions.reading import ExpressionError, parse
from app.expressions.tree import COMPARISONS, Binary, Call, Name, Negative, Node, Number, Word
from app.formulas import FORMULAS, Argument, Formula
from app.units import RATIO, Dimension, show, unit_of

SLACK = 1e-9  # of a comparison: 1/3 * 3 is 1
PLAIN: Dimension = RATIO.dimension


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of its dimension."""

    value: float
    dimension: Dimension = PLAIN

    def __str__(self) -> str:
        unit = unit_of(self.dimension)
        return show(self.value, unit) if unit else f"{self.value:g} of a mixed unit"


Names = Mapping[str, Quantity]


def evaluate(text: str | Node, names: Names) -> Quantity:
    """The value of *text* where the symbols are *names*.

    A formula may be called, `memory.state_bytes(parameters)`, or only named, when each of its
    arguments is taken from the symbol of the same name.

    Raises:
        ExpressionError: it cannot be read, a name is unknown, dimensions do not go together, or
            a value is not a finite number.
    """
    node = parse(text, names) if isinstance(text, str) else text
    try:
        found = _value(node, names)
    except (OverflowError, ZeroDivisionError) as error:
        raise ExpressionError(f"the value is not a finite number ({error})") from None
    if not math.isfinite(found.value):
        raise ExpressionError("the value is not a finite number")
    return found


def holds(text: str | Node, names: Names) -> bool:
    """Whether the comparison *text* is true where the symbols are *names*."""
    node = parse(text, names) if isinstance(text, str) else text
    if not (isinstance(node, Binary) and node.operator in COMPARISONS):
        raise ExpressionError(f"{text!r} compares nothing")
    return bool(evaluate(node, names).value)


def _value(node: Node, names: Names) -> Quantity:
    match node:
        case Number(_, value, scale):
            return (
                Quantity(value * scale.factor, scale.unit.dimension) if scale else Quantity(value)
            )
        case Name(name):
            return _named(name, names)
        case Negative(term):
            inner = _value(term, names)
            return Quantity(-inner.value, inner.dimension)
        case Binary(operator, left, right):
            return _OPERATIONS[operator](_value(left, names), _value(right, names))
        case Call():
            return _called(node, names)
        case Word(text):
            raise ExpressionError(f"the word {text!r} has no value")


def _named(name: str, names: Names) -> Quantity:
    if name in names:
        return names[name]
    if formula := FORMULAS.get(name):
        taken = {key: names[key] for key in formula.inputs if key in names}
        return _result(formula, {key: _argument(formula, key, q) for key, q in taken.items()})
    raise ExpressionError(f"{name!r} is not known here{nearest(name, [*names, *FORMULAS])}")


def _called(call: Call, names: Names) -> Quantity:
    if formula := FORMULAS.get(call.name):
        given: dict[str, Node] = dict(zip(formula.inputs, call.arguments, strict=False))
        given |= dict(call.named)
        arguments = {
            key: node.text
            if isinstance(node, Word)
            else _argument(formula, key, _value(node, names))
            for key, node in given.items()
        }
        return _result(formula, arguments, call.part)
    if call.name not in _FUNCTIONS:
        known = [*_FUNCTIONS, *FORMULAS]
        raise ExpressionError(f"no function is called {call.name!r}{nearest(call.name, known)}")
    values = [_value(argument, names) for argument in call.arguments]
    if not values or call.named:
        raise ExpressionError(f"{call.name} takes one value or more, without names")
    return _FUNCTIONS[call.name](values)


def _argument(formula: Formula, key: str, quantity: Quantity) -> Argument:
    """The plain number that *formula* takes for *quantity*, whose dimension must be right."""
    taken = formula.inputs.get(key)
    if taken is None or taken.unit is None:  # unknown ones are refused by the formula, by name
        return str(int(quantity.value))
    if taken.unit.dimension != quantity.dimension:
        raise ExpressionError(f"{formula.name} takes {taken.unit} as {key}, not {quantity}")
    return quantity.value


def _result(formula: Formula, arguments: Mapping[str, Argument], part: str = "") -> Quantity:
    try:
        value = formula.function(**formula.read(arguments))
    except ValueError as error:
        raise ExpressionError(str(error)) from None
    if isinstance(value, tuple):
        if part not in formula.parts:
            raise ExpressionError(f"{formula.name} needs one of .{', .'.join(formula.parts)}")
        value = value[formula.parts.index(part)]
    return Quantity(float(value), formula.result.dimension)


def _same(left: Quantity, right: Quantity) -> Dimension:
    if left.dimension == right.dimension or not right.value:
        return left.dimension
    if not left.value:
        return right.dimension
    raise ExpressionError(f"{left} and {right} are of different kinds")


def _power(base: Quantity, exponent: Quantity) -> Quantity:
    if exponent.dimension != PLAIN:
        raise ExpressionError(f"{exponent} cannot be an exponent")
    if isinstance(value := base.value**exponent.value, complex):
        raise ExpressionError(f"{base} to the {exponent} is not a real number")
    return Quantity(value, _raised(base.dimension, Fraction(exponent.value).limit_denominator(100)))


def _raised(dimension: Dimension, exponent: Fraction) -> Dimension:
    a, b, c, d, e = (part * exponent for part in dimension)
    return a, b, c, d, e


def _times(left: Quantity, right: Quantity) -> Quantity:
    a, b, c, d, e = (x + y for x, y in zip(left.dimension, right.dimension, strict=True))
    return Quantity(left.value * right.value, (a, b, c, d, e))


def _over(left: Quantity, right: Quantity) -> Quantity:
    a, b, c, d, e = (x - y for x, y in zip(left.dimension, right.dimension, strict=True))
    return Quantity(left.value / right.value, (a, b, c, d, e))


def _compare(test: Callable[[float, float], bool]) -> Callable[[Quantity, Quantity], Quantity]:
    def compared(left: Quantity, right: Quantity) -> Quantity:
        _same(left, right)
        return Quantity(float(test(left.value, right.value)))

    return compared


def _close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=SLACK)


_OPERATIONS: Mapping[str, Callable[[Quantity, Quantity], Quantity]] = {
    "+": lambda left, right: Quantity(left.value + right.value, _same(left, right)),
    "-": lambda left, right: Quantity(left.value - right.value, _same(left, right)),
    "*": _times,
    "/": _over,
    "^": _power,
    "==": _compare(_close),
    "!=": _compare(lambda left, right: not _close(left, right)),
    "<=": _compare(lambda left, right: left < right or _close(left, right)),
    ">=": _compare(lambda left, right: left > right or _close(left, right)),
    "<": _compare(lambda left, right: left < right and not _close(left, right)),
    ">": _compare(lambda left, right: left > right and not _close(left, right)),
}


def _plain(function: Callable[[float], float]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        if len(values) != 1 or values[0].dimension != PLAIN:
            raise ExpressionError("this function takes one plain number")
        try:
            return Quantity(float(function(values[0].value)))
        except ValueError:
            raise ExpressionError(f"this function has no value at {values[0]}") from None

    return applied


def _chosen(function: Callable[[list[float]], float]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        dimension = values[0].dimension
        for value in values[1:]:
            dimension = _same(Quantity(1.0, dimension), value)
        return Quantity(function([value.value for value in values]), dimension)

    return applied


_FUNCTIONS: Mapping[str, Callable[[list[Quantity]], Quantity]] = {
    "ceil": _plain(lambda x: math.ceil(x - SLACK)),
    "floor": _plain(lambda x: math.floor(x + SLACK)),
    "round": _plain(lambda x: math.floor(x + 0.5)),
    "log2": _plain(math.log2),
    "ln": _plain(math.log),
    "exp": _plain(math.exp),
    "sqrt": lambda values: _power(values[0], Quantity(0.5)),
    "abs": _chosen(lambda values: abs(values[0])),
    "min": _chosen(min),
    "max": _chosen(max),
}
