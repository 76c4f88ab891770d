"""Formulas compared by their values, and by their units."""

import math
from collections.abc import Mapping, Sequence

from app.core.expressions import ExpressionError, Names, Node, Quantity, evaluate, same_kind
from app.core.translation import noted, translate
from app.core.units import FLOP, RATIO, Dimension, spelled

_CLOSE = 1e-6
_CURES = {"multiply": noted("multiply by something in {unit}"), "divide": noted("divide by something in {unit}")}


def value_at(node: Node, names: Names) -> Quantity | None:
    """The value of *node* where the letters are *names*; None where it has none."""
    try:
        return evaluate(node, names)
    except ExpressionError:
        return None


def why_none(node: Node, names: Names) -> str:
    """Why *node* has no value."""
    try:
        evaluate(node, names)
    except ExpressionError as error:
        return str(error)
    return translate("it is always zero")


def near(value: Quantity, other: Quantity) -> bool:
    """Whether two values differ by no more than rounding."""
    return math.isclose(value.value, other.value, rel_tol=_CLOSE, abs_tol=0)


def same_values(values: Sequence[Quantity | None], others: Sequence[Quantity]) -> bool:
    """Whether two formulas have the same values; 6 FLOP a token is 6 of them, with unit or not."""
    return len(values) == len(others) and all(
        value is not None and same_kind(value.dimension, other.dimension) and near(value, other)
        for value, other in zip(values, others, strict=True)
    )


def of_another_kind(values: Sequence[Quantity | None], right: Sequence[Quantity]) -> str:
    """Feedback on a formula of another dimension, with the missing or extra unit."""
    for value, expected in zip(values, right, strict=True):
        if value is None or not value.value or same_kind(value.dimension, expected.dimension):
            continue
        cure = [
            translate(_CURES[do], unit=spelled(part))
            for do, part in _missing(value.dimension, expected.dimension).items()
            if part != RATIO.dimension
        ]
        return translate(
            "This comes out as {found}, but the answer is {expected}: {cure}.",
            found=dimension_words(value),
            expected=dimension_words(expected),
            cure=translate(" and ").join(cure),
        )
    return ""


def _missing(found: Dimension, expected: Dimension) -> Mapping[str, Dimension]:
    """The dimensions to multiply and divide by to get from *found* to *expected*, FLOP aside."""
    powers = [
        0 if flop else wanted - power for power, wanted, flop in zip(found, expected, FLOP.dimension, strict=True)
    ]

    def part(sign: int) -> Dimension:
        return tuple(max(sign * power, 0) for power in powers)

    return {"multiply": part(1), "divide": part(-1)}


def dimension_words(quantity: Quantity) -> str:
    """The dimension of *quantity* in words."""
    if quantity.dimension == RATIO.dimension:
        return translate("a plain number")
    return translate("a value in {unit}", unit=spelled(quantity.dimension))
