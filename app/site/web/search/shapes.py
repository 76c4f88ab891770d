"""The shapes of formulas: what is the same in `6ND`, `6*N*D` and `C = 6 * parameters * tokens`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from app.core.expressions import ExpressionError, Node, parse_expression
from app.core.expressions.evaluation import FUNCTIONS
from app.core.expressions.parser import Binary, FunctionCall, Name, Negative, Number
from app.core.units.scales import SCALES

_FACTORS = 6  # of a product whose parts are known, too
_LEAST = 2  # factors of a part
_PART = 0.5  # of the factors of a formula that a query has at least

_LATEX = (
    (re.compile(r"\\[dt]?frac(\d)(\d)"), r"((\1)/(\2))"),
    (re.compile(r"\\text\{([^{}]*)\}"), lambda found: re.sub(r"\W+", "_", found[1].strip())),
    (re.compile(r"\\(?:left|right|[bB]igg?[lr]?|qquad|quad|[,;!:])"), " "),
    (re.compile(r"\\(?:cdot|times)"), "*"),
    (re.compile(r"\\(?:Rightarrow|approx|le|ge)\b"), "="),
    (re.compile(r"_(?:\{[^{}]*\}|\\?\w+)"), ""),
    (re.compile(r"\\(?!sqrt|[dt]?frac)([A-Za-z]+)"), r"\1_ "),  # a Greek letter stays one
)
_FRACTION = re.compile(r"\\[dt]?frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}")
_ROOT = re.compile(r"\\sqrt\{((?:[^{}]|\{[^{}]*\})*)\}")
_MATHEMATICS = re.compile(r"\$\$?([^$]+)\$\$?")
_APART = re.compile(r"=|≈|≤|≥|[,:;?]|\.(?=\s|$)")
_NAME = re.compile(r"[^\W\d]\w*")
_TOUCHING = re.compile(r"(?<=\d)(?=[^\W\d])")  # between a number and a letter
_RAISED = re.compile(r"([^\W\d]\w*)((?:\^\d+)?)")
_NUMBERED = re.compile(r"[^\W\d]\d{2}")  # a product of a company, such as H100
_GREEK = frozenset(["chi", "eta", "phi", "psi", "rho", "tau"])  # the short ones
_LONG = 4  # letters of a name that is one factor
_MARKED = re.compile(r"(?<![^\W\d])\d|[*/^()=+√·×]")  # what a formula has, and words have not
_BEFORE, _AFTER = tuple("+-−*·×/^=(√"), tuple("+-−*·×/^=)(")
# A number; x, x y, and x/y, which many formulas have.
_PLAIN = re.compile(r"\S+ \[\] \[\] \[\]|1 \[\] \[\] \[-?1(?:, -?1)?\]")
_DIGITS = str.maketrans({"²": "^2", "³": "^3", "{": "(", "}": ")", "\\": " "})
_AMOUNT = re.compile(r"\A\s*+[\d.,]++\s*+(\S++)\s*+")


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor of a product and its power."""

    node: Node
    power: int


def found_shapes(text: str) -> Iterator[tuple[str, float]]:
    """The shapes of the formulas in *text*, and of their parts, each with its share.

    They stand between dollar signs; otherwise, *text* is an equation, or has a formula among words.
    """
    if "$" in text:
        for mathematics in _MATHEMATICS.findall(text):
            for part in _APART.split(_without_latex(mathematics)):
                yield from formula_shapes(part)
    elif " = " in text:
        yield from formula_shapes(text.partition(" = ")[2])
    else:
        for part in _APART.split(_without_words(text)):
            if _MARKED.search(part):
                yield from formula_shapes(part)


def formula_shapes(text: str) -> Iterator[tuple[str, float]]:
    """The shape of the formula *text*, and of its parts, each with its share of the factors."""
    node = _tree(text)
    factors = list(_factors(node)) if node else []
    if not factors:
        return
    for count in {*range(max(_LEAST, round(_PART * len(factors))), len(factors)), len(factors)}:
        if count == len(factors) or len(factors) <= _FACTORS:
            for some in combinations(factors, count):
                if shape := _shape(some):
                    yield shape, count / len(factors)


def query_shape(query: str) -> str:
    """The shape of the formula in *query*; empty if it has none."""
    amount = _AMOUNT.fullmatch(query)
    if amount and amount[1] in SCALES:
        return ""
    for part in _APART.split(_without_words(query))[::-1]:
        node = _tree(part) if _MARKED.search(part) else None
        if node and (shape := _shape(tuple(_factors(node)))):
            return shape
    return ""


def _without_words(text: str) -> str:
    """*text* with a colon in place of each word that is in no formula."""
    tokens = text.split()
    around = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
    return " ".join(
        ":"
        if len(token) > 1 and token.isalpha() and not before.endswith(_BEFORE) and not after.startswith(_AFTER)
        else token
        for before, token, after in around
    )


def _without_latex(text: str) -> str:
    for pattern, instead in _LATEX:
        text = pattern.sub(instead, text)
    while _FRACTION.search(text):
        text = _FRACTION.sub(r"((\1)/(\2))", text)
    return _ROOT.sub(r"sqrt(\1)", text)


def _tree(text: str) -> Node | None:
    """The tree of *text*, whose short names are products of letters; None if it cannot be read."""
    if _NUMBERED.search(text):
        return None
    plain = _TOUCHING.sub(" ", text.translate(_DIGITS).strip())
    plain = _RAISED.sub(lambda found: _letters(found[1], found[2]), plain)
    try:
        return parse_expression(plain, frozenset(_NAME.findall(plain)).difference(FUNCTIONS))
    except ExpressionError:
        return None


def _letters(name: str, power: str) -> str:
    """*name*, or its letters as factors if it is short; *power* is that of the last."""
    is_one = name in FUNCTIONS or name.lower() in _GREEK or not name.isalpha()
    glued = 1 < len(name) < _LONG and not is_one
    return f"({'*'.join(name)}{power})" if glued else f"{name}{power}"


def _factors(node: Node, power: int = 1) -> Iterator[_Factor]:
    """The factors of *node*, those of a quotient with negative powers."""
    match node:
        case Binary("*", left, right):
            yield from _factors(left, power)
            yield from _factors(right, power)
        case Binary("/", left, right):
            yield from _factors(left, power)
            yield from _factors(right, -power)
        case Binary("^", base, Number(_, value)) if value == int(value):
            yield from _factors(base, power * int(value))
        case Number(_, 1.0):
            return
        case _:
            yield _Factor(node, power)


def _shape(factors: tuple[_Factor, ...]) -> str:
    """The product of *factors*, its letters in the order in which they come; empty if plain."""
    names: dict[str, str] = {}
    number = 1.0
    for factor in factors:
        if isinstance(factor.node, Number):
            number *= factor.node.value**factor.power
    sums = sorted(
        (one for one in factors if not isinstance(one.node, Number | Name)),
        key=lambda one: (_outline(one.node), one.power),
    )
    parts = [f"{_named(one.node, names)}^{one.power}" for one in sums]
    powers = Counter[str]()
    for factor in factors:
        if isinstance(factor.node, Name):
            powers[factor.node.name] += factor.power
    known = sorted((names[name], power) for name, power in powers.items() if name in names)
    fresh = sorted(power for name, power in powers.items() if name not in names)
    shape = f"{number:.6g} {parts} {known} {fresh}"
    return "" if _PLAIN.fullmatch(shape) else shape


def _outline(node: Node) -> str:
    """*node* with one letter for all names: what is sorted by."""
    return _named(node, None)


def _named(node: Node, names: dict[str, str] | None) -> str:
    """*node* in a form of its own, with its letters by the order in which they come."""
    match node:
        case Number(_, value):
            return f"{value:.6g}"
        case Name(name):
            return "x" if names is None else names.setdefault(name, f"x{len(names)}")
        case Binary("+" | "-", _, _):
            terms = sorted(_terms(node), key=lambda term: (_outline(term[1]), term[0]))
            return f"({''.join(sign + _named(term, names) for sign, term in terms)})"
        case Binary("*" | "/", _, _):
            factors = sorted(_factors(node), key=lambda one: (_outline(one.node), one.power))
            return "".join(f"[{_named(one.node, names)}^{one.power}]" for one in factors)
        case Binary(operator, left, right):
            return f"({_named(left, names)}{operator}{_named(right, names)})"
        case Negative(term):
            return f"-{_named(term, names)}"
        case FunctionCall(name, arguments, _, _):
            return f"{name}({','.join(_named(one, names) for one in arguments)})"
    return str(node)


def _terms(node: Node, sign: str = "+") -> Iterator[tuple[str, Node]]:
    """The terms of a sum with their signs."""
    match node:
        case Binary("+" | "-" as operator, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if operator == "+" else "-" if sign == "+" else "+")
        case _:
            yield sign, node
