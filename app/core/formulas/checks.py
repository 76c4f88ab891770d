"""Checks of arguments: each returns the value or raises an error that says what is wrong."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal, Protocol, TypeVar

from app.core.translation import noted, say, short_value, value_error
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def too_large(name: str, value: object, most: object) -> ValueError:
    """*name* must be at most *most*."""
    return value_error("{name} must be at most {most}, not {value}", name=name, most=most, value=value)


def larger_than(name: str, value: object, what: str, most: object) -> ValueError:
    """*name* must be at most *what*, such as "the experts", of which there are *most*."""
    return value_error(
        "{name} must be at most {what}, {most}, not {value}", name=name, what=what, most=most, value=value
    )


def not_below(name: str, value: object, what: str, limit: object) -> ValueError:
    """*name* must be below *what*, which is *limit*."""
    return value_error(
        "{name} must be below {what}, {limit}, not {value}", name=name, what=what, limit=limit, value=value
    )


def nearest_of(values: Sequence[object]) -> str:
    """That the nearest are *values*, of which there are one or two."""
    if len(values) == 1:
        return say("the nearest is {number}", number=values[0])
    return say("the nearest are {below} and {above}", below=values[0], above=values[1])


def not_even(name: str, value: object) -> ValueError:
    """*name* must be even."""
    return value_error("{name} must be even, not {value}", name=name, value=value)


class NamedRecord(Protocol):
    """A record, some of which have a published name."""

    what: ClassVar[str]

    @classmethod
    def known(cls) -> Mapping[str, object]:
        """Those, by name."""


R = TypeVar("R", bound=NamedRecord)
ZeroStage = Literal[0, 1, 2, 3]
Recompute = Literal["none", "selective", "full"]
AttentionKernels = Literal["fused", "unfused"]

# Far outside anything physical, but no product of a formula's arguments overflows.
LARGEST = 1e30
SMALLEST = 1e-30


def at_least(name: str, value: float, least: float) -> float:
    """*value*, which must be a number from *least* to the largest allowed number."""
    if not (_is_number(value) and value >= least):
        form = noted("{name} must be a number of at least {least}, not {value}")
        raise value_error(form, name=name, least=f"{least:g}", value=short_value(value))
    if value > LARGEST:
        raise too_large(name, short_value(value), f"{LARGEST:g}")
    return value


def signed(name: str, value: float) -> float:
    """*value*, which must be a number of either sign within the allowed range."""
    return at_least(name, value, -LARGEST)


def positive(name: str, value: float) -> float:
    """*value*, which must be a number above zero within the allowed range."""
    if not (_is_number(value) and value > 0):
        raise value_error("{name} must be a number above 0, not {value}", name=name, value=short_value(value))
    if not SMALLEST <= value <= LARGEST:
        form = noted("{name} must be from {least} to {most}, not {value}")
        raise value_error(form, name=name, least=f"{SMALLEST:g}", most=f"{LARGEST:g}", value=short_value(value))
    return value


def whole(name: str, value: float, least: int = 1) -> Count:
    """*value* as an int; it must be a whole number of at least *least*."""
    if not (_is_number(value) and value == int(value)):
        raise value_error("{name} must be a whole number, not {value}", name=name, value=short_value(value))
    if value < least:
        raise value_error(
            "{name} must be at least {least}, not {value}", name=name, least=least, value=short_value(value)
        )
    if value > LARGEST:
        raise too_large(name, short_value(value), f"{LARGEST:g}")
    return int(value)


def one_of(name: str, value: object, allowed: Collection[object]) -> None:
    """Refuse *value* if it is not one of *allowed*; True does not count as 1."""
    if not any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in allowed):
        form = noted("{name} must be one of {allowed}, not {value}")
        raise value_error(form, name=name, allowed=", ".join(map(str, allowed)), value=short_value(value))


def several(name: str, values: object, least: int = 1) -> Sequence[float]:
    """*values*, which must be a list of at least *least* items; the caller checks the items."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise value_error("{name} must be a list, not {value}", name=name, value=short_value(values))
    if len(values) < least:
        raise value_error(
            "{name} must be a list of at least {least}, not {value}", name=name, least=least, value=short_value(values)
        )
    return values


def recorded(name: str, value: R, kind: type[R]) -> R:
    """*value*, which must be a record of type *kind*."""
    if not isinstance(value, kind):
        example = next(iter(kind.known()), "")
        such = say(" such as {example!r}", example=example) if example else ""
        raise value_error(
            "{name} must be a {what}{such}, not {value}", name=name, what=kind.what, such=such, value=short_value(value)
        )
    return value


def divides(name: str, value: int, what: str, total: int) -> None:
    """Refuse *value* if it does not divide *total*, the number of *what*."""
    if total % value:
        form = noted("{name} must divide the {what}, {whole}, not {value}")
        raise value_error(form, name=name, what=what, whole=total, value=short_value(value))


def chosen_experts(top_k: Count, experts: Count) -> Count:
    """*top_k* as an int; a token cannot be sent to more experts than there are."""
    if whole("top_k", top_k) > experts:
        raise larger_than("top_k", top_k, noted("the experts"), experts)
    return int(top_k)


def fraction(name: str, value: float) -> float:
    """*value*, which must be a number above zero and at most one."""
    if positive(name, value) > 1:
        raise too_large(name, short_value(value), 1)
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def rounds_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that a rank sends in *ranks* - 1 rounds of one piece, a piece being size / ranks."""
    rounds = whole("ranks", ranks) - 1
    return rounds * (positive("size", size) / ranks)


def rounds_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds) -> Seconds:
    """Time of *ranks* - 1 rounds, one after the other, in which every rank sends one piece."""
    rounds = whole("ranks", ranks) - 1
    piece = positive("size", size) / ranks
    return rounds * (at_least("latency", latency, 0) + piece / positive("bandwidth", bandwidth))
