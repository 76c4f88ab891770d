"""When two results agree, and where two programs differ.

The sandbox runs the text of this file, too: it needs the standard library alone.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
AnyFunction = Callable[..., object]
Row = Sequence[object]
Alike = Callable[[object, object], bool]
CLOSE = 1e-6
_NOTHING = 1e-12
_FAILED = object()


def alike(value: object, expected: object) -> bool:
    """Whether *value* counts as equal to *expected*.

    Lists and tuples are compared part by part, and either may stand for the other. An int may be a
    float that equals it; a float must come close. True is not 1.
    """
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(alike(part, other) for part, other in zip(value, expected, strict=True))
        )
    if type(expected) is float:
        return type(value) in (int, float) and close(as_float(value), expected)
    if type(expected) is int:
        return type(value) in (int, float) and value == expected
    return type(value) is type(expected) and value == expected


def close(value: float, expected: float) -> bool:
    """Whether *value* and *expected* differ by no more than rounding."""
    return math.isclose(value, expected, rel_tol=CLOSE, abs_tol=_NOTHING)


def as_float(value: object) -> float:
    """*value* as a float; nan when it is not a number, or too large for one."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def program(source: str, entry: str) -> AnyFunction:
    """The function *entry* of *source*."""
    names: dict[str, object] = {"__name__": "solution"}
    exec(source, names)
    function = names[entry]
    if not callable(function):
        raise TypeError(f"{entry} cannot be called")
    return function


def combinations(columns: Sequence[Sequence[T]], places: Iterable[int]) -> list[tuple[T, ...]]:
    """A value of each column, by the *places* of such rows among all that there are."""
    found = []
    for place in places:
        row: list[T] = []
        for column in reversed(columns):
            place, index = divmod(place, len(column))
            row.append(column[index])
        found.append(tuple(reversed(row)))
    return found


def results(function: AnyFunction, calls: Iterable[Row]) -> Iterator[object]:
    """What *function* returns for each of *calls*."""
    for row in calls:
        try:
            yield function(
                *(copy.deepcopy(one) if isinstance(one, list) else one for one in row)
            )  # it may change lists
        except Exception:  # noqa: BLE001 - whatever an author's program raises is a difference
            yield _FAILED


def failing(found: Iterable[object]) -> int:
    """The place of the first call that failed; -1 if none did."""
    return next((place for place, value in enumerate(found) if value is _FAILED), -1)


def first(found: Iterable[object], expected: Iterable[object], alike: Alike) -> list[int]:
    """The place of the first result that is not as *expected* (-1: none), and whether any came."""
    first, ran = -1, False
    for place, (value, right) in enumerate(zip(found, expected, strict=False)):
        ran = ran or value is not _FAILED
        if first < 0 and _differ(value, right, alike):
            first = place
        if first >= 0 and ran:
            break
    return [first, int(ran)]


def differing(found: Iterable[object], expected: Iterable[object], alike: Alike) -> int:
    """A number whose n-th bit says whether the n-th result is not as *expected*."""
    pairs = zip(found, expected, strict=False)
    return sum(_differ(value, right, alike) << place for place, (value, right) in enumerate(pairs))


def _differ(value: object, right: object, alike: Alike) -> bool:
    return value is _FAILED or right is _FAILED or not alike(value, right)
