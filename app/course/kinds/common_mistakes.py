"""Common mistakes with units and factors, recognized even where no author listed them.

A cause is only named where the quantity can have it: bytes and bandwidths have bits, GB has GiB
and MB has MiB, a share has percent. For any other quantity the feedback names the factor alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

from app.core.expressions import Quantity
from app.core.translation import noted, say, translate
from app.core.units import BYTE, BYTE_PER_SECOND, RATIO, SECOND, Reading, Scale, scale_of, show_in
from app.core.units.scales import DECIMAL, SCALES, takes_prefix

T = TypeVar("T")
_CLOSE = 0.005  # how near a factor must be met: three figures
_CLOSER = 0.002  # the same for 1.024, since many wrong numbers are close to it
_FAMILIES = {
    BYTE: "B kB MB GB TB PB bit Mbit Gbit Tbit",
    BYTE_PER_SECOND: "B/s kB/s MB/s GB/s TB/s bit/s Mbit/s Gbit/s Tbit/s",
    SECOND: "ns µs ms s min h days years",
}
_TIMES = (60, 3600)
_THOUSANDS = (1e3, 1e6, 1e9)
_OF_EIGHT = ("bits-as-bytes", "bytes-as-bits", "times-8", "over-8")
_WORDS = {"B": noted("bytes"), "bit": noted("bits")}
_PREFIXED = re.compile(r"([kKMGTP])(i?)(\D+)")


@dataclass(frozen=True, slots=True)
class CommonMistake:
    """A wrong answer that is *factor* times the right one, where the unit *can* have it; its *key* is stored."""

    key: str
    factor: float
    says: str
    can: Callable[[Scale], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeBand(Generic[T]):
    """The answers that are taken for one mistake; those typed to a step may be rounded to it."""

    value: float
    near: float
    rounded: float  # the most that may be lost by rounding
    means: T


def nearest_mistake(value: float, bands: Iterable[MistakeBand[T]], step: float) -> MistakeBand[T] | None:
    """The mistake that *value*, typed to a *step*, is, or the nearest one where several round to it."""
    found, least, half = None, inf, step / 2
    for band in bands:
        off, rounded = abs(value - band.value), band.rounded
        if off < least and (off <= band.near or off <= (half if half < rounded else rounded)):
            found, least = band, off
    return found


def common_mistake(ratio: float, scale: Scale, tolerance: float, *, has_eight: bool = False) -> str:
    """Feedback on an answer that is *ratio* times the right one; empty if that is not common.

    *scale* is the unit that was typed, else the one that the page shows; *tolerance* is that of the exercise, and a
    mistake is only named when the figures match closely. Where the question *has_eight*, a factor of 8 is left to it.
    """
    closer, close = min(tolerance, _CLOSER), min(tolerance, _CLOSE)
    for _, factor, says in _binary(scale):
        if abs(ratio / factor - 1) <= closer:
            return says
    for known in _COMMON:
        if has_eight and known.key in _OF_EIGHT:
            continue
        if abs(ratio / known.factor - 1) <= close and known.can(scale):
            return known.says
    return ""


def in_another_unit(value: float, right: float, slack: float, shown: Scale, *, has_eight: bool = False) -> str:
    """Feedback on a bare number, read as *value*, that is right in a unit other than *shown*."""
    number = value / shown.factor
    for other in map(scale_of, _family(shown)):
        if has_eight and "bit" in other.symbol and "bit" not in shown.symbol:
            continue
        if other.factor != shown.factor and abs(number * other.factor - right) <= slack:
            return _unit_sentence(_RIGHT_IN, other, shown)
    return ""


def in_the_wrong_unit(value: float, right: float, slack: float, typed: Scale, shown: Scale) -> str:
    """Feedback on a number that is right in the unit *shown*, but was written with *typed*."""
    meant = value / typed.factor * shown.factor
    if typed.factor == shown.factor or abs(meant - right) > slack:
        return ""
    if shown.unit is RATIO:
        return _NO_PERCENTAGE if _is_a_share(typed) and shown.factor == 1 else ""
    twin = _twin(typed)
    if twin is not None and twin.factor == shown.factor:
        return next(says for _, _, says in _binary(typed))
    for other in map(scale_of, _family(shown)):
        if other.factor == typed.factor:
            return _unit_sentence(_WRITTEN_IN, other, shown)
    return ""


_WRITTEN_IN = noted("The number is right in {shown}, but your answer is in {unit}.")
_RIGHT_IN = noted("Right in {unit}, but a number without a unit is in {shown} here.")


def _unit_sentence(form: str, other: Scale, shown: Scale) -> str:
    return say(form, unit=_WORDS.get(other.symbol, other.symbol), shown=shown.symbol)


_READ_AS = 6  # significant digits of what was typed
_COARSE = 0.05  # of the right value: what is farther off is not it
_NO_CHANGE = (1, 2)  # factors that may be a wrong idea: nothing changes, or all of it doubles


def too_coarse(reading: Reading, right: float, tolerance: str, scale: Scale) -> str:
    """Feedback on 7 where 7.3 *scale* is right; empty for anything else."""
    off = abs(reading.value - right)
    # Of a plain number near 1, such as a factor or a share, its distance from 1 counts.
    size = min(abs(right), abs(1 - right)) if scale.unit is RATIO else abs(right)
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
    """Feedback on 885.14 where a count of exactly 886 *scale* is right; none beside 0 and 1, which it would tell."""

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


def no_factor(reading: Reading, right: float, scale: Scale, slack: float, sort: str) -> str:
    """Feedback on 33 % where "1.33 times" is right; empty for anything else, by the *sort* of the quantity."""
    typed = reading.scale
    if typed is None or typed.factor >= 1 or scale.unit is not RATIO or scale.factor != 1:
        return ""
    share = show_in(reading.value, typed)
    if sort == "factor" and abs(1 + reading.value - right) <= max(slack, reading.step / 2):
        return translate("{share} more is the right idea, but the answer is the factor: 1 + {share}.", share=share)
    if reading.value < 1 < right:
        return translate("{share} is a share, but the question asks for a number.", share=share)
    return ""


def common_wordings() -> Iterator[tuple[str, str]]:
    """The key of every common mistake, and what is said of it."""
    yield from ((known.key, known.says) for known in _COMMON)
    yield "percent-written", _NO_PERCENTAGE
    for scale in SCALES.values():
        yield from ((key, says) for key, _, says in _binary(scale))
        for symbol in _family(scale):
            other = scale_of(symbol)
            yield f"{symbol}-for-{scale.symbol}", _unit_sentence(_RIGHT_IN, other, scale)
            yield f"{symbol}-written-for-{scale.symbol}", _unit_sentence(_WRITTEN_IN, other, scale)


def _family(shown: Scale) -> list[str]:
    """The units that a learner may have meant by a bare number."""
    if shown.unit in _FAMILIES:
        return _FAMILIES[shown.unit].split()
    return [symbol for prefix in DECIMAL if (symbol := prefix + shown.unit.symbol) in SCALES]


def _binary(scale: Scale) -> Iterator[tuple[str, float, str]]:
    """The mistakes between *scale* and its twin, such as GB and GiB, with their keys."""
    twin = _twin(scale)
    if twin is None:
        return
    larger = max(scale.factor, twin.factor) / min(scale.factor, twin.factor)
    said = {"twin": twin.symbol, "unit": scale.symbol, "factor": f"{larger:.4g}"}
    yield f"labeled-{scale.symbol}", scale.factor / twin.factor, say(_LABELED, **said)
    yield f"mixed-up-{scale.symbol}", twin.factor / scale.factor, say(_MIXED_UP, **said)


def _twin(scale: Scale) -> Scale | None:
    """GiB for GB and GB for GiB; None for what has no such twin."""
    match = _PREFIXED.fullmatch(scale.symbol)
    if match is None or not _counts_data(scale):
        return None
    prefix, binary, stem = match.groups()
    large = prefix.upper()
    other = (("k" if large == "K" else large) if binary else f"{large}i") + stem
    return SCALES.get(other)


def _counts_data(scale: Scale) -> bool:
    return scale.unit in (BYTE, BYTE_PER_SECOND)


def _is_a_share(scale: Scale) -> bool:
    return scale.unit is RATIO and scale.factor < 1


def _is_time(scale: Scale) -> bool:
    return scale.unit is SECOND


def _anything(scale: Scale) -> bool:
    return True


def _times(number: float, form: str) -> str:
    return say(form, times=f"{number:,.10g}")


def _share(number: float, form: str) -> str:
    return say(form, share=f"1/{number:,.10g}")


_LABELED = noted(
    "The figure is right in {twin}: it was computed in {twin} and labeled {unit}. They differ by a factor of {factor}."
)
_MIXED_UP = noted(
    "Your number is off by a factor of {factor}: {unit} and {twin} were mixed up. The prefix of GB "
    "is a power of 1000, that of GiB a power of 1024."
)
_NO_PERCENTAGE = noted("The number is right, but it is not a percentage: leave out the percent sign.")
_POINT = noted("Your number is {times} times the right one: check the decimal point.")
_SMALL_POINT = noted("Your number is {share} of the right one: check the decimal point.")
_TOO_LARGE = noted("Your number is {times} times the right one.")
_TOO_SMALL = noted("Your number is {share} of the right one.")
_LARGE_PREFIX = noted("Your number is {times} times the right one: check the unit prefixes.")
_SMALL_PREFIX = noted("Your number is {share} of the right one: check the unit prefixes.")
_TIMES_TIME = noted("Your number is {times} times the right one: check seconds, minutes and hours.")
_SHARE_TIME = noted("Your number is {share} of the right one: check seconds, minutes and hours.")
_COMMON = (
    CommonMistake(
        "bits-as-bytes",
        8,
        _times(8, noted("Your number is {times} times the right one: were bits counted as bytes? A byte is 8 bits.")),
        _counts_data,
    ),
    CommonMistake(
        "bytes-as-bits",
        1 / 8,
        _share(8, noted("Your number is {share} of the right one: were bytes divided by 8 as if they were bits?")),
        _counts_data,
    ),
    CommonMistake(
        "both-directions",
        2,
        noted("Your number is twice the right one: does the question ask for one direction, or both?"),
        lambda scale: scale.unit is BYTE_PER_SECOND,
    ),
    CommonMistake(
        "one-direction",
        1 / 2,
        noted("Your number is half the right one: does the question ask for one direction, or both?"),
        lambda scale: scale.unit is BYTE_PER_SECOND,
    ),
    CommonMistake("twice", 2, noted("Your number is twice the right one: is something counted twice?"), _anything),
    CommonMistake("half", 1 / 2, noted("Your number is half the right one: is a factor of 2 missing?"), _anything),
    CommonMistake("times-8", 8, _times(8, _TOO_LARGE), _anything),
    CommonMistake("over-8", 1 / 8, _share(8, _TOO_SMALL), _anything),
    *(CommonMistake(f"time-times-{n}", n, _times(n, _TIMES_TIME), _is_time) for n in _TIMES),
    *(CommonMistake(f"time-over-{n}", 1 / n, _share(n, _SHARE_TIME), _is_time) for n in _TIMES),
    CommonMistake("sign", -1, noted("The magnitude is right, but the sign is wrong."), _anything),
    *(CommonMistake(f"prefix-times-{n:.0f}", n, _times(n, _LARGE_PREFIX), takes_prefix) for n in _THOUSANDS),
    *(CommonMistake(f"prefix-over-{n:.0f}", 1 / n, _share(n, _SMALL_PREFIX), takes_prefix) for n in _THOUSANDS),
    *(CommonMistake(f"times-{n:.0f}", n, _times(n, _TOO_LARGE), _anything) for n in _THOUSANDS),
    *(CommonMistake(f"over-{n:.0f}", 1 / n, _share(n, _TOO_SMALL), _anything) for n in _THOUSANDS),
    CommonMistake(
        "percent-as-fraction",
        100,
        _times(100, noted("Your number is {times} times the right one: was a percentage used as a fraction?")),
        _is_a_share,
    ),
    CommonMistake(
        "fraction-as-percent", 1 / 100, noted("You entered a fraction, but the answer is a percentage."), _is_a_share
    ),
    *(CommonMistake(f"point-{n}", n, _times(n, _POINT), _anything) for n in (10, 100)),
    *(CommonMistake(f"point-{1 / n:g}", 1 / n, _share(n, _SMALL_POINT), _anything) for n in (10, 100)),
)


_NEAR_MISSES_ROUNDED = 0.005  # how near, where a number was rounded to three figures
_NEAR_MISSES_APART = 0.1  # of the distance between n and n - 1
_EIGHT = 8
_REST_ROUNDED = 0.1  # of the right value, that may be lost where the rest is rounded
_ONE_OFF = 0.02  # how near 1 a difference must be
_MULTIPLIED = ("amount", "count", "factor", "share")  # what may be that many times as much, by mistake


@dataclass(frozen=True, slots=True)
class QuestionNumbers:
    """The *counts* in a question, from 3 on, those *measured*, such as the 50 of 50 GB/s, and what it gives."""

    counts: frozenset[int] = frozenset()
    given: tuple[Quantity, ...] = ()
    measured: frozenset[int] = frozenset()

    @property
    def has_eight(self) -> bool:
        """Whether a factor of 8 may come from the question, and not from bits."""
        return _EIGHT in self.counts


def told_by_the_question(reading: Reading, right: float, scale: Scale, numbers: QuestionNumbers, sort: str) -> str:
    """Feedback on a wrong *reading* of a quantity of that *sort*, which the *numbers* of the question explain."""
    value = reading.value
    if not value or not right:
        return ""
    if is_trivial(value, scale) or is_trivial(right, scale):
        return _given_back(value, scale, numbers)
    close = max(_CLOSER, min(reading.step / 2 / abs(value), _NEAR_MISSES_ROUNDED))
    return (
        (_another_relation(reading, right, scale, close, sort) if scale.unit is RATIO else "")
        or (_off_by_a_count(value / right, numbers, close) if sort in _MULTIPLIED else "")
        or _given_back(value, scale, numbers)
    )


def is_trivial(value: float, scale: Scale) -> bool:
    """Whether *value* is a plain 0 or 1, of which a relation to another number says nothing, or all."""
    return scale.unit is RATIO and scale.factor == 1 and value in (0, 1)


def _another_relation(reading: Reading, right: float, scale: Scale, close: float, sort: str) -> str:
    """Feedback on a plain number that is the inverse of the right one, its rest, or one off."""
    value = reading.value
    if _is_near(value * right, 1, close):
        return translate("Your number is the inverse of the right one: check what is divided by what.")
    rest = 1 - right
    # Beside a right value of next to nothing, what is near all of it is not the rest.
    slack = max(close, min(reading.step / 2 / abs(right), _REST_ROUNDED))
    if scale.factor < 1 and rest and _is_near(value, rest, close) and abs(value - rest) <= slack * abs(right):
        return translate(
            "Your number and the right one add up to 100 %: does the question ask for this part, or for the rest?"
        )
    is_one_off = abs(abs(value - right) - 1) <= _ONE_OFF
    if sort == "factor" and is_one_off and any(_is_near(value, right + one, close) for one in (-1, 1)):
        return translate(
            "Your number and the right one differ by exactly 1: “how many times as much” is not "
            "the same as “how much more”."
        )
    return ""


# By whether the number is too large, and whether its count belongs to a measured quantity, not to things.
_BY_A_COUNT = {
    (True, True): noted("Your number is {count} times the right one: is a factor of {count} used wrongly?"),
    (True, False): noted(
        "Your number is {count} times the right one: is a factor of {count} used where it "
        "should not be, or is it for all {count} instead of one?"
    ),
    (False, True): noted("Your number is 1/{count} of the right one: is a factor of {count} left out?"),
    (False, False): noted(
        "Your number is 1/{count} of the right one: is a factor of {count} left out, or is "
        "it for one of {count} instead of all?"
    ),
}


def _off_by_a_count(ratio: float, numbers: QuestionNumbers, close: float) -> str:
    """Feedback on *ratio* times the right number, where it comes from one of the *numbers*."""
    for n in sorted(numbers.counts):
        for is_larger, factor in ((True, ratio / n), (False, ratio * n)):
            if _is_near(factor, 1, close):
                return translate(_BY_A_COUNT[is_larger, n in numbers.measured], count=f"{n:,}")
    return _off_by_one_of(ratio, numbers.counts - numbers.measured)


def _off_by_one_of(ratio: float, counts: Iterable[int]) -> str:
    """Feedback where n was counted instead of n - 1, or the other way around."""
    for n in sorted(counts):
        for numerator, denominator in ((n, n - 1), (n - 1, n)):
            if _is_near(ratio * denominator / numerator, 1, min(_CLOSER, _NEAR_MISSES_APART / n)):
                return translate(
                    "Your number is {numerator}/{denominator} of the right one: do all {count} "
                    "count here, or one fewer?",
                    numerator=f"{numerator:,}",
                    denominator=f"{denominator:,}",
                    count=f"{n:,}",
                )
    return ""


def _given_back(value: float, scale: Scale, numbers: QuestionNumbers) -> str:
    """Feedback on a *value* that the question itself has."""
    known = [one.value for one in numbers.given if one.dimension == scale.unit.dimension]
    written = scale
    if scale.unit is RATIO:
        known += map(float, numbers.counts)
        written = scale if scale.factor < 1 else scale_of("")  # 32 sequences are not 32 tokens
    if not any(_is_near(value, one, _CLOSER / 2) for one in known if one):
        return ""
    return translate(
        "{value} is given in the question. What it asks for has to be worked out from that.",
        value=show_in(value, written, _READ_AS),
    )


def _is_near(value: float, other: float, close: float) -> bool:
    return abs(value / other - 1) <= close
