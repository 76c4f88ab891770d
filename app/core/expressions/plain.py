"""Formulas as learners type them: letters, numbers with units, and plain functions."""

import re
from collections.abc import Collection
from functools import lru_cache

from app.core.errors import nearest
from app.core.expressions.operations import FUNCTIONS
from app.core.expressions.parser import ExpressionError, Reader, ascii_text
from app.core.expressions.tree import COMPARISONS, Binary, FunctionCall, Name, Negative, Node, Number, Word
from app.core.translation import localized, translate
from app.core.units.scales import SCALES, close_symbols, physical_scale

_SHORTEST = 2  # characters of a unit without a number if there are letters: s may be a letter
_SHOWN = 40  # characters of an unknown name
_LEADING_NAME = re.compile(r"^\s*[^\W\d]\w*\s*=(?!=)")


class TypedReader(Reader):
    """A reader that takes adjacent letters as a product, `8bshe(T - 1)/T`, and bare units."""

    def is_symbol(self, name: str) -> bool:
        """Whether *name* is a letter, or several adjacent letters."""
        return super().is_symbol(name) or self._glued(name)

    def named(self, name: str) -> Node:
        """The tree of *name*, of its letters, or of a call of a plain function.

        Raises:
            ExpressionError: the name is unknown.
        """
        begun = self.at - len(name)
        if name in self.symbols:
            return Name(name)
        if self.peek() == ("sign", "(") and name in FUNCTIONS:
            return super().named(name)
        if self._glued(name):
            return self._product(name)
        if name in SCALES and len(name) >= (_SHORTEST if self.symbols else 1):
            return Number("", 1.0, SCALES[name])
        if self.has_physics and (scale := physical_scale(name)):
            return Number("", 1.0, scale)
        called = self.peek() == ("sign", "(")
        self.at = begun
        raise ExpressionError(self._unknown(name, called=called))

    def _glued(self, name: str) -> bool:
        return len(name) > 1 and all(letter in self.symbols for letter in name)

    def _product(self, letters: str) -> Node:
        """The product of *letters*, as one divisor in a fraction; a power applies to the last."""
        self.counted(len(letters))
        node: Node = self.raised(Name(letters[-1]))
        for letter in reversed(letters[:-1]):
            node = Binary("*", Name(letter), node)
        return node

    def _unknown(self, name: str, *, called: bool) -> str:
        name = name[:_SHOWN]
        if not called and not self.symbols:
            near = localized(close_symbols(name)) or nearest(name, SCALES)
            return translate("{name!r} is not a unit here{near}", name=name, near=near)
        if called:
            return translate(
                "{name!r} is not one of the functions {known}{near}",
                name=name,
                known=", ".join(FUNCTIONS),
                near=nearest(name, FUNCTIONS),
            )
        return translate(
            "{name!r} is not one of the letters {known}{near}",
            name=name,
            known=", ".join(sorted(self.symbols)),
            near=nearest(name, self.symbols),
        )


def parse_plain(text: str, letters: Collection[str], *, has_physics: bool = False) -> Node:
    """The tree of *text*, which may contain only *letters*, numbers and plain functions.

    A name before an equals sign, as in `V = 2 * S`, is ignored. Where it *has_physics*, there are
    units such as kg.

    Raises:
        ExpressionError: *text* is not an expression, or contains something else.
    """
    return _parse_plain(text, tuple(letters), has_physics)


@lru_cache(maxsize=4096)
def _parse_plain(text: str, letters: tuple[str, ...], has_physics: bool) -> Node:
    typed = ascii_text(_LEADING_NAME.sub("", text, count=1), letters)
    reader = TypedReader(typed, letters, has_physics)
    try:
        node = reader.whole()
    except ExpressionError as error:
        raise ExpressionError(f"{error}{_as_far_as(reader)}") from None
    _check(node)
    return node


def _as_far_as(reader: Reader) -> str:
    """The end of a sentence that says how much of the text was understood."""
    understood = reader.text[: reader.at].strip()
    return translate(" (read as far as {text!r})", text=understood) if understood else ""


def _check(node: Node) -> None:
    match node:
        case Word():
            raise ExpressionError(translate("a formula cannot contain words in quotes"))
        case Negative(term):
            _check(term)
        case Binary(operator, left, right):
            if operator in COMPARISONS:
                raise ExpressionError(translate("enter a formula without {operator}", operator=operator))
            _check(left)
            _check(right)
        case FunctionCall(name, arguments, named, part):
            if named or part:
                raise ExpressionError(translate("{name} takes values only, without names or parts", name=name))
            for argument in arguments:
                _check(argument)
