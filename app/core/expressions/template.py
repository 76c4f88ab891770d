"""Text with drawn values in it, sentences that depend on them, and expressions as LaTeX."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.core.expressions import parser
from app.core.expressions.evaluation import Names, evaluate, holds
from app.core.expressions.parser import Binary, ExpressionError, FunctionCall, Name, Negative, Node, Number, Word
from app.core.translation import localize, translate
from app.core.units import Scale, scale_of, show_in, singular

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
            mantissa, _, exponent = text.replace("_", "").lower().partition("e")
            figure = rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
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


def _within(node: Node, least: int) -> str:
    text, strength = _latex(node)
    return text if strength >= least else rf"\left({text}\right)"


def _binary(operator: str, left: Node, right: Node) -> tuple[str, int]:
    if operator in parser.COMPARISONS:
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


_TAG = re.compile(
    r"(?P<alone>^[ \t]*(?=\{[^{}]*\}[ \t]*$))?"
    r"\{(?:(?P<opens>(?:or )?when)\s+(?P<condition>[^{}]+)|(?P<word>otherwise|end))\}"
    r"(?(alone)[ \t]*\n?)",
    re.MULTILINE,
)
_AFTER = {
    "when": ("", "end"),
    "or when": ("when", "or when"),
    "otherwise": ("when", "or when"),
    "end": ("when", "or when", "otherwise"),
}  # the tags that may come before


@dataclass(frozen=True, slots=True)
class Branch:
    """A piece of a text that is shown where *condition* holds; "" means where no other does."""

    condition: str
    text: str


def choose_branches(text: str, names: Names) -> str:
    """*text* with one piece, or none, of each group of pieces with conditions.

    Raises:
        ExpressionError: a group is not complete, or a condition cannot be worked out.
    """
    if "{when" not in text:
        return text
    return "".join(part if isinstance(part, str) else _chosen_branch(part, names) for part in parts(text))


def parts(text: str) -> Iterator[str | tuple[Branch, ...]]:
    """What *text* always shows, and each group of pieces with conditions.

    Raises:
        ExpressionError: a group is not complete.

    >>> [*parts("It is {when a > b}more{otherwise}less{end}.")][1][0]
    Branch(condition='a > b', text='more')
    """
    at, group, last, condition = 0, list[Branch](), "", ""
    for match in _TAG.finditer(text):
        word, piece = match["opens"] or match["word"], text[at : match.start()]
        if last not in _AFTER[word]:
            raise ExpressionError(f"{match[0].strip()} may not come after {{{last or 'nothing'}}}")
        if word == "when":
            yield piece
        else:
            group.append(Branch(condition, piece))
        if word == "end":
            yield tuple(group)
            group = []
        at, last, condition = match.end(), word, (match["condition"] or "").strip()
    if last not in _AFTER["when"]:
        raise ExpressionError(f"{{end}} is missing after {{{last} …}}")
    yield text[at:]


def conditions(text: str) -> list[str]:
    """Every condition in *text*, in complete groups or not."""
    return [match["condition"].strip() for match in _TAG.finditer(text) if match["condition"]]


def without_tags(text: str) -> str:
    """*text* with all of its pieces, and none of the tags."""
    return _TAG.sub("", text)


def _chosen_branch(group: tuple[Branch, ...], names: Names) -> str:
    return next((b.text for b in group if not b.condition or holds(b.condition, names)), "")


_PIECE = re.compile(
    r"(?P<math>\$\$.+?\$\$|(?<!\\)\$(?!\s)(?:[^$\n]|\n(?!\s*\n))+?(?<![\s\\])\$(?!\d))"
    r"|\{(?P<slot>[^{}]+)\}(?P<gap>\**[ -])?(?P<word>(?(gap)(?:[a-z]+-[a-z]+ )?[A-Za-z-]+))?",
    re.DOTALL,
)
_INSIDE_MATH = re.compile(r"\{\{(?P<slot>[^{}]+)\}\}")
_CODE = re.compile(r"^[ \t]*+(?P<fence>```|~~~)[^\n]*+\n(?:[^\n]*+\n)*?[ \t]*+(?P=fence)[ \t]*+$|`[^`]*`", re.MULTILINE)
_COUNTED = re.compile(r"\{(?P<name>\w+)\}[ *-]+(?P<word>[a-zA-Z-]{3,})")
_IN_MATH = str.maketrans({",": "{,}", "\u202f": r"\,", "%": r"\%", "$": r"\$"})
BLANK = "\N{LOZENGE}"  # in place of a slot
_FORMAT = re.compile(r"\A(?P<unit>.*?)(?P<digits>(?<!\S)(?:[1-9]|1[0-5]))?\Z")


def fill(text: str, names: Names, shown: Mapping[str, str]) -> str:
    """*text* with its slots filled from *names*; a bare name is replaced by its text in *shown*.

    What a 1 counts is in the singular: 1 step, 1 key-value head.

    Raises:
        ExpressionError: a slot cannot be filled.
    """
    return _filled(choose_branches(text, names), lambda slot: _slot(slot, names, shown))


def fill_known(text: str, names: Names) -> str:
    """*text* with its slots filled from *names*, and a dash in those that cannot be filled.

    Raises:
        ExpressionError: a condition cannot be worked out.
    """

    def known(slot: str) -> str:
        try:
            return _slot(slot, names, {})
        except ExpressionError:
            return "–"

    return _filled(choose_branches(text, names), known)


def _filled(text: str, slot_text: Callable[[str], str]) -> str:

    def piece(match: re.Match[str]) -> str:
        if match["math"]:
            return _INSIDE_MATH.sub(lambda m: _in_math(slot_text(m["slot"])), match["math"])
        text, word = slot_text(match["slot"]), match["word"] or ""
        counted = " ".join(map(singular, word.split(" "))) if text == "1" else word
        return f"{text}{match['gap'] or ''}{counted}"

    return _PIECE.sub(piece, text)


def slots(text: str) -> list[str]:
    """Every expression in a slot or a condition of *text*."""
    found = conditions(text)
    for match in _PIECE.finditer(without_tags(text)):
        inside = _INSIDE_MATH.findall(match["math"]) if match["math"] else [match["slot"]]
        found += [slot.partition("|")[0].strip() for slot in inside]
    return found


def blank_slots(text: str) -> str:
    """The prose of *text*: without code and mathematics, a blank in place of every slot.

    >>> blank_slots("Each of {ranks} ranks sends `x`.").split()
    ['Each', 'of', '◊', 'ranks', 'sends', '.']
    """
    prose = _CODE.sub(" ", without_tags(text))
    return _PIECE.sub(_blank, prose)


def _blank(match: re.Match[str]) -> str:
    return f"{BLANK}{match['gap'] or ''}{match['word'] or ''}" if match["slot"] else " "


def words_after_slots(text: str) -> list[tuple[str, str]]:
    """Every slot of *text* that is a bare name, with the word after it."""
    return [(match["name"], match["word"]) for match in _COUNTED.finditer(text)]


def _slot(slot: str, names: Names, shown: Mapping[str, str]) -> str:
    expression, _, form = (part.strip() for part in slot.partition("|"))
    if expression in shown and not form:
        return localize(shown[expression])
    quantity = evaluate(expression, names)
    if not form:
        return localize(str(quantity))
    match = _FORMAT.fullmatch(form)
    unit, digits = (match["unit"].rstrip(), match["digits"]) if match else (form, None)
    try:
        scale = scale_of(unit)
    except ValueError as error:
        raise ExpressionError(f"{{{slot}}}: {error}") from None
    if scale.unit.dimension != quantity.dimension:
        raise ExpressionError(
            translate("{{{slot}}} is {quantity}, not in {unit}", slot=slot, quantity=quantity, unit=unit)
        )
    return localize(show_in(quantity.value, scale, int(digits or 4)))


def _in_math(text: str) -> str:
    number, _, unit = text.partition(" ")
    figure = number.translate(_IN_MATH)
    mantissa, times, exponent = figure.partition("e")
    if times and exponent.lstrip("-").isdigit():
        figure = rf"{mantissa} \cdot 10^{{{exponent}}}"
    return rf"{figure}\,{upright(unit)}" if unit else figure
