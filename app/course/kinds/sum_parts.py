"""What a wrong answer counts, and what it leaves out, where the right one is a sum of parts."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from app.core.expressions import Names
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.answers import CountedPart, CountedParts

MOST_PARTS = 6
_SAME = 1e-6  # of the sum of the parts and the answer
_FIGURES = 6  # of how near a sum is
_NEAR = 0.02  # of a sum, at most: a looser tolerance says little


def counted_in(key: AnswerKey, value: float) -> CountedParts | None:
    """The parts of the right answer that *value* is the sum of; None if it is not such a sum.

    Of several such sums it is the nearest one, then that of the most parts, the first ones.
    """
    values = parts_of(key)
    sums = [
        (names, sum(values[name] for name in names))
        for count in range(len(values) - 1, 0, -1)
        for names in combinations(values, count)
    ]
    near = [
        (round(abs(value - total) / abs(total), _FIGURES), at)
        for at, (_, total) in enumerate(sums)
        if total and abs(value - total) <= min(key.slack, _NEAR * abs(total))
    ]
    if not near:
        return None
    names = sums[min(near)[1]][0]
    parts = tuple(CountedPart(key.asked.part_name(name), size, name in names) for name, size in values.items())
    return CountedParts(parts, key.asked.shown(value), key.shown())


def parts_of(key: AnswerKey) -> Mapping[str, float]:
    """The parts of the right answer, by name.

    Raises:
        ExpressionError: a part has no value.
    """
    names: Names = key.names
    return {name: key.asked.value(text, names) for name, text in key.asked.parts.items()}


def trouble_of_parts(key: AnswerKey) -> str:
    """Why the parts of an answer cannot be right; empty where they can, or there are none.

    Raises:
        ExpressionError: a part has no value.
    """
    values: Sequence[float] = list(parts_of(key).values())
    if not values:
        return ""
    if not 1 < len(values) <= MOST_PARTS:
        return f"must have 2 to {MOST_PARTS} parts, not {len(values)}"
    if abs(sum(values) - key.right) > _SAME * abs(key.right):
        total, right = key.asked.shown(sum(values)), key.asked.shown(key.right)
        return f"has parts that add up to {total}, not to the answer, {right}"
    return ""
