"""Wrong numbers that a number of the question explains: a factor of 8 where it has 8 ranks."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.core.expressions import Quantity
from app.core.translation import noted, translate
from app.core.units import RATIO, Reading, Scale, show_in

_CLOSE = 0.002  # how near a factor must be met
_ROUNDED = 0.005  # how near, where a number was rounded to three figures
_APART = 0.1  # of the distance between n and n - 1
_EIGHT = 8
_READ_AS = 6  # significant digits of what was typed
_PARTS = ((1, 3), (2, 3), (1, 4), (3, 4), (3, 1), (3, 2), (4, 1), (4, 3))
_TOO_FEW = noted("Your number is {share} of the right one: are there several equal parts, and are some left out?")
_TOO_MANY = noted(
    "Your number is {share} times the right one: are there several equal parts, and are too many counted?"
)


@dataclass(frozen=True, slots=True)
class QuestionNumbers:
    """The *counts* in a question, whole numbers from 3 on, and the quantities that it gives."""

    counts: frozenset[int] = frozenset()
    given: tuple[Quantity, ...] = ()

    @property
    def has_eight(self) -> bool:
        """Whether a factor of 8 may come from the question, and not from bits."""
        return _EIGHT in self.counts


def told_by_the_question(reading: Reading, right: float, scale: Scale, numbers: QuestionNumbers) -> str:
    """Feedback on a wrong *reading* that the *numbers* of the question explain; else empty."""
    value = reading.value
    if not value or not right:
        return ""
    close = max(_CLOSE, min(reading.step / 2 / abs(value), _ROUNDED))
    return (
        (_another_relation(value, right, scale, close) if scale.unit is RATIO else "")
        or _off_by_a_count(value / right, numbers.counts, close)
        or _off_by_equal_parts(value / right, close)
        or _given_back(value, scale, numbers)
    )


def _another_relation(value: float, right: float, scale: Scale, close: float) -> str:
    """Feedback on a plain number that is the inverse of the right one, its rest, or one off."""
    if _is_near(value * right, 1, close):
        return translate("Your number is the inverse of the right one: check what is divided by what.")
    if scale.factor < 1 and _is_near(value + right, 1, close):
        return translate(
            "Your number and the right one add up to 100 %: does the question ask for this part, or for the rest?"
        )
    is_whole = float(right).is_integer()
    if not scale.symbol and not is_whole and _is_near(abs(value - right), 1, close):
        return translate(
            "Your number and the right one differ by exactly 1: “how many times as much” is not "
            "the same as “how much more”."
        )
    return ""


def _off_by_a_count(ratio: float, counts: Iterable[int], close: float) -> str:
    """Feedback on *ratio* times the right number, where it comes from one of *counts*."""
    for n in sorted(counts):
        if _is_near(ratio, n, close):
            return translate(
                "Your number is {count} times the right one: is a factor of {count} used where it "
                "should not be, or is it for all {count} instead of one?",
                count=f"{n:,}",
            )
        if _is_near(ratio * n, 1, close):
            return translate(
                "Your number is 1/{count} of the right one: is a factor of {count} left out, or is "
                "it for one of {count} instead of all?",
                count=f"{n:,}",
            )
    return _off_by_one_of(ratio, counts)


def _off_by_one_of(ratio: float, counts: Iterable[int]) -> str:
    """Feedback where n was counted instead of n - 1, or the other way around."""
    for n in sorted(counts):
        for numerator, denominator in ((n, n - 1), (n - 1, n)):
            if _is_near(ratio * denominator / numerator, 1, min(_CLOSE, _APART / n)):
                return translate(
                    "Your number is {numerator}/{denominator} of the right one: do all {count} "
                    "count here, or one fewer?",
                    numerator=f"{numerator:,}",
                    denominator=f"{denominator:,}",
                    count=f"{n:,}",
                )
    return ""


def _off_by_equal_parts(ratio: float, close: float) -> str:
    """Feedback on two thirds of the right number, or four thirds."""
    for numerator, denominator in _PARTS:
        if _is_near(ratio * denominator / numerator, 1, close):
            form = _TOO_FEW if numerator < denominator else _TOO_MANY
            shown = f"{numerator}/{denominator}" if denominator > 1 else f"{numerator}"
            return translate(form, share=shown)
    return ""


def _given_back(value: float, scale: Scale, numbers: QuestionNumbers) -> str:
    """Feedback on a *value* that the question itself has."""
    known = [one.value for one in numbers.given if one.dimension == scale.unit.dimension]
    if scale.unit is RATIO:
        known += map(float, numbers.counts)
    if not any(_is_near(value, one, _CLOSE / 2) for one in known if one):
        return ""
    return translate(
        "{value} is given in the question. What it asks for has to be worked out from that.",
        value=show_in(value, scale, _READ_AS),
    )


def _is_near(value: float, other: float, close: float) -> bool:
    return abs(value / other - 1) <= close
