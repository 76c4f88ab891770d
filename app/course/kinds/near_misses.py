"""Wrong numbers that are nearly right, or that a number of the question explains."""

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


_COARSE = 0.05  # of the right value: what is farther off is not it
_MOST_OF = 0.9
_NO_CHANGE = (1, 2)  # factors that may be a wrong idea: nothing changes, or all of it doubles


def too_coarse(reading: Reading, right: float, tolerance: str, scale: Scale) -> str:
    """Feedback on 7 where 7.3 *scale* is right; empty for anything else."""
    off = abs(reading.value - right)
    # Of a share near 1, what is left of it counts.
    size = min(abs(right), abs(1 - right)) if scale.unit is RATIO and _MOST_OF <= right < 1 else abs(right)
    if not reading.step or off > min(reading.step / 2, _COARSE * size):
        return ""
    if scale.unit is RATIO and reading.value in _NO_CHANGE:
        return ""
    if tolerance == "exact":
        return translate("Right as far as it goes, but the answer must be exact: give at least one more digit.")
    return translate(
        "Right as far as it goes, but the answer must be within {tolerance}: give at least one more digit.",
        tolerance=tolerance,
    )


def not_whole(reading: Reading, right: float, scale: Scale) -> str:
    """Feedback on 885.14 where a count of exactly 886 *scale* is right; empty for anything else.

    Nothing is said beside 0 and 1, where rounding would only give the answer away.
    """

    def is_whole(value: float) -> bool:
        return (value / scale.factor).is_integer()

    near = abs(reading.value - right) < scale.factor
    if (
        scale.unit is not RATIO
        or right / scale.factor in (0, 1)
        or not near
        or not is_whole(right)
        or is_whole(reading.value)
    ):
        return ""
    typed = show_in(reading.value, scale, _READ_AS)
    if reading.value < right:
        return translate("The answer must be a whole number: round {value} up.", value=typed)
    return translate("The answer must be a whole number: round {value} down.", value=typed)


def no_factor(reading: Reading, right: float, scale: Scale, slack: float) -> str:
    """Feedback on 33 % where "1.33 times" is right; empty for anything else."""
    typed = reading.scale
    if typed is None or typed.factor >= 1 or scale.unit is not RATIO or scale.factor != 1:
        return ""
    share = show_in(reading.value, typed)
    if abs(1 + reading.value - right) <= max(slack, reading.step / 2):
        return translate("{share} more is the right idea, but the answer is the factor: 1 + {share}.", share=share)
    if reading.value < 1 < right:
        return translate("{share} is a share, but the question asks for a number.", share=share)
    return ""
