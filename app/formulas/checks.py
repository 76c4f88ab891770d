"""Checks of arguments: each returns the value or raises an error that says what is wrong."""

import math
from collections.abc import Collection, Sequence
from reprlib import repr as short
from typing import Any, Literal, TypeVar

from app.formulas.records import Record
from app.units import Count

R = TypeVar("R", bound=Record)
ZeroStage = Literal[0, 1, 2, 3]
Recompute = Literal["none", "selective", "full"]

# Far outside anything physical, but no product of a formula's arguments overflows.
LARGEST = 1e30
SMALLEST = 1e-30


def at_least(name: str, value: float, least: float) -> float:
    """*value*, which must be a number from *least* to the largest allowed number."""
    if not (_is_number(value) and value >= least):
        raise ValueError(f"{name} must be a number of at least {least:g}, not {short(value)}")
    if value > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}, not {short(value)}")
    return value


def signed(name: str, value: float) -> float:
    """*value*, which must be a number of either sign within the allowed range."""
    return at_least(name, value, -LARGEST)


def positive(name: str, value: float) -> float:
    """*value*, which must be a number above zero within the allowed range."""
    if not (_is_number(value) and value > 0):
        raise ValueError(f"{name} must be a number above 0, not {short(value)}")
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{name} must be from {SMALLEST:g} to {LARGEST:g}, not {short(value)}")
    return value


def whole(name: str, value: float, least: int = 1) -> Count:
    """*value* as an int; it must be a whole number of at least *least*."""
    if not (_is_number(value) and value == int(value)):
        raise ValueError(f"{name} must be a whole number, not {short(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {short(value)}")
    if value > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}, not {short(value)}")
    return int(value)


def one_of(name: str, value: object, allowed: Collection[object]) -> None:
    """Refuse *value* if it is not one of *allowed*; True does not count as 1."""
    if not any(
        value == choice and isinstance(value, bool) == isinstance(choice, bool)
        for choice in allowed
    ):
        raise ValueError(
            f"{name} must be one of {', '.join(map(str, allowed))}, not {short(value)}"
        )


def several(name: str, values: object, least: int = 1) -> Sequence[Any]:
    """*values*, which must be a list of at least *least* items; the caller checks the items."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise ValueError(f"{name} must be a list, not {short(values)}")
    if len(values) < least:
        raise ValueError(f"{name} must be a list of at least {least}, not {short(values)}")
    return values


def recorded(name: str, value: R, kind: type[R]) -> R:
    """*value*, which must be a record of type *kind*."""
    if not isinstance(value, kind):
        such = f" such as {next(iter(kind.known()))!r}" if kind.known() else ""
        raise ValueError(f"{name} must be a {kind.what}{such}, not {short(value)}")
    return value


def divides(name: str, value: int, what: str, total: int) -> None:
    """Refuse *value* if it does not divide *total*, the number of *what*."""
    if total % value:
        raise ValueError(f"{name} must divide the {what}, {total}, not {short(value)}")


def chosen_experts(top_k: Count, experts: Count) -> Count:
    """*top_k* as an int; a token cannot be sent to more experts than there are."""
    if whole("top_k", top_k) > experts:
        raise ValueError(f"top_k must be at most the experts, {experts}, not {top_k!r}")
    return int(top_k)


def fraction(name: str, value: float) -> float:
    """*value*, which must be a number above zero and at most one."""
    if positive(name, value) > 1:
        raise ValueError(f"{name} must be at most 1, not {short(value)}")
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
