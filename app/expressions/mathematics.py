"""An expression as LaTeX, for pages that show it as mathematics."""

from app.expressions.tree import COMPARISONS, Binary, Call, Name, Negative, Node, Number, Word

_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "lambda", "mu", "rho", "sigma",
    "tau", "phi", "psi", "omega",
}  # fmt: skip
_SIGNS = {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "<": "<", ">": ">"}
_SUM, _TERM, _POWER, _ATOM = range(4)


def latex(node: Node) -> str:
    """*node* as LaTeX."""
    return _latex(node)[0]


def _latex(node: Node) -> tuple[str, int]:
    """The LaTeX of *node* and how tightly it holds together."""
    match node:
        case Number(text, _, scale):
            unit = rf"\,\text{{{scale.symbol}}}".replace("%", r"\%") if scale else ""
            return _figure(text) + unit, _ATOM
        case Word(text):
            return rf"\text{{{text}}}", _ATOM
        case Name(name):
            return symbol(name), _ATOM
        case Negative(term):
            return f"-{_within(term, _TERM)}", _SUM
        case Call(name, arguments, _, _):
            return _call(name, arguments), _ATOM
        case Binary(operator, left, right):
            return _binary(operator, left, right)


def symbol(name: str) -> str:
    """A name as mathematics writes it: one letter in italics, a word upright."""
    word = name.rpartition(".")[2]
    if word in _GREEK:
        return f"\\{word}"
    if len(word) == 1:
        return word
    letter, _, index = word.partition("_")
    if len(letter) == 1 and index:
        return rf"{letter}_{{\text{{{index}}}}}"
    return rf"\text{{{word.replace('_', ' ')}}}"


def _figure(text: str) -> str:
    mantissa, _, exponent = text.replace("_", "").lower().partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _within(node: Node, least: int) -> str:
    text, strength = _latex(node)
    return text if strength >= least else rf"\left({text}\right)"


def _binary(operator: str, left: Node, right: Node) -> tuple[str, int]:
    if operator in COMPARISONS:
        return f"{latex(left)} {_SIGNS[operator]} {latex(right)}", _SUM
    if operator in "+-":
        return f"{_within(left, _SUM)} {operator} {_within(right, _TERM)}", _SUM
    if operator == "/":
        return rf"\frac{{{latex(left)}}}{{{latex(right)}}}", _ATOM
    if operator == "^":
        return f"{_within(left, _ATOM)}^{{{latex(right)}}}", _POWER
    between = r" \cdot " if _touches(right) else r"\,"
    return f"{_within(left, _TERM)}{between}{_within(right, _TERM)}", _TERM


def _touches(right: Node) -> bool:
    """Whether a figure would run into what stands before it."""
    while isinstance(right, Binary) and right.operator in "*^":
        right = right.left
    return isinstance(right, Number)


def _call(name: str, arguments: tuple[Node, ...]) -> str:
    inside = ", ".join(latex(argument) for argument in arguments)
    match name:
        case "sqrt":
            return rf"\sqrt{{{inside}}}"
        case "ceil":
            return rf"\left\lceil {inside} \right\rceil"
        case "floor":
            return rf"\left\lfloor {inside} \right\rfloor"
        case "abs":
            return rf"\left| {inside} \right|"
        case "log2":
            return rf"\log_2 \left({inside}\right)" if len(inside) > 1 else rf"\log_2 {inside}"
        case "min" | "max" | "ln" | "exp":
            return rf"\{name} \left({inside}\right)"
    return rf"{symbol(name)} \left({inside}\right)"
