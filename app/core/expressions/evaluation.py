"""Evaluation of an expression: operators, functions, and values whose dimensions are checked."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import add, sub

from app.core.errors import nearest
from app.core.expressions import parser
from app.core.expressions.parser import Binary, ExpressionError, FunctionCall, Name, Negative, Node, Number, Word
from app.core.formulas import FORMULAS, Argument, Formula
from app.core.translation import localize, noted, translate
from app.core.units import FLOP, RATIO, Dimension, figures, show, spell_dimension, unit_of

SLACK = 1e-9  # of a comparison: 1/3 * 3 is 1
PLAIN: Dimension = RATIO.dimension
_HIGHEST = 100  # exponent of a unit
_ROUNDING = ("ceil", "floor", "round")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of its dimension.

    Raises:
        ExpressionError: the value is not a finite number.
    """

    value: float
    dimension: Dimension = PLAIN

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ExpressionError(translate("the value is not a finite number"))

    def __str__(self) -> str:
        unit = unit_of(self.dimension)
        if unit is None:
            return f"{figures(self.value)} {spell_dimension(self.dimension)}"
        return show(self.value, unit)


def same_kind(dimension: Dimension, other: Dimension) -> bool:
    """Whether two dimensions are the same if FLOP counts as a plain number."""
    return _without_flop(dimension) == _without_flop(other)


def _without_flop(dimension: Dimension) -> Dimension:
    return tuple(power for power, flop in zip(dimension, FLOP.dimension, strict=True) if not flop)


def _same_dimension(left: Quantity, right: Quantity) -> Dimension:
    if left.dimension == right.dimension or not right.value:
        return left.dimension
    if not left.value:
        return right.dimension
    raise ExpressionError(translate("{left} and {right} are of different kinds", left=left, right=right))


def _power(base: Quantity, exponent: Quantity) -> Quantity:
    if exponent.dimension != PLAIN:
        raise ExpressionError(translate("{exponent} cannot be an exponent", exponent=exponent))
    if isinstance(value := base.value**exponent.value, complex):
        raise ExpressionError(translate("{base} to the {exponent} is not a real number", base=base, exponent=exponent))
    return Quantity(value, _raised(base.dimension, exponent))


def _raised(dimension: Dimension, exponent: Quantity) -> Dimension:
    if dimension == PLAIN:
        return PLAIN
    if abs(exponent.value) > _HIGHEST:
        raise ExpressionError(translate("the exponent {exponent} is too large for a unit", exponent=exponent))
    times = Fraction(exponent.value).limit_denominator(100)
    powers = [part * times for part in dimension]
    return tuple(power.numerator if power.denominator == 1 else power for power in powers)


def _times(left: Quantity, right: Quantity) -> Quantity:
    if right.dimension == PLAIN:
        return Quantity(left.value * right.value, left.dimension)
    return Quantity(left.value * right.value, tuple(map(add, left.dimension, right.dimension)))


def _over(left: Quantity, right: Quantity) -> Quantity:
    if right.dimension == PLAIN:
        return Quantity(left.value / right.value, left.dimension)
    return Quantity(left.value / right.value, tuple(map(sub, left.dimension, right.dimension)))


def _compare(test: Callable[[float, float], bool]) -> Callable[[Quantity, Quantity], Quantity]:
    def compared(left: Quantity, right: Quantity) -> Quantity:
        _same_dimension(left, right)
        return Quantity(float(test(left.value, right.value)))

    return compared


def _close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=SLACK)


OPERATIONS: Mapping[str, Callable[[Quantity, Quantity], Quantity]] = {
    "+": lambda left, right: Quantity(left.value + right.value, _same_dimension(left, right)),
    "-": lambda left, right: Quantity(left.value - right.value, _same_dimension(left, right)),
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


def _plain_function(function: Callable[[float], float]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        if len(values) != 1 or values[0].dimension != PLAIN:
            raise ExpressionError(translate("this function takes one plain number"))
        try:
            return Quantity(float(function(values[0].value)))
        except ValueError:
            raise ExpressionError(translate("this function has no value at {values}", values=values[0])) from None

    return applied


def _chosen(function: Callable[[list[float]], float]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        telling = [value for value in values if value.value] or values
        for value in telling[1:]:
            _same_dimension(telling[0], value)
        return Quantity(function([value.value for value in values]), telling[0].dimension)

    return applied


def _of_one(function: Callable[[Quantity], Quantity]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        if len(values) != 1:
            raise ExpressionError(translate("this function takes one value"))
        return function(values[0])

    return applied


def _logarithm(values: list[Quantity]) -> Quantity:
    if len(values) != 2:  # noqa: PLR2004
        raise ExpressionError(translate("log takes a value and a base, such as log(x, 2); or use ln(x)"))
    number, base = (_plain_function(math.log)([value]).value for value in values)
    return Quantity(number / base)


def _slack(x: float) -> float:
    return SLACK * min(1.0, abs(x))


FUNCTIONS: Mapping[str, Callable[[list[Quantity]], Quantity]] = {
    "ceil": _plain_function(lambda x: math.ceil(x - _slack(x))),
    "floor": _plain_function(lambda x: math.floor(x + _slack(x))),
    "round": _plain_function(lambda x: math.floor(x + 0.5)),
    "log": _logarithm,
    "log2": _plain_function(math.log2),
    "log10": _plain_function(math.log10),
    "ln": _plain_function(math.log),
    "exp": _plain_function(math.exp),
    "exp2": _plain_function(lambda x: 2.0**x),
    "sqrt": _of_one(lambda x: _power(x, Quantity(0.5))),
    "abs": _of_one(lambda x: Quantity(abs(x.value), x.dimension)),
    "min": _chosen(min),
    "max": _chosen(max),
}


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
    except (OverflowError, ZeroDivisionError):
        raise ExpressionError(translate("the value is not a finite number")) from None


def _tree(text: str | Node, names: Names) -> Node:
    return parser.parse_expression(text, names, has_physics=True) if isinstance(text, str) else text


def holds(text: str | Node, names: Names) -> bool:
    """Whether the comparison *text* is true with the symbols in *names*."""
    node = _tree(text, names)
    if not (isinstance(node, Binary) and node.operator in parser.COMPARISONS):
        raise ExpressionError(translate("{text!r} is not a comparison", text=text))
    return bool(evaluate(node, names).value)


def unrounded(text: str | Node, names: Names) -> float:
    """The value of *text* before it is rounded, if it is the ceil, floor or round of something.

    Raises:
        ExpressionError: it has no value.
    """
    node = _tree(text, names)
    while isinstance(node, FunctionCall) and node.name in _ROUNDING and len(node.arguments) == 1:
        node = node.arguments[0]
    return evaluate(node, names).value


def values_of_terms(text: str | Node, names: Names) -> list[Quantity]:
    """The values of the parts of *text*, and of *text* with a term left out, as far as they have one."""
    try:
        node = _tree(text, names)
    except ExpressionError:
        return []
    found = []
    for part in (*parser.nodes_in(node), *drop_terms(node, names)):
        try:
            found.append(evaluate(part, names))
        except ExpressionError:  # a word, or a term that cannot be left out
            continue
    return found


def drop_terms(node: Node, names: Names) -> Iterator[Node]:
    """*node* with a term of a sum left out, or an argument that a formula in it can do without."""
    match node:
        case Negative(term):
            yield from (Negative(one) for one in drop_terms(term, names))
        case Binary(operator, left, right):
            yield from (left, right) if operator == "+" else (left,) if operator == "-" else ()
            yield from (Binary(operator, one, right) for one in drop_terms(left, names))
            yield from (Binary(operator, left, one) for one in drop_terms(right, names))
        case Name(name) if name not in names and (formula := FORMULAS.get(name)):
            taken = tuple((key, Name(key)) for key in formula.inputs if key in names)
            yield from _without_an_option(FunctionCall(name, (), taken))
        case FunctionCall(name, arguments, named, part):
            for at, one in ((at, one) for at, term in enumerate(arguments) for one in drop_terms(term, names)):
                yield FunctionCall(name, (*arguments[:at], one, *arguments[at + 1 :]), named, part)
            yield from _without_an_option(node)


def _without_an_option(call: FunctionCall) -> Iterator[Node]:
    """*call* without its last argument, or one that is named, where its formula has a default for it."""
    if formula := FORMULAS.get(call.name):
        inputs = list(formula.inputs.values())[: len(call.arguments)]
        if inputs and not inputs[-1].required:
            yield FunctionCall(call.name, call.arguments[:-1], call.named, call.part)
        for key, _ in call.named:
            if key in formula.inputs and not formula.inputs[key].required:
                others = tuple(one for one in call.named if one[0] != key)
                yield FunctionCall(call.name, call.arguments, others, call.part)


def _value(node: Node, names: Names) -> Quantity:
    match node:
        case Number(_, value, scale):
            return Quantity(value * scale.factor, scale.unit.dimension) if scale else Quantity(value)
        case Name(name):
            return _named_quantity(name, names)
        case Negative(term):
            inner = _value(term, names)
            return Quantity(-inner.value, inner.dimension)
        case Binary(operator, left, right):
            return OPERATIONS[operator](_value(left, names), _value(right, names))
        case FunctionCall():
            return _called(node, names)
        case Word(text):
            raise ExpressionError(translate("the word {text!r} has no value", text=text))


def _named_quantity(name: str, names: Names) -> Quantity:
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
        return _result(formula, arguments, call.part)
    if call.name not in FUNCTIONS:
        known = [*FUNCTIONS, *FORMULAS]
        raise ExpressionError(
            translate("no function is called {name!r}{near}", name=call.name, near=nearest(call.name, known))
        )
    values = [_value(argument, names) for argument in call.arguments]
    if not values or call.named or call.part:
        raise ExpressionError(translate("{name} takes one or more values, without names", name=call.name))
    return FUNCTIONS[call.name](values)


def _argument(formula: Formula, key: str, quantity: Quantity) -> Argument:
    """*quantity* as the plain number that *formula* takes; the dimension must match."""
    taken = formula.inputs.get(key)
    if taken is None or taken.unit is None:  # the formula itself refuses unknown names
        return f"{quantity.value:g}"
    if taken.unit.dimension != quantity.dimension:
        form = noted("{name} takes {unit} as {key}, not {quantity}")
        raise ExpressionError(translate(form, name=formula.name, unit=taken.unit, key=key, quantity=quantity))
    return quantity.value / taken.unit.size


def _result(formula: Formula, arguments: Mapping[str, Argument], part: str = "") -> Quantity:
    try:
        value = formula.function(**formula.read(arguments))
    except ValueError as error:
        raise ExpressionError(localize(str(error))) from None
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
