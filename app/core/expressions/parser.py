"""The parser: from text to a tree of arithmetic with units, and the nodes of the tree."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from app.core.translation import noted, translate
from app.core.units import Scale, scale_of
from app.core.units.scales import SCALES, unit_at


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, with or without a unit."""

    text: str
    value: float
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word in quotes, for an argument of a formula that is a choice."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol, or a formula whose arguments are the symbols of the same names."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """*term* with a minus sign."""

    term: "Node"


@dataclass(frozen=True, slots=True)
class Binary:
    """Two terms with one of + - * / ^ or a comparison operator between them."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function or a formula; *part* picks one of several results."""

    name: str
    arguments: tuple["Node", ...]
    named: tuple[tuple[str, "Node"], ...] = ()
    part: str = ""


Node = Number | Word | Name | Negative | Binary | FunctionCall
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")


def nodes_in(node: Node) -> Iterator[Node]:
    """*node*, and every part of it."""
    yield node
    match node:
        case Negative(term):
            yield from nodes_in(term)
        case Binary(_, left, right):
            yield from nodes_in(left)
            yield from nodes_in(right)
        case FunctionCall(_, arguments, named, _):
            for argument in (*arguments, *(value for _, value in named)):
                yield from nodes_in(argument)


def names_in(node: Node) -> set[str]:
    """Every symbol and formula in *node*."""
    named = (one for one in nodes_in(node) if isinstance(one, Name | FunctionCall))
    return {one.name for one in named if isinstance(one, Name) or "." in one.name}


def numbers_in(node: Node) -> list[Number]:
    """Every number in *node*, in the order in which they are written."""
    return [one for one in nodes_in(node) if isinstance(one, Number)]


LONGEST = 2000
DEEPEST = 40
MOST = 150  # numbers and names: the tree of a long sum is as deep as it has terms

_TOKEN = re.compile(
    r"(?:(?<!\s)\s++)?+(?:(?P<number>(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
    r"|(?P<word>'[^']*'|\"[^\"]*\")"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/^()<>,=%.$√]))"
)
_UNIT = re.compile(r"(?:(?<!\s)\s++)?+(" + "|".join(sorted(map(re.escape, SCALES), key=len, reverse=True)) + r")(?!\w)")
_LETTER_FOR_TIMES = re.compile(r"(?<=[\d)])(?:(?<!(?<![\w.])0)|\s+)\s*x\s*(?=[\d(.])")  # not that of 0x23
_TIDY = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "[": "(", "]": ")"})
_BEGINS_A_FACTOR = (("sign", "("), ("sign", "√"))


class ExpressionError(ValueError):
    """The text is not an expression, or its terms have different dimensions."""


@dataclass
class Reader:
    """A text, and the position up to which it is read."""

    text: str
    symbols: Collection[str]
    has_physics: bool = False  # whether m, kg and the like are units, where no symbol is called so
    at: int = 0
    depth: int = 0
    atoms: int = 0
    _peeked: tuple[int, str, str, int] | None = field(default=None)

    def peek(self) -> tuple[str, str]:
        """The kind and text of the next token; ("end", "") after the last."""
        if self._peeked is None or self._peeked[0] != self.at:
            self._peeked = (self.at, *self._scan())
        return self._peeked[1], self._peeked[2]

    def _scan(self) -> tuple[str, str, int]:
        if not self.text[self.at :].strip():
            return "end", "", len(self.text)
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise ExpressionError(translate("cannot read {text!r} here", text=self.text[self.at :].strip()[:20]))
        return str(match.lastgroup), match[str(match.lastgroup)], match.end()

    def take(self) -> tuple[str, str]:
        """The next token, and move past it."""
        kind, text = self.peek()
        self.at = self._peeked[3] if self._peeked else self.at
        return kind, text

    def accept(self, *signs: str) -> str:
        """Move past the next token and return it if it is one of *signs*; "" otherwise."""
        kind, text = self.peek()
        return self.take()[1] if kind == "sign" and text in signs else ""

    def expect(self, sign: str) -> None:
        """Move past *sign*, which must come next."""
        if not self.accept(sign):
            raise ExpressionError(
                translate("{sign!r} is missing before {quoted}", sign=sign, quoted=_quoted(self.peek()[1]))
            )

    def whole(self) -> Node:
        """The tree of the whole text."""
        node = self.comparison()
        if self.peek()[0] != "end":
            if comma := _DECIMAL_COMMA.search(self.text, max(0, self.at - _LONGEST_WHOLE)):
                raise ExpressionError(_says_of_comma(*comma.groups()))
            raise ExpressionError(translate("{peek!r} does not belong here", peek=self.peek()[1]))
        return node

    def comparison(self) -> Node:
        """The tree of a sum, or of a comparison of two sums."""
        left = self.sum()
        if operator := self.accept(*COMPARISONS):
            return Binary(operator, left, self.sum())
        return left

    def sum(self) -> Node:
        """The tree of terms with + or - between them."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(translate("the parentheses are nested too deeply"))
        node = self.term()
        while operator := self.accept("+", "-"):
            node = Binary(operator, node, self.term())
        self.depth -= 1
        return node

    def term(self) -> Node:
        """The tree of factors with *, / or nothing between them."""
        node = self.power()
        while True:
            if operator := self.accept("*", "/"):
                node = Binary(operator, node, self.power())
            elif self.peek()[0] == "name" or self.peek() in _BEGINS_A_FACTOR:
                node = Binary("*", node, self.power())
            else:
                return node

    def power(self) -> Node:
        """The tree of a factor with its sign and its exponent."""
        if self.accept("-"):
            return Negative(self._deeper(self.power))
        if self.accept("+"):
            return self._deeper(self.power)
        return self.raised(self.atom())

    def raised(self, base: Node) -> Node:
        """*base* with the exponent that follows it, if any."""
        if self.accept("^", "**"):
            return Binary("^", base, self._deeper(self.power))
        return base

    def _deeper(self, read: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(translate("the signs are nested too deeply"))
        node = read()
        self.depth -= 1
        return node

    def atom(self) -> Node:
        """The tree of a number, a name, a call or an expression in parentheses."""
        before = self.at
        kind, text = self.take()
        self.counted(1)
        if kind == "number":
            return self.number(text)
        if kind == "word":
            return Word(text[1:-1])
        if kind == "name":
            return self.named(text)
        if text == "(":
            node = self.comparison()
            self.expect(")")
            return node
        if text == "√":
            return FunctionCall("sqrt", (self._deeper(self.atom),))
        self.at = before
        raise ExpressionError(translate("a number or a name is missing before {quoted}", quoted=_quoted(text)))

    def counted(self, atoms: int) -> None:
        """Count *atoms* more numbers and names, and refuse too many."""
        self.atoms += atoms
        if self.atoms > MOST:
            raise ExpressionError(translate("more than {most} numbers and names are too many", most=MOST))

    def number(self, text: str) -> Node:
        """The tree of the number *text* and the unit that follows it."""
        try:
            value = float(text.replace("_", ""))
        except (ValueError, OverflowError):
            raise ExpressionError(translate("{text!r} is not a number", text=text)) from None
        return Number(text, value, self._unit())

    def _unit(self) -> Scale | None:
        if self.has_physics and (found := unit_at(self.text, self.at, self.symbols)):
            symbol, self.at = found
            return scale_of(symbol)
        match = _UNIT.match(self.text, self.at)
        if match is None or self.is_symbol(re.split(r"\W", match[1].removeprefix("/"))[0]):  # 2/s, too
            return None
        self.at = match.end()
        return scale_of(match[1])

    def is_symbol(self, name: str) -> bool:
        """Whether *name* is a symbol, even if it is also a unit."""
        return name in self.symbols

    def named(self, name: str) -> Node:
        """The tree of *name*, and of its arguments if it is called."""
        if name in self.symbols or self.peek() != ("sign", "("):
            return Name(name)
        self.take()
        arguments: list[Node] = []
        named: list[tuple[str, Node]] = []
        while not self.accept(")"):
            self._argument(arguments, named)
            if not self.accept(","):
                self.expect(")")
                break
        part = self.take()[1] if self.accept(".") else ""
        return FunctionCall(name, tuple(arguments), tuple(named), part)

    def _argument(self, arguments: list[Node], named: list[tuple[str, Node]]) -> None:
        before = self.at
        kind, name = self.take()
        if kind == "name" and self.accept("="):
            named.append((name, self.comparison()))
        else:
            self.at = before
            arguments.append(self.comparison())


_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(\d{1,15}),(\d{1,15})(?![\d.,])", re.ASCII)
_LONGEST_WHOLE = 15  # digits before a comma
_OF_THOUSANDS = 3  # digits after one


def _says_of_comma(whole: str, rest: str) -> str:
    """What to write in place of 1,5."""
    if len(rest) == _OF_THOUSANDS:
        form = noted("{typed} has a comma: write {thousands}, or {decimal} with a decimal point")
        return translate(form, typed=f"{whole},{rest}", thousands=f"{whole}{rest}", decimal=f"{whole}.{rest}")
    return translate("{typed} has a comma: write {decimal}", typed=f"{whole},{rest}", decimal=f"{whole}.{rest}")


def _quoted(token: str) -> str:
    return repr(token) if token else translate("the end")


def parse_expression(text: str, symbols: Collection[str] = (), *, has_physics: bool = False) -> Node:
    """The tree of *text*; names in *symbols* are symbols, even where a unit could be.

    Where it *has_physics*, a word that is not among them may be a unit such as kg.

    Raises:
        ExpressionError: *text* is not an expression.
    """
    return _parse(text, frozenset(symbols), has_physics)


@lru_cache(maxsize=4096)
def _parse(text: str, symbols: frozenset[str], has_physics: bool) -> Node:
    return Reader(ascii_text(text, symbols), symbols, has_physics).whole()


def ascii_text(text: str, symbols: Collection[str]) -> str:
    """*text* with ASCII signs.

    Raises:
        ExpressionError: *text* is empty or too long.
    """
    if len(text) > LONGEST:
        raise ExpressionError(translate("an expression of {text} characters is too long", text=len(text)))
    if not text.strip():
        raise ExpressionError(translate("an expression is missing"))
    tidied = text.translate(_TIDY)
    return tidied if "x" in symbols else _LETTER_FOR_TIMES.sub("*", tidied)
