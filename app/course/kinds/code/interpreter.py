"""An interpreter for small listings of arithmetic: a harmless subset of Python.

A listing is functions of assignments, `if`, `for` over a range or a list, and `return`; its values
are numbers and lists of them. The rest of Python is refused, and a run stops after a fixed
number of steps. Everything that is accepted returns and raises what it does in Python.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.course.sandbox.process import Plain


def assigned_names(function: ast.FunctionDef) -> Iterator[str]:
    """Every name that *function* gives a value; `ast.walk` would take three times as long."""
    nodes: list[object] = [function]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
        elif isinstance(node, ast.AST):
            nodes.extend(vars(node).values())
        elif isinstance(node, list):
            nodes.extend(node)


def imported_names(tree: ast.Module) -> frozenset[str]:
    """The names imported at the top, unless renamed."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module == "math"):
            found |= {alias.name for alias in node.names if not alias.asname}
    return frozenset(found)


STEPS = 20_000
_LARGEST = 1e300
_LARGEST_POWER = 1000  # bits
_LONGEST = 10_000  # values of a range
Variables = dict[str, Plain]


class ListingError(ValueError):
    """The listing uses more of Python than is read here, or a run of it failed."""


class FailedError(ListingError):
    """A run raised what Python raises, an exception called *kind*."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


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
_BUILT_IN: Mapping[str, Callable[..., Plain]] = {"min": min, "max": max, "sum": sum, "abs": abs, "len": len}
_MATH: Mapping[str, Callable[..., Plain]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
}
_HARMLESS = (ArithmeticError, TypeError, ValueError, LookupError, NameError)


@dataclass(slots=True)
class _Run:
    values: Variables
    assigned: frozenset[str] = frozenset()  # names that the function gives a value somewhere
    imported: frozenset[str] = frozenset()
    steps: int = field(default=STEPS)

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise ListingError("the run does not end")

    def value(self, name: str) -> Plain:
        if name in self.values:
            return self.values[name]
        if name in self.assigned:
            raise UnboundLocalError(f"{name} has no value yet")
        if name in (*_BUILT_IN, "range", *self.imported):
            raise ListingError(f"{name} is a function")
        raise NameError(f"name {name!r} is not defined")

    def function(self, called: ast.expr) -> Callable[..., Plain]:
        match called:
            case ast.Name(name) if name in self.values or name in self.assigned:
                raise TypeError(f"{type(self.value(name)).__name__!r} object is not callable")
            case ast.Name(name) if name in _BUILT_IN:
                return _BUILT_IN[name]
            case ast.Name(name) if name in _MATH and name in self.imported:
                return _MATH[name]
            case ast.Attribute(ast.Name("math"), name) if name in _MATH and "math" in self.imported:
                return _MATH[name]
        raise ListingError(f"line {called.lineno} is more than arithmetic")


class _ReturnedError(Exception):
    def __init__(self, value: Plain) -> None:
        super().__init__()
        self.value = value


class CompiledListing:
    """A listing that was looked through once, to be run many times."""

    def __init__(self, tree: ast.Module, entry: str = "") -> None:
        """Look at the function *entry* of *tree*; the first one if not named.

        Raises:
            ListingError: there is none, or it uses more of Python than is read here.
        """
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        function = next((one for one in functions if entry in ("", one.name)), None)
        if function is None:
            raise ListingError("there is no function")
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom):
                raise ListingError(f"line {node.lineno} is more than a function")
        rest = function.args
        if rest.vararg or rest.kwarg or rest.kwonlyargs or rest.posonlyargs:
            raise ListingError(f"line {function.lineno} is more than arithmetic")
        self._function = function
        self._names = [argument.arg for argument in rest.args]
        self._assigned = frozenset(assigned_names(function))
        self._imported = imported_names(tree)

    def run(self, arguments: Sequence[Plain]) -> Plain:
        """The result of the function for *arguments*.

        Raises:
            FailedError: it raises.
            ListingError: it uses more of Python than is read here, or never ends.
        """
        try:
            at = _Run(self._values(arguments), self._assigned, self._imported)
            _block(self._function.body, at)
        except _ReturnedError as returned:
            return returned.value
        except ListingError:
            raise
        except _HARMLESS as error:
            raise FailedError(type(error).__name__, str(error)) from error
        except RecursionError as error:
            raise ListingError("it is nested too deeply") from error
        return None

    def _values(self, arguments: Sequence[Plain]) -> Variables:
        """The names with their arguments, or what they are by default."""
        names, defaults = self._names, self._function.args.defaults
        values: Variables = dict(zip(names, arguments, strict=False))
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            values.setdefault(name, _value(default, _Run({})))
        if len(arguments) > len(names) or len(values) < len(names):
            raise TypeError(f"{self._function.name}() takes {len(names)} arguments")
        return values


def _block(statements: Sequence[ast.stmt], at: _Run) -> None:
    for statement in statements:
        at.step()
        match statement:
            case ast.Return(value):
                raise _ReturnedError(None if value is None else _value(value, at))
            case ast.If(test, then, other):
                _block(then if _value(test, at) else other, at)
            case ast.For(ast.Name(name), several, body, []):
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
            before = at.value(name)
            at.values[name] = _operate(sign, before, _value(value, at))
        case ast.Expr(ast.Constant(str())) | ast.Pass():
            pass
        case _:
            raise ListingError(f"line {statement.lineno} is more than arithmetic")


def _value(node: ast.expr, at: _Run) -> Plain:
    at.step()
    match node:
        case ast.Constant(bool() | int() | float() as value):
            return value
        case ast.Name(name):
            return at.value(name)
        case ast.BinOp(left, sign, right):
            return _operate(sign, _value(left, at), _value(right, at))
        case ast.UnaryOp(ast.USub(), term):
            return -_number(_value(term, at))
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
            return _either(terms, at, until=isinstance(sign, ast.Or))
        case ast.Call(called, arguments, []):
            function = at.function(called)
            return function(*(_value(argument, at) for argument in arguments))
        case ast.Subscript(several, index):
            values, place = _value(several, at), _value(index, at)
            if not isinstance(values, list | tuple):
                raise TypeError(f"{type(values).__name__!r} object is not subscriptable")
            return values[_whole(place)]
        case ast.List(parts):
            return [_value(part, at) for part in parts]
        case ast.Tuple(parts):
            return tuple(_value(part, at) for part in parts)
    raise ListingError(f"line {node.lineno} is more than arithmetic")


def _either(terms: Sequence[ast.expr], at: _Run, *, until: bool) -> Plain:
    """The first value of *terms* that counts as *until*, or the last one."""
    value: Plain = None
    for term in terms:
        value = _value(term, at)
        if bool(value) is until:
            break
    return value


def _several(node: ast.expr, at: _Run) -> Sequence[Plain]:
    match node:
        case ast.Call(ast.Name("range"), arguments, []) if "range" not in {*at.values, *at.assigned}:
            numbers = range(*(_whole(_value(argument, at)) for argument in arguments))
            if len(numbers) > _LONGEST:
                raise ListingError("the loop is too long")
            return numbers
    values = _value(node, at)
    if not isinstance(values, list | tuple):
        raise TypeError(f"{type(values).__name__!r} object is not iterable")
    return values


def _whole(value: Plain) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{type(value).__name__!r} object cannot be interpreted as an integer")
    return value


def _operate(sign: ast.operator, left: Plain, right: Plain) -> float:
    a, b = _number(left), _number(right)
    if isinstance(sign, ast.Pow):
        value = _power(a, b)
    elif type(sign) in _BINARY:
        value = _BINARY[type(sign)](a, b)
    else:
        raise ListingError("this operator is more than arithmetic")
    if abs(value) > _LARGEST:
        raise ListingError("a value is too large")
    return value


def _power(a: float, b: float) -> float:
    if abs(a) > 1 and abs(b) * math.log2(abs(a)) > _LARGEST_POWER:
        raise ListingError("a value is too large")
    value = a**b
    if not isinstance(value, int | float):
        raise ListingError("a value is complex")
    return value


def _number(value: Plain) -> float:
    if not isinstance(value, int | float):
        raise ListingError("a number is expected")
    return value
