"""Wrong numbers that are nearly right: rounded too early, not whole, or a share for a factor."""

from app.core.translation import translate
from app.core.units import RATIO, Reading, Scale, show_in

_READ_AS = 6  # significant digits of what was typed
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
