"""The operators and functions of expressions, and which dimensions they accept."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import add, sub

from app.core.expressions.parser import ExpressionError
from app.core.translation import translate
from app.core.units import FLOP, RATIO, Dimension, figures, show, spelled, unit_of

SLACK = 1e-9  # of a comparison: 1/3 * 3 is 1
PLAIN: Dimension = RATIO.dimension
_HIGHEST = 100  # exponent of a unit


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of its dimension.

    Raises:
        ExpressionError: the value is not a finite number.
    """

    value: float
    dimension: Dimension = PLAIN

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ExpressionError(translate("the value is not a finite number"))

    def __str__(self) -> str:
        unit = unit_of(self.dimension)
        if unit is None:
            return f"{figures(self.value)} {spelled(self.dimension)}"
        return show(self.value, unit)


def same_kind(dimension: Dimension, other: Dimension) -> bool:
    """Whether two dimensions are the same if FLOP counts as a plain number."""
    return _without_flop(dimension) == _without_flop(other)


def _without_flop(dimension: Dimension) -> Dimension:
    return tuple(power for power, flop in zip(dimension, FLOP.dimension, strict=True) if not flop)


def _same(left: Quantity, right: Quantity) -> Dimension:
    if left.dimension == right.dimension or not right.value:
        return left.dimension
    if not left.value:
        return right.dimension
    raise ExpressionError(translate("{left} and {right} are of different kinds", left=left, right=right))


def _power(base: Quantity, exponent: Quantity) -> Quantity:
    if exponent.dimension != PLAIN:
        raise ExpressionError(translate("{exponent} cannot be an exponent", exponent=exponent))
    if isinstance(value := base.value**exponent.value, complex):
        raise ExpressionError(translate("{base} to the {exponent} is not a real number", base=base, exponent=exponent))
    return Quantity(value, _raised(base.dimension, exponent))


def _raised(dimension: Dimension, exponent: Quantity) -> Dimension:
    if dimension == PLAIN:
        return PLAIN
    if abs(exponent.value) > _HIGHEST:
        raise ExpressionError(translate("the exponent {exponent} is too large for a unit", exponent=exponent))
    times = Fraction(exponent.value).limit_denominator(100)
    return tuple(_lowest(part * times) for part in dimension)


def _lowest(power: Fraction) -> int | Fraction:
    return power.numerator if power.denominator == 1 else power


def _times(left: Quantity, right: Quantity) -> Quantity:
    if right.dimension == PLAIN:
        return Quantity(left.value * right.value, left.dimension)
    return Quantity(left.value * right.value, tuple(map(add, left.dimension, right.dimension)))


def _over(left: Quantity, right: Quantity) -> Quantity:
    if right.dimension == PLAIN:
        return Quantity(left.value / right.value, left.dimension)
    return Quantity(left.value / right.value, tuple(map(sub, left.dimension, right.dimension)))


def _compare(test: Callable[[float, float], bool]) -> Callable[[Quantity, Quantity], Quantity]:
    def compared(left: Quantity, right: Quantity) -> Quantity:
        _same(left, right)
        return Quantity(float(test(left.value, right.value)))

    return compared


def _close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=SLACK)


OPERATIONS: Mapping[str, Callable[[Quantity, Quantity], Quantity]] = {
    "+": lambda left, right: Quantity(left.value + right.value, _same(left, right)),
    "-": lambda left, right: Quantity(left.value - right.value, _same(left, right)),
    "*": _times,
    "/": _over,
    "^": _power,
    "==": _compare(_close),
    "!=": _compare(lambda left, right: not _close(left, right)),
    "<=": _compare(lambda left, right: left < right or _close(left, right)),
    ">=": _compare(lambda left, right: left > right or _close(left, right)),
    "<": _compare(lambda left, right: left < right and not _close(left, right)),
    ">": _compare(lambda left, right: left > right and not _close(left, right)),
}


def _plain(function: Callable[[float], float]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        if len(values) != 1 or values[0].dimension != PLAIN:
            raise ExpressionError(translate("this function takes one plain number"))
        try:
            return Quantity(float(function(values[0].value)))
        except ValueError:
            raise ExpressionError(translate("this function has no value at {values}", values=values[0])) from None

    return applied


def _chosen(function: Callable[[list[float]], float]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        telling = [value for value in values if value.value] or values
        for value in telling[1:]:
            _same(telling[0], value)
        return Quantity(function([value.value for value in values]), telling[0].dimension)

    return applied


def _of_one(function: Callable[[Quantity], Quantity]) -> Callable[[list[Quantity]], Quantity]:
    def applied(values: list[Quantity]) -> Quantity:
        if len(values) != 1:
            raise ExpressionError(translate("this function takes one value"))
        return function(values[0])

    return applied


def _logarithm(values: list[Quantity]) -> Quantity:
    """The logarithm of the first value to the base of the second."""
    if len(values) != 2:  # noqa: PLR2004
        raise ExpressionError(translate("log takes a value and a base, such as log(x, 2); or use ln(x)"))
    number, base = (_plain(math.log)([value]).value for value in values)
    return Quantity(number / base)


def _slack(x: float) -> float:
    return SLACK * min(1.0, abs(x))


FUNCTIONS: Mapping[str, Callable[[list[Quantity]], Quantity]] = {
    "ceil": _plain(lambda x: math.ceil(x - _slack(x))),
    "floor": _plain(lambda x: math.floor(x + _slack(x))),
    "round": _plain(lambda x: math.floor(x + 0.5)),
    "log": _logarithm,
    "log2": _plain(math.log2),
    "log10": _plain(math.log10),
    "ln": _plain(math.log),
    "exp": _plain(math.exp),
    "exp2": _plain(lambda x: 2.0**x),
    "sqrt": _of_one(lambda x: _power(x, Quantity(0.5))),
    "abs": _of_one(lambda x: Quantity(abs(x.value), x.dimension)),
    "min": _chosen(min),
    "max": _chosen(max),
}
