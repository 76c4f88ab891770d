"""Evaluation of an expression: values with dimensions, which are checked."""

from collections.abc import Callable, Mapping

from app.core.errors import nearest
from app.core.expressions.operations import FUNCTIONS, OPERATIONS, Quantity
from app.core.expressions.parser import ExpressionError, parse_expression
from app.core.expressions.tree import COMPARISONS, Binary, FunctionCall, Name, Negative, Node, Number, Word
from app.core.formulas import FORMULAS, Argument, Formula
from app.core.translation import localized, translate

Names = Mapping[str, Quantity]

_OF_A_LIST: Mapping[str, Callable[[list[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "largest": max,
    "smallest": min,
    "length": len,
}


def evaluate(text: str | Node, names: Names) -> Quantity:
    """The value of *text* with the symbols in *names*.

    A formula may be called, as in `memory.state_bytes(parameters)`, or only named: then each
    argument is the symbol of the same name.

    Raises:
        ExpressionError: *text* cannot be read, a name is unknown, dimensions do not match, or a
            value is not a finite number.
    """
    node = _tree(text, names)
    try:
        return _value(node, names)
    except (OverflowError, ZeroDivisionError) as error:
        raise ExpressionError(translate("the value is not a finite number ({error})", error=error)) from None


def _tree(text: str | Node, names: Names) -> Node:
    return parse_expression(text, names, has_physics=True) if isinstance(text, str) else text


def holds(text: str | Node, names: Names) -> bool:
    """Whether the comparison *text* is true with the symbols in *names*."""
    node = _tree(text, names)
    if not (isinstance(node, Binary) and node.operator in COMPARISONS):
        raise ExpressionError(translate("{text!r} is not a comparison", text=text))
    return bool(evaluate(node, names).value)


def _value(node: Node, names: Names) -> Quantity:
    match node:
        case Number(_, value, scale):
            return Quantity(value * scale.factor, scale.unit.dimension) if scale else Quantity(value)
        case Name(name):
            return _named(name, names)
        case Negative(term):
            inner = _value(term, names)
            return Quantity(-inner.value, inner.dimension)
        case Binary(operator, left, right):
            return OPERATIONS[operator](_value(left, names), _value(right, names))
        case FunctionCall():
            return _called(node, names)
        case Word(text):
            raise ExpressionError(translate("the word {text!r} has no value", text=text))


def _named(name: str, names: Names) -> Quantity:
    if name in names:
        return names[name]
    if formula := FORMULAS.get(name):
        taken = {key: names[key] for key in formula.inputs if key in names}
        return _result(formula, {key: _argument(formula, key, q) for key, q in taken.items()})
    raise ExpressionError(
        translate("{name!r} is not known here{near}", name=name, near=nearest(name, [*names, *FORMULAS]))
    )


def _called(call: FunctionCall, names: Names) -> Quantity:
    if formula := FORMULAS.get(call.name):
        return _result(formula, _arguments(formula, call, names), call.part)
    if call.name not in FUNCTIONS:
        known = [*FUNCTIONS, *FORMULAS]
        raise ExpressionError(
            translate("no function is called {name!r}{near}", name=call.name, near=nearest(call.name, known))
        )
    values = [_value(argument, names) for argument in call.arguments]
    if not values or call.named or call.part:
        raise ExpressionError(translate("{name} takes one or more values, without names", name=call.name))
    return FUNCTIONS[call.name](values)


def _arguments(formula: Formula, call: FunctionCall, names: Names) -> dict[str, Argument]:
    """The arguments of *call*, by the names that *formula* gives them."""
    if len(call.arguments) > len(formula.inputs):
        raise ExpressionError(
            translate("{name} takes only {inputs}", name=formula.name, inputs=", ".join(formula.inputs))
        )
    given = [*zip(formula.inputs, call.arguments, strict=False), *call.named]
    arguments: dict[str, Argument] = {}
    for key, node in given:
        if key in arguments:
            raise ExpressionError(translate("{name} is given {key} twice", name=formula.name, key=key))
        if isinstance(node, Word):
            arguments[key] = node.text
        else:
            arguments[key] = _argument(formula, key, _value(node, names))
    return arguments


def _argument(formula: Formula, key: str, quantity: Quantity) -> Argument:
    """*quantity* as the plain number that *formula* takes; the dimension must match."""
    taken = formula.inputs.get(key)
    if taken is None or taken.unit is None:  # the formula itself refuses unknown names
        return f"{quantity.value:g}"
    if taken.unit.dimension != quantity.dimension:
        raise ExpressionError(
            translate(
                "{name} takes {unit} as {key}, not {quantity}",
                name=formula.name,
                unit=taken.unit,
                key=key,
                quantity=quantity,
            )
        )
    return quantity.value / taken.unit.size


def _result(formula: Formula, arguments: Mapping[str, Argument], part: str = "") -> Quantity:
    try:
        value = formula.function(**formula.read(arguments))
    except ValueError as error:
        raise ExpressionError(localized(str(error))) from None
    if isinstance(value, tuple):
        value = _picked(formula, value, part)
    elif part:
        raise ExpressionError(translate("{name} returns one value; it has no .{part}", name=formula.name, part=part))
    return Quantity(float(value), formula.result.dimension)


def _picked(formula: Formula, values: tuple[float, ...] | tuple[str, ...], part: str) -> float:
    """One of the *values* of *formula*, by the name of a part or of a position in a list."""
    numbers = [value for value in values if not isinstance(value, str)]
    if formula.form == "parts" and part in formula.parts:
        return numbers[formula.parts.index(part)]
    if formula.form == "list" and part in _OF_A_LIST and numbers:
        return _OF_A_LIST[part](numbers)
    known = formula.parts if formula.form == "parts" else _OF_A_LIST
    raise ExpressionError(translate("{name} needs one of .{known}", name=formula.name, known=", .".join(known)))
