"""Small listings of arithmetic, run here and now: a part of Python that can do no harm.

A listing is functions of assignments, `if`, `for` over a range or a list, and `return`; its values
are numbers and lists of them. Whatever else Python has is refused when the listing is read, and a
run ends after a fixed number of steps.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.sandbox.report import Plain

STEPS = 20_000
_LARGEST = 1e300
_LONGEST = 10_000  # values of a range
Values = dict[str, Plain]


class ListingError(ValueError):
    """The listing uses more of Python than is read here, or a run of it failed."""


_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, Callable[..., Plain]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "len": len,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
}
_HARMLESS = (ArithmeticError, TypeError, ValueError, LookupError)


@dataclass(slots=True)
class _Run:
    values: Values
    steps: int = field(default=STEPS)

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise ListingError("the run has no end")


class _ReturnedError(Exception):
    def __init__(self, value: Plain) -> None:
        super().__init__()
        self.value = value


def run(tree: ast.Module, arguments: Sequence[Plain]) -> Plain:
    """What the first function of *tree* returns for *arguments*.

    Raises:
        ListingError: it uses more of Python than is read here, fails, or never ends.
    """
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        raise ListingError("there is no function")
    names = [argument.arg for argument in function.args.args]
    values: Values = dict(zip(names, arguments, strict=False))
    defaults = function.args.defaults
    for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        values.setdefault(name, _value(default, _Run({})))
    try:
        _block(function.body, _Run(values))
    except _ReturnedError as returned:
        return returned.value
    except _HARMLESS as error:
        raise ListingError(str(error)) from error
    except RecursionError as error:
        raise ListingError("it is nested too deeply") from error
    return None


def _block(statements: Sequence[ast.stmt], at: _Run) -> None:
    for statement in statements:
        at.step()
        match statement:
            case ast.Return(value):
                raise _ReturnedError(None if value is None else _value(value, at))
            case ast.If(test, then, other):
                _block(then if _value(test, at) else other, at)
            case ast.For(ast.Name(name), several, body):
                for one in _several(several, at):
                    at.values[name] = one
                    _block(body, at)
            case _:
                _simple(statement, at)


def _simple(statement: ast.stmt, at: _Run) -> None:
    match statement:
        case ast.Assign([ast.Name(name)], value):
            at.values[name] = _value(value, at)
        case ast.AugAssign(ast.Name(name), sign, value):
            at.values[name] = _operate(sign, at.values[name], _value(value, at))
        case ast.Expr(ast.Constant(str())) | ast.Import() | ast.ImportFrom():
            pass
        case _:
            raise ListingError(f"line {statement.lineno} is more than arithmetic")


def _value(node: ast.expr, at: _Run) -> Plain:
    at.step()
    match node:
        case ast.Constant(bool() | int() | float() as value):
            return value
        case ast.Name(name):
            return at.values[name]
        case ast.BinOp(left, sign, right):
            return _operate(sign, _value(left, at), _value(right, at))
        case ast.UnaryOp(ast.USub(), term):
            return _operate(ast.Sub(), 0, _value(term, at))
        case ast.UnaryOp(ast.Not(), term):
            return not _value(term, at)
        case ast.IfExp(test, then, other):
            return _value(then if _value(test, at) else other, at)
        case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARE:
            return _COMPARE[type(sign)](_number(_value(left, at)), _number(_value(right, at)))
        case _:
            return _compound(node, at)


def _compound(node: ast.expr, at: _Run) -> Plain:
    match node:
        case ast.BoolOp(sign, terms):
            whole = all if isinstance(sign, ast.And) else any
            return whole(_value(term, at) for term in terms)
        case ast.Call(ast.Name(name), arguments, []) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, at) for argument in arguments))
        case ast.Call(ast.Attribute(ast.Name("math"), name), arguments, []) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, at) for argument in arguments))
        case ast.Subscript(several, index):
            values = _value(several, at)
            if not isinstance(values, list | tuple):
                raise ListingError("only a list has places")
            return values[int(_number(_value(index, at)))]
        case ast.List(parts) | ast.Tuple(parts):
            return [_value(part, at) for part in parts]
    raise ListingError(f"line {node.lineno} is more than arithmetic")


def _several(node: ast.expr, at: _Run) -> Sequence[Plain]:
    match node:
        case ast.Call(ast.Name("range"), arguments, []):
            numbers = range(*(int(_number(_value(argument, at))) for argument in arguments))
            if len(numbers) > _LONGEST:
                raise ListingError("the loop is too long")
            return numbers
    values = _value(node, at)
    if not isinstance(values, list | tuple):
        raise ListingError("only a list or a range has values")
    return values


def _operate(sign: ast.operator, left: Plain, right: Plain) -> float:
    a, b = _number(left), _number(right)
    if isinstance(sign, ast.Pow):
        value = math.pow(a, b)
        value = int(value) if isinstance(a, int) and isinstance(b, int) and b >= 0 else value
    elif type(sign) in _BINARY:
        value = _BINARY[type(sign)](a, b)
    else:
        raise ListingError("this operator is more than arithmetic")
    if abs(value) > _LARGEST:
        raise ListingError("a value is too large")
    return value


def _number(value: Plain) -> float:
    if not isinstance(value, int | float):
        raise ListingError("a number is wanted")
    return value
