"""Common mistakes with units and factors, recognized even where no author listed them.

A cause is only named where the quantity can have it: bytes and bandwidths have bits, GB has GiB
and MB has MiB, a share has percent. For any other quantity the feedback names the factor alone.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.units import BYTE, BYTE_PER_SECOND, RATIO, SECOND, Scale, scale_of
from app.units.scales import DECIMAL, SCALES, takes_prefix

_CLOSE = 0.005  # how near a factor must be met: three figures
_CLOSER = 0.002  # the same for 1.024, since many wrong numbers are close to it
_FAMILIES = {
    BYTE: "B kB MB GB TB PB bit Mbit Gbit Tbit",
    BYTE_PER_SECOND: "B/s kB/s MB/s GB/s TB/s bit/s Mbit/s Gbit/s Tbit/s",
    SECOND: "ns µs ms s min h days years",
}
_WORDS = {"B": "bytes", "bit": "bits"}
_PREFIXED = re.compile(r"([kKMGTP])(i?)(\D+)")


@dataclass(frozen=True, slots=True)
class CommonMistake:
    """A wrong answer that is *factor* times the right one, where the unit *can* have it."""

    factor: float
    says: str
    can: Callable[[Scale], bool]


def common_mistake(ratio: float, scale: Scale, tolerance: float) -> str:
    """Feedback on an answer that is *ratio* times the right one; empty if that is not common.

    *scale* is the unit that was typed, else the one that the page shows; *tolerance* is that of
    the exercise, and a mistake is only named when the figures match closely.
    """
    closer, close = min(tolerance, _CLOSER), min(tolerance, _CLOSE)
    for factor, says in _binary(scale):
        if abs(ratio / factor - 1) <= closer:
            return says
    for known in _COMMON:
        if abs(ratio / known.factor - 1) <= close and known.can(scale):
            return known.says
    return ""


def in_another_unit(value: float, right: float, slack: float, shown: Scale) -> str:
    """Feedback on a bare number, read as *value*, that is right in a unit other than *shown*."""
    number = value / shown.factor
    for other in map(scale_of, _family(shown)):
        if other.factor != shown.factor and abs(number * other.factor - right) <= slack:
            return _right_in(other, shown)
    return ""


def _right_in(other: Scale, shown: Scale) -> str:
    named = _WORDS.get(other.symbol, other.symbol)
    return f"Right in {named}, but a number without a unit is in {shown.symbol} here."


def common_wordings() -> Iterator[str]:
    """Everything that can be said of a common mistake."""
    yield from (known.says for known in _COMMON)
    for scale in SCALES.values():
        yield from (says for _, says in _binary(scale))
        yield from (_right_in(scale_of(symbol), scale) for symbol in _family(scale))


def _family(shown: Scale) -> list[str]:
    """The units that a learner may have meant by a bare number."""
    if shown.unit in _FAMILIES:
        return _FAMILIES[shown.unit].split()
    return [symbol for prefix in DECIMAL if (symbol := prefix + shown.unit.symbol) in SCALES]


def _binary(scale: Scale) -> Iterator[tuple[float, str]]:
    """The mistakes between *scale* and its twin, such as GB and GiB."""
    twin = _twin(scale)
    if twin is None:
        return
    larger = max(scale.factor, twin.factor) / min(scale.factor, twin.factor)
    yield (
        scale.factor / twin.factor,
        f"The figure is right in {twin.symbol}: it was computed in {twin.symbol} and labeled "
        f"{scale.symbol}. They differ by a factor of {larger:.4g}.",
    )
    yield (
        twin.factor / scale.factor,
        f"Your number is off by a factor of {larger:.4g}: {scale.symbol} and {twin.symbol} were "
        "mixed up. The prefix of GB is a power of 1000, that of GiB a power of 1024.",
    )


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


def _anything(scale: Scale) -> bool:
    return True


_TOO_LARGE = "Your number is {} times the right one"
_TOO_SMALL = "Your number is 1/{} of the right one"
_THOUSANDS = [(10.0**n, _TOO_LARGE.format(f"{10**n:,}")) for n in (3, 6, 9)]
_THOUSANDS += [(10.0**-n, _TOO_SMALL.format(f"{10**n:,}")) for n in (3, 6, 9)]
_COMMON = (
    CommonMistake(
        8, _TOO_LARGE.format(8) + ": were bits counted as bytes? A byte is 8 bits.", _counts_data
    ),
    CommonMistake(
        1 / 8,
        _TOO_SMALL.format(8) + ": were bytes divided by 8 as if they were bits?",
        _counts_data,
    ),
    CommonMistake(
        2,
        "Your number is twice the right one: does the question ask for one direction, or both?",
        lambda scale: scale.unit is BYTE_PER_SECOND,
    ),
    CommonMistake(
        1 / 2,
        "Your number is half the right one: does the question ask for one direction, or both?",
        lambda scale: scale.unit is BYTE_PER_SECOND,
    ),
    CommonMistake(2, "Your number is twice the right one: is something counted twice?", _anything),
    CommonMistake(1 / 2, "Your number is half the right one: is a factor of 2 missing?", _anything),
    CommonMistake(8, _TOO_LARGE.format(8) + ".", _anything),
    CommonMistake(1 / 8, _TOO_SMALL.format(8) + ".", _anything),
    CommonMistake(-1, "The magnitude is right, but the sign is wrong.", _anything),
    *(
        CommonMistake(factor, says + ": check the unit prefixes.", takes_prefix)
        for factor, says in _THOUSANDS
    ),
    *(CommonMistake(factor, says + ".", _anything) for factor, says in _THOUSANDS),
    CommonMistake(
        100, _TOO_LARGE.format(100) + ": was a percentage used as a fraction?", _is_a_share
    ),
    CommonMistake(1 / 100, "You entered a fraction, but the answer is a percentage.", _is_a_share),
    *(
        CommonMistake(
            10.0**n,
            f"Your number is {10.0**n:g} times the right one: check the decimal point.",
            _anything,
        )
        for n in (1, -1, 2, -2)
    ),
)
