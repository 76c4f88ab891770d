"""Expressions as LaTeX."""

import re

from app.core.expressions.tree import COMPARISONS, Binary, FunctionCall, Name, Negative, Node, Number, Word
from app.core.units import Scale

_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "lambda", "mu", "rho", "sigma",
    "tau", "phi", "psi", "omega",
}  # fmt: skip
_SIGNS = {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "<": "<", ">": ">"}
_SPECIAL = re.compile(r"[{}$&#%_]")
_UNWRITABLE = re.compile(r"[\\^~]")
_RELATION, _SUM, _TERM, _POWER, _ATOM = range(5)


def latex(node: Node) -> str:
    """*node* as LaTeX."""
    return _latex(node)[0]


def _latex(node: Node) -> tuple[str, int]:
    """The LaTeX of *node*, and its precedence."""
    match node:
        case Number("", _, Scale(symbol=unit)):
            return upright(unit), _ATOM
        case Number(text, _, scale):
            figure = _figure(text)
            written = rf"{figure}\,{upright(scale.symbol)}" if scale else figure
            return written, _ATOM if written.replace(".", "").isdigit() else _TERM
        case Word(text):
            return upright(text), _ATOM
        case Name(name):
            return symbol(name), _ATOM
        case Negative(term):
            return f"-{_within(term, _TERM)}", _SUM
        case FunctionCall():
            return _call(node)
        case Binary(operator, left, right):
            return _binary(operator, left, right)


def upright(text: str) -> str:
    """*text* as upright words inside mathematics."""
    plain = _UNWRITABLE.sub(" ", text)
    escaped = _SPECIAL.sub(lambda match: "\\" + match[0], plain)
    return rf"\text{{{escaped}}}"


def symbol(name: str) -> str:
    """A name in mathematics: a single letter in italics, a word upright."""
    word = name.rpartition(".")[2]
    if word in _GREEK:
        return f"\\{word}"
    if len(word) == 1:
        return word
    letter, _, index = word.partition("_")
    if len(letter) == 1 and index:
        return rf"{letter}_{{{upright(index.replace('_', ' '))}}}"
    return upright(word.replace("_", " "))


def _figure(text: str) -> str:
    mantissa, _, exponent = text.replace("_", "").lower().partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _within(node: Node, least: int) -> str:
    text, strength = _latex(node)
    return text if strength >= least else rf"\left({text}\right)"


def _binary(operator: str, left: Node, right: Node) -> tuple[str, int]:
    if operator in COMPARISONS:
        return f"{_within(left, _SUM)} {_SIGNS[operator]} {_within(right, _SUM)}", _RELATION
    if operator in "+-":
        return f"{_within(left, _SUM)} {operator} {_within(right, _TERM)}", _SUM
    if operator == "/":
        return rf"\frac{{{latex(left)}}}{{{latex(right)}}}", _TERM
    if operator == "^":
        return f"{_within(left, _ATOM)}^{{{latex(right)}}}", _POWER
    between = r" \cdot " if _touches(left, right) else r"\,"
    return f"{_within(left, _TERM)}{between}{_within(right, _TERM)}", _TERM


def _touches(left: Node, right: Node) -> bool:
    """Whether *right* would run into *left* without a dot: a number, or one word after another."""
    while isinstance(right, Binary) and right.operator in "*^":
        right = right.left
    while isinstance(left, Binary) and left.operator == "*":
        left = left.right
    if isinstance(left, Binary) and left.operator == "^":
        left = left.left
    return isinstance(right, Number) or (_is_word(left) and _is_word(right))


def _is_word(node: Node) -> bool:
    return isinstance(node, Name) and len(node.name) > 1


# The LaTeX of each function, and its precedence.
_CALLS = {
    "sqrt": (r"\sqrt{@}", _ATOM),
    "ceil": (r"\left\lceil @ \right\rceil", _ATOM),
    "floor": (r"\left\lfloor @ \right\rfloor", _ATOM),
    "abs": (r"\left| @ \right|", _ATOM),
    "exp2": (r"2^{@}", _POWER),
    "log2": (r"\log_2 \left(@\right)", _TERM),
    "log10": (r"\log_{10} \left(@\right)", _TERM),
    "min": (r"\min \left(@\right)", _TERM),
    "max": (r"\max \left(@\right)", _TERM),
    "ln": (r"\ln \left(@\right)", _TERM),
    "exp": (r"\exp \left(@\right)", _TERM),
}


def _call(call: FunctionCall) -> tuple[str, int]:
    named = [f"{symbol(name)} = {latex(value)}" for name, value in call.named]
    inside = ", ".join([*map(latex, call.arguments), *named])
    if call.name in _CALLS:
        written, strength = _CALLS[call.name]
        return written.replace("@", inside), strength
    if call.name == "log" and len(call.arguments) == 2:  # noqa: PLR2004
        number, base = map(latex, call.arguments)
        return rf"\log_{{{base}}} \left({number}\right)", _TERM
    part = f"_{{{upright(call.part)}}}" if call.part else ""
    return rf"{symbol(call.name)}{part} \left({inside}\right)", _TERM
