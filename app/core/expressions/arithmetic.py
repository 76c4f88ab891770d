"""Answers and formulas as learners type them: `2*2*7/8/50 s`, `18 min 58 s`, and pads of such lines."""

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from app.core.errors import nearest
from app.core.expressions import parser
from app.core.expressions.evaluation import FUNCTIONS, PLAIN, Quantity, evaluate, same_kind
from app.core.formulas import Input
from app.core.translation import language, localize, noted, translate
from app.core.units import Reading, check_clear, read, spell_dimension
from app.core.units.parser import CALL, asks_for_physics, join_digits, plain_signs, without_commas
from app.core.units.scales import PLAIN as NUMBER
from app.core.units.scales import SCALES, TYPED, Scale, before_unit, close_symbols, physical_scale, takes_prefix

_SHORTEST = 2  # characters of a unit without a number if there are letters: s may be a letter
_PLAIN_SHOWN = 40  # characters of an unknown name
_LEADING_NAME = re.compile(r"^\s*[^\W\d]\w*\s*=(?!=)")


class TypedReader(parser.Reader):
    """A reader that takes adjacent letters as a product, `8bshe(T - 1)/T`, and bare units."""

    def is_symbol(self, name: str) -> bool:
        """Whether *name* is a letter, or several adjacent letters."""
        return super().is_symbol(name) or self._glued(name)

    def named(self, name: str) -> parser.Node:
        """The tree of *name*, of its letters, or of a call of a plain function.

        Raises:
            ExpressionError: the name is unknown.
        """
        begun = self.at - len(name)
        if name in self.symbols:
            return parser.Name(name)
        if self.peek() == ("sign", "(") and name in FUNCTIONS:
            return super().named(name)
        if self._glued(name):
            self.counted(len(name))
            node: parser.Node = self.raised(parser.Name(name[-1]))
            for letter in reversed(name[:-1]):
                node = parser.Binary("*", parser.Name(letter), node)
            return node
        if name in SCALES and len(name) >= (_SHORTEST if self.symbols else 1):
            return parser.Number("", 1.0, SCALES[name])
        if self.has_physics and (scale := physical_scale(name)):
            return parser.Number("", 1.0, scale)
        called = self.peek() == ("sign", "(")
        self.at = begun
        raise parser.ExpressionError(self._unknown(name, called=called))

    def _glued(self, name: str) -> bool:
        return len(name) > 1 and all(letter in self.symbols for letter in name)

    def _unknown(self, name: str, *, called: bool) -> str:
        name = name[:_PLAIN_SHOWN]
        if not called and not self.symbols:
            near = localize(close_symbols(name)) or nearest(name, SCALES)
            return translate("{name!r} is not a unit here{near}", name=name, near=near)
        if called:
            form = noted("{name!r} is not one of the functions {known}{near}")
            return translate(form, name=name, known=", ".join(FUNCTIONS), near=nearest(name, FUNCTIONS))
        form = noted("{name!r} is not one of the letters {known}{near}")
        return translate(form, name=name, known=", ".join(sorted(self.symbols)), near=nearest(name, self.symbols))


def parse_plain(text: str, letters: Collection[str], *, has_physics: bool = False) -> parser.Node:
    """The tree of *text*, which may contain only *letters*, numbers and plain functions.

    A name before an equals sign, as in `V = 2 * S`, is ignored. Where it *has_physics*, there are units such as kg.

    Raises:
        ExpressionError: *text* is not an expression, or contains something else.
    """
    return _parse_plain(text, tuple(letters), has_physics)


@lru_cache(maxsize=4096)
def _parse_plain(text: str, letters: tuple[str, ...], has_physics: bool) -> parser.Node:
    typed = parser.ascii_text(_LEADING_NAME.sub("", text, count=1), letters)
    reader = TypedReader(typed, letters, has_physics)
    try:
        node = reader.whole()
    except parser.ExpressionError as error:
        understood = reader.text[: reader.at].strip()
        far = translate(" (read as far as {text!r})", text=understood) if understood else ""
        raise parser.ExpressionError(f"{error}{far}") from None
    _check(node)
    return node


def _check(node: parser.Node) -> None:
    match node:
        case parser.Word():
            raise parser.ExpressionError(translate("a formula cannot contain words in quotes"))
        case parser.Negative(term):
            _check(term)
        case parser.Binary(operator, left, right):
            if operator in parser.COMPARISONS:
                raise parser.ExpressionError(translate("enter a formula without {operator}", operator=operator))
            _check(left)
            _check(right)
        case parser.FunctionCall(name, arguments, named, part):
            if named or part:
                raise parser.ExpressionError(translate("{name} takes values only, without names or parts", name=name))
            for argument in arguments:
                _check(argument)


_LONGEST = 500  # characters of an answer
_READINGS = 1_000  # that are cached: an answer is read to be judged, and to be drawn
_SHOWN = 60  # characters of an answer that cannot be read
_SIGN = re.compile(r"[-+*/^()√×·]")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
DOLLARS_FIRST = re.compile(r"\$\s*(\d[\d.]*(?:[eE][-+]?\d+)?)")
_PER_SECOND = re.compile(r"(?<=[^\W\d])\s*(?:/|\bper\b)\s*(?:seconds?|secs?|s)(?!\w)")
_THOUSANDFOLD = re.compile(r"(?<=\d)\s?([kKM])(?![\w$])")
_TIMES = {"k": "e3", "K": "e3", "M": "e6"}
_AMOUNT = re.compile(r"(?<![\d.])(\d++(?:\.\d*+)?|\.\d++)\s*+([^\W\d]++)[\s,]*+(?:and\s++)?")
_RATIOS = {"%", "percent", "points", "point", "x", "×", "times"}
_LAST_UNIT = re.compile(r"\A(.*[\d)])\s*+((?:[^\W\d]|[$%])[\w$%/-]{0,60}+)")


def read_answer(text: str, shown: Scale) -> Reading:
    """The quantity that a learner typed as *text*, which may be arithmetic.

    Raises:
        ExpressionError: *text* is not a quantity of the dimension of *shown*.
    """
    return _read_in(language(), text, shown)


@lru_cache(_READINGS)
def _read_in(_language: str, text: str, shown: Scale) -> Reading:
    """What *text* is on a page in that language: 1,750 may be 1.75."""
    try:
        return read(text, shown.unit, shown)
    except ValueError as error:
        refused = localize(str(error))
    try:
        return work_out(text, shown)
    except parser.ExpressionError as error:
        raise parser.ExpressionError(str(error) if _is_arithmetic(text) else refused) from error


def read_argument(taken: Input, text: str) -> Reading | None:
    """The arithmetic in *text*, as a number of *taken*; None if *text* is a value as it stands.

    Raises:
        ExpressionError: it is arithmetic that has no value, or one of another dimension.
    """
    if taken.unit is None or taken.many or not _is_arithmetic(text):
        return None
    unit = taken.unit
    found = read_answer(text, Scale(unit.symbol, unit, unit.size))
    return replace(found, value=found.value / unit.size) if found.worked_out else None


def _is_arithmetic(text: str) -> bool:
    """Whether *text* contains an operator, apart from a leading sign."""
    return bool(_SIGN.search(text.strip().lstrip("-+−")))


def work_out(text: str, shown: Scale) -> Reading:
    """The result of the arithmetic in *text*; if it names no unit, the result is in *shown*.

    >>> from app.core.units import scale_of
    >>> work_out("2*2*7/8/50 s", scale_of("ms")).value
    0.07

    Raises:
        ExpressionError: *text* has no value, or a value of another dimension.
    """
    if len(text) > _LONGEST:
        raise parser.ExpressionError(
            translate("cannot read an answer of {text} characters: it is too long", text=len(text))
        )
    try:
        typed = simplify_numbers(text, shown)
        with suppress(ValueError):
            return replace(read(typed, shown.unit, shown), worked_out=True)
        return _added_up(typed, shown) or _in_the_last_unit(typed, shown) or _as_it_stands(typed, shown)
    except parser.ExpressionError as error:
        raise parser.ExpressionError(
            translate("cannot read {text!r}: {error}", text=text.strip()[:_SHOWN], error=error)
        ) from None


def simplify_numbers(text: str, shown: Scale) -> str:
    """*text* with numbers in one spelling: no grouping, a decimal point, 72.9k as 72.9e3."""
    typed = _PER_SECOND.sub("/s", join_digits(plain_signs(text.strip())).lstrip("~≈= "))
    if shown.unit.symbol.startswith("$"):
        typed = DOLLARS_FIRST.sub(r"\1 $", typed)
    if not CALL.search(typed):  # in a call, a comma separates arguments
        typed = _DECIMAL_COMMA.sub(".", without_commas(typed))
    if not takes_prefix(shown) and shown.factor >= 1:  # 4k could mean 4 kB; with % it means nothing
        typed = _THOUSANDFOLD.sub(lambda match: _TIMES[match[1]], typed)
    return typed


def _added_up(typed: str, shown: Scale) -> Reading | None:
    """The sum of amounts in ever smaller units, such as 18 min 58 s; None if *typed* is not one."""
    has_physics = asks_for_physics(shown.unit, shown)
    amounts: list[tuple[Scale, float]] = []
    at = 0
    while shown.unit.dimension != PLAIN and (match := _AMOUNT.match(typed, at)):
        scale = _known_scale(match[2], has_physics=has_physics)
        if scale is None or scale.unit.dimension != shown.unit.dimension:
            return None
        amounts.append((scale, float(match[1])))
        at = match.end()
    factors = [scale.factor for scale, _ in amounts]
    if at < len(typed) or len(amounts) < 2 or factors != sorted(set(factors), reverse=True):  # noqa: PLR2004
        return None
    value = Quantity(sum(scale.factor * number for scale, number in amounts)).value
    return Reading(value, scale=amounts[0][0], worked_out=True)


def _in_the_last_unit(typed: str, shown: Scale) -> Reading | None:
    """The value of plain arithmetic followed by one unit; None if *typed* is something else."""
    found = in_the_last_unit(typed, has_physics=asks_for_physics(shown.unit, shown))
    if found is None or found.scale.unit.dimension != shown.unit.dimension:
        return None
    if shown.unit.dimension == PLAIN and found.is_sum:
        return None  # 1 + 3 % is 1.03
    value = Quantity(evaluate(found.head, {}).value * found.scale.factor).value
    return Reading(value, scale=found.scale, worked_out=True)


@dataclass(frozen=True, slots=True)
class InOneUnit:
    """Arithmetic without units, *head*, and the unit that stands behind all of it."""

    head: parser.Node
    scale: Scale

    @property
    def is_sum(self) -> bool:
        """Whether the unit might belong to the last term alone."""
        return isinstance(self.head, parser.Binary) and self.head.operator in "+-"


def in_the_last_unit(typed: str, *, has_physics: bool = False) -> InOneUnit | None:
    """*typed* as arithmetic followed by one unit, as in 2*7/8/50 s; None if it is not that."""
    match = _LAST_UNIT.fullmatch(typed)
    before, symbol = (match[1], match[2]) if match else ("", "")
    scale = _known_scale(symbol)
    if scale is None and has_physics and (ended := before_unit(typed)):
        before, scale = ended[0], physical_scale(ended[1])
    if scale is None:
        return None
    try:
        head = parse_plain(before, ())
    except parser.ExpressionError:
        return None  # the unit belongs to something inside, as in 2 * (3 s + 4 s)
    return None if _units(head) else InOneUnit(head, scale)


def _known_scale(symbol: str, *, has_physics: bool = False) -> Scale | None:
    known = SCALES.get(symbol) or TYPED.get(symbol)
    return known or (physical_scale(symbol) if has_physics else None)


def _as_it_stands(typed: str, shown: Scale) -> Reading:
    """The value of *typed*, where each unit belongs to the number before it."""
    node = parse_plain(typed, (), has_physics=asks_for_physics(shown.unit, shown))
    if not any(number.text for number in parser.numbers_in(node)):
        raise parser.ExpressionError(translate("a number is missing"))
    if shown.unit.dimension == PLAIN and shown.factor != 1:
        _refuse_a_doubtful_sum(node)
    found = evaluate(node, {})
    units = _units(node)
    # Words such as million say how large a number is, and not what is counted.
    are_words = all(unit.unit.dimension == PLAIN and unit.factor >= SCALES["thousand"].factor for unit in units)
    if found.dimension == PLAIN and are_words:
        return Reading(Quantity(found.value * shown.factor).value, worked_out=True)
    expected = shown.unit.dimension
    # 6 * 7e9 parameters * 3 tokens is counted in FLOP; 5 FLOP/s is no 5/s, and 2 * 50 % no FLOP.
    counted = len(parser.numbers_in(node)) > 1 and not all(unit.symbol in _RATIOS for unit in units)
    counted = counted or expected == PLAIN
    if found.dimension == expected or (counted and same_kind(found.dimension, expected)):
        return Reading(found.value, scale=_written_unit(units, shown), worked_out=True)
    if found.dimension == PLAIN:
        raise parser.ExpressionError(translate("the result is a plain number, but {unit} is expected", unit=shown.unit))
    form = noted("the result is in {dimension}, but {unit} is expected")
    raise parser.ExpressionError(translate(form, dimension=spell_dimension(found.dimension), unit=shown.unit))


def _refuse_a_doubtful_sum(node: parser.Node) -> None:
    """Refuse 100 - 7 % and 5 % + 2 where a bare number is in percent."""
    if not (isinstance(node, parser.Binary) and node.operator in "+-"):
        return
    shares = [any(unit.factor != 1 for unit in _units(side)) for side in (node.left, node.right)]
    if any(shares) and not all(_units(side) for side in (node.left, node.right)):
        raise parser.ExpressionError(translate("add parentheses to show whether % applies to all of it"))


def _written_unit(units: list[Scale], shown: Scale) -> Scale:
    """The unit of the result: the one that was written, or the base unit if there are several."""
    alike = {unit for unit in units if unit.unit.dimension == shown.unit.dimension}
    return alike.pop() if len(alike) == 1 else Scale(shown.unit.symbol, shown.unit, 1.0)


def _units(node: parser.Node) -> list[Scale]:
    return [number.scale for number in parser.numbers_in(node) if number.scale]


PAD_LIMIT = 4_000  # characters
_LINES = 40  # that are worked out
_PAD_LONGEST = 300  # characters of a line
_NAMED = re.compile(r"\A\s*+([^\W\d_]\w{0,15})\s*+=(?!=)\s*(.+)")
_NAME = re.compile(r"[^\W\d]\w*")
_LAST = "last"  # the name of the result before


@dataclass(frozen=True, slots=True)
class PadLine:
    """A line, and its result or what is wrong with it; neither, if it is a note."""

    text: str
    result: str = ""
    problem: str = ""


def worked_pad(text: str) -> tuple[PadLine, ...]:
    """The lines of *text* with their results; a line may use the names of those before it.

    >>> [line.result for line in worked_pad("S = 2 GB\\n2 * S * 7/8 / (50 GB/s)")]
    ['2 GB', '70 ms']
    """
    names: dict[str, Quantity] = {}
    lines = [line.strip() for line in text[:PAD_LIMIT].splitlines() if line.strip()]
    found = [_pad_line(line[:_PAD_LONGEST], names) for line in lines[:_LINES]]
    if len(lines) > _LINES:
        found.append(PadLine(translate("only {lines} lines are worked out", lines=_LINES)))
    return tuple(found)


def _pad_line(line: str, names: dict[str, Quantity]) -> PadLine:
    """*line* worked out; its result is added to *names*."""
    named = _NAMED.fullmatch(line)
    name, sum_ = (named[1], named[2]) if named else (_LAST, line)
    if name in SCALES:  # 16 B would be sixteen bandwidths
        return PadLine(line, problem=translate("{name} is a unit: choose another name", name=name))
    try:
        check_clear(sum_)
        value = _value(sum_, names)
    except ValueError as error:
        is_note = not any(character.isdigit() for character in line)
        says = _unknown_in(sum_, names) or localize(str(error))
        return PadLine(line) if is_note and not named else PadLine(line, problem=says)
    names[name] = names[_LAST] = value
    return PadLine(line, result=str(value))


def _unknown_in(text: str, names: Collection[str]) -> str:
    """What is said of the first word of *text* that means nothing here; empty if there is none."""
    known = {*names, *FUNCTIONS, *SCALES}
    word = next((word for word in _NAME.findall(text) if word not in known), "")
    if not word:
        return ""
    return translate("{word!r} is neither a unit nor the name of a line above", word=word)


def _value(text: str, names: dict[str, Quantity]) -> Quantity:
    typed = simplify_numbers(DOLLARS_FIRST.sub(r"\1 $", text), NUMBER)
    found = in_the_last_unit(typed)
    if found is None or (found.scale.unit.dimension == PLAIN and found.is_sum):
        return evaluate(parse_plain(typed, names), names)
    return Quantity(evaluate(found.head, {}).value * found.scale.factor, found.scale.unit.dimension)
