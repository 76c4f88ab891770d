"""Programs that are nearly right: every small change of one place in a right one."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from app.course.sandbox.process import Plain

_COMPARISONS: tuple[type[ast.cmpop], ...] = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_INSTEAD: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Div),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.Pow: (ast.Mult,),
}
_SUMS, _PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
_ONE_WAY = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_OTHER = {"min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "any": "all", "all": "any"}
_DROPPED = (ast.Assign, ast.AugAssign, ast.Expr, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class AlteredProgram:
    """A program that is the right one but for one place."""

    line: int
    was: str
    now: str
    source: str

    def __str__(self) -> str:
        return f"line {self.line}, `{self.now}` for `{self.was}`" if self.was else self.now


@dataclass(frozen=True, slots=True)
class TreePlace:
    """Where *node* hangs in the tree."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST

    def put(self, node: ast.AST) -> None:
        """Hang *node* there instead."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def alterations(source: str) -> list[AlteredProgram]:
    """Every program that one small change makes of *source*, each once.

    Operators, comparisons, constants, operands, names, conditions, bounds and starting values are
    exchanged or lost, statements and parts dropped, results clamped or cut to whole numbers.
    """
    tree = ast.parse(source)
    found: dict[str, AlteredProgram] = {}
    right = ast.unparse(tree)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            names, fields = _names(function), _fields(function)
            for place in list(walk_places(function, ("annotation", "returns"))):
                for new in (*_instead(place, names), *_compared_too(place.node, fields)):
                    place.put(new)
                    ast.fix_missing_locations(ast.copy_location(new, place.node))
                    text = ast.unparse(tree)
                    place.put(place.node)
                    if text != right and text not in found:
                        was, now = (" ".join(ast.unparse(one).split()) for one in (place.node, new))
                        found[text] = AlteredProgram(getattr(place.node, "lineno", 0), was, now, text)
    return list(found.values())


_CUTS = (4, 8, 12)  # elements of a list that a careless program reads
_PLACES = 6  # decimals to which it rounds
_CARELESS = """{source}
_careful, _known = {entry}, {{}}
def _rounded(value):
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return round(value, {places}) if isinstance(value, float) else value
def {entry}(*given):
    {body}
"""


def careless_programs(source: str, entry: str, columns: Sequence[Sequence[Plain]]) -> list[AlteredProgram]:
    """The program *source* with an argument cut, capped or not looked at again, and with a rounded result."""
    found = [(f"the result to {_PLACES} decimals", "return _rounded(_careful(*given))")]
    if any(isinstance(value, list) for values in columns for value in values):
        cut = "return _careful(*(value[:{count}] if isinstance(value, list) else value for value in given))"
        found += [(f"lists cut to {count}", cut.format(count=count)) for count in _CUTS]
    for place, values in enumerate(columns):
        before, after = f"*given[:{place}]", f"*given[{place + 1}:]"
        numbers = sorted({one for one in values if isinstance(one, int | float)})
        if len(numbers) > 1:
            called = f"return _careful({before}, {{value}}, {after})".format
            found.append((f"argument {place} capped", called(value=f"min(given[{place}], {numbers[-2]!r})")))
            found.append((f"argument {place} whole", called(value=f"int(given[{place}])")))
        if len(columns) > 1:
            key = f"key = repr(({before}, {after}))"
            known = "if key not in _known:\n        _known[key] = _careful(*given)\n    return _known[key]"
            found.append((f"argument {place} stored without", f"{key}\n    {known}"))
    return [
        AlteredProgram(0, "", says, _CARELESS.format(source=source, entry=entry, places=_PLACES, body=body))
        for says, body in found
    ]


def _names(function: ast.FunctionDef) -> list[str]:
    """The names that hold values in *function*: its arguments, and what it assigns."""
    names = [argument.arg for argument in function.args.args]
    inner = {id(node.target) for node in ast.walk(function) if isinstance(node, ast.comprehension)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inner:
            names.append(node.id)
    return list(dict.fromkeys(names))


def walk_places(parent: ast.AST, without: Collection[str]) -> Iterator[TreePlace]:
    """The places of the expressions and statements in *parent*, except in the fields *without*."""
    for field, value in ast.iter_fields(parent):
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if field in without or isinstance(node, ast.arguments) or not isinstance(node, ast.AST):
                continue
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.expr | ast.stmt) and not is_docstring:
                yield TreePlace(parent, field, index, node)
            yield from walk_places(node, without)


def _instead(place: TreePlace, names: Sequence[str]) -> Iterator[ast.AST]:
    """Replacements for the node at *place*."""
    node = place.node
    if isinstance(node, ast.stmt):
        yield from _statements(node)
    if isinstance(node, ast.BinOp) and not isinstance(place.parent, ast.BinOp):
        for clamp in ("max(0, {})", "max(1, {})", "int({})", "round({})", "-({})"):
            yield _expression(clamp.format(ast.unparse(node)))
    if isinstance(node, ast.expr):
        yield from _expressions(node, names)
        if place.field == "iter":
            everything = ast.unparse(node)
            yield _expression(f"list({everything})[1:]")
            yield _expression(f"list({everything})[:-1]")


def _statements(statement: ast.stmt) -> Iterator[ast.AST]:
    if isinstance(statement, _DROPPED):
        yield ast.Pass()
    match statement:
        case ast.Continue():
            yield ast.Break()
        case ast.AugAssign(target, sign, value):
            yield from (ast.AugAssign(target, new(), value) for new in _INSTEAD[type(sign)])
        case ast.If(test, body, other):
            tests = (ast.Constant(True), ast.Constant(False), ast.UnaryOp(ast.Not(), test))
            yield from (ast.If(new, body, other) for new in tests)
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
            for index, given in enumerate(targets):  # one name stays as it is
                kept = [*values[:index], _expression(ast.unparse(given)), *values[index + 1 :]]
                yield ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(kept, ast.Load()))


def _constants(value: object) -> Iterator[ast.expr]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        for other in (value + 1, value - 1, 2 * value, value / 2, 0, 1):
            yield _expression(repr(other))


def _regrouped(term: ast.BinOp) -> Iterator[ast.expr]:
    """A term moved into or out of a product: a * (1 + b) for a + b, a * b + c for a * (b + c)."""
    left, sign, right = term.left, term.op, term.right
    one = ast.Constant(1)
    if isinstance(sign, ast.Add | ast.Sub):
        yield ast.BinOp(left, ast.Mult(), ast.BinOp(one, sign, right))
        if isinstance(sign, ast.Add):
            yield ast.BinOp(ast.BinOp(one, sign, left), ast.Mult(), right)
    for outer, other in ((left, right), (right, left)):
        match outer:
            case ast.BinOp(a, ast.Mult() | ast.Div() as inner, b) if isinstance(sign, _SUMS):
                first, last = (b, other) if outer is left else (other, b)
                yield ast.BinOp(a, inner, ast.BinOp(first, sign, last))
            case ast.BinOp(a, ast.Add() | ast.Sub() as inner, b) if isinstance(sign, _PRODUCTS):
                if outer is left:
                    yield ast.BinOp(a, inner, ast.BinOp(b, sign, other))
                    yield ast.BinOp(ast.BinOp(a, sign, other), inner, b)
                elif isinstance(sign, ast.Mult):
                    yield ast.BinOp(ast.BinOp(other, sign, a), inner, b)


def _fields(function: ast.FunctionDef) -> list[int]:
    """The numbers of the fields of records that *function* reads."""
    return sorted(
        {
            node.slice.value
            for node in ast.walk(function)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, int)
        }
    )


def _compared_too(node: ast.AST, fields: Sequence[int]) -> Iterator[ast.Tuple]:
    """Some fields of a record with another one beside them, that could be compared as well."""
    parts = node.elts if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) else []
    records = {ast.unparse(one.value) for one in parts if isinstance(one, ast.Subscript)}
    if len(records) != 1 or not all(isinstance(one, ast.Subscript) for one in parts):
        return
    (record,) = records
    own = {ast.unparse(one) for one in parts}
    for index in fields:
        if f"{record}[{index}]" not in own:
            yield ast.Tuple([*parts, _expression(f"{record}[{index}]")], ast.Load())


def _terms(term: ast.BinOp) -> Iterator[ast.expr]:
    for other in _INSTEAD.get(type(term.op), ()):
        yield ast.BinOp(term.left, other(), term.right)
    yield term.left
    yield term.right
    if isinstance(term.op, _ONE_WAY):
        yield ast.BinOp(term.right, term.op, term.left)
    yield from _regrouped(term)


def _comparisons(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Iterator[ast.expr]:
    if isinstance(sign, _COMPARISONS):
        for other in _COMPARISONS:
            if not isinstance(sign, other):
                yield ast.Compare(left, [other()], [right])
        yield from (ast.Constant(True), ast.Constant(False))
    if isinstance(sign, ast.Eq):
        for product, whole in ((left, right), (right, left)):
            yield from _divided(_factors(product), whole)


def _divided(factors: Sequence[ast.expr], whole: ast.expr) -> Iterator[ast.expr]:
    """Whether *whole*, divided by some of the *factors* without the rest, is the product of the others."""
    for count in range(1, len(factors)):
        for some, others in ((factors[:count], factors[count:]), (factors[count:], factors[:count])):
            texts = [" * ".join(f"({ast.unparse(one)})" for one in part) for part in (some, others)]
            yield _expression(f"({ast.unparse(whole)}) // ({texts[0]}) == {texts[1]}")


def _factors(term: ast.expr) -> list[ast.expr]:
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult):
        return [*_factors(term.left), *_factors(term.right)]
    return [term]


def _expressions(node: ast.expr, names: Sequence[str]) -> Iterator[ast.AST]:
    match node:
        case ast.Name(name, ast.Load()) if name in names:
            yield from (ast.Name(other, ast.Load()) for other in names if other != name)
        case ast.Constant(value):
            yield from _constants(value)
        case ast.BinOp():
            yield from _terms(node)
        case ast.Compare(left, [sign], [right]):
            yield from _comparisons(left, sign, right)
        case ast.Call(function, arguments):
            yield from _calls(node, ast.unparse(function), arguments)
        case _:
            yield from _conditions_and_lists(node)


def _conditions_and_lists(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.BoolOp(sign, values):
            yield ast.BoolOp(ast.Or() if isinstance(sign, ast.And) else ast.And(), values)
            yield from values
        case ast.IfExp(test, body, other):
            yield from (body, other, ast.IfExp(test, other, body))
        case ast.List(parts, ast.Load()) | ast.Tuple(parts, ast.Load()) if len(parts) > 1:
            for index in range(len(parts)):
                yield type(node)([*parts[:index], *parts[index + 1 :]], ast.Load())
            yield type(node)(parts[::-1], ast.Load())
        case ast.Slice(lower, upper, step):
            yield from (ast.Slice(None, upper, step), ast.Slice(lower, None, step))


def _calls(call: ast.Call, name: str, arguments: Sequence[ast.expr]) -> Iterator[ast.expr]:
    if name == "float":  # of an infinity: a search that starts at nought
        yield ast.Constant(0.0)
    if name in _OTHER:
        yield ast.Call(ast.Name(_OTHER[name], ast.Load()), call.args, call.keywords)
    if len(arguments) > 1 and name != "range":
        yield ast.Call(call.func, call.args[::-1], call.keywords)
    if name in ("min", "max", "round", "abs", "sqrt", "ceil", "floor", "reversed", "sorted"):
        yield from arguments
    if name == "range":
        yield from _ranges(*(ast.unparse(argument) for argument in arguments))


def _ranges(start: str, stop: str = "", step: str = "1") -> Iterator[ast.expr]:
    if not stop:
        start, stop = "0", start
    yield _expression(f"range({start}, {stop} - {step}, {step})")
    yield _expression(f"range({start}, {stop} + {step}, {step})")
    yield _expression(f"range({start} + {step}, {stop}, {step})")
    if step != "1":  # without what is left after the last whole step
        yield _expression(f"range({start}, {stop} // {step} * {step}, {step})")


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
