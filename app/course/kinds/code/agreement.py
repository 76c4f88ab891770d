"""When two results agree, where two programs differ, and at which calls a comparison of one turns.

A program that compares with `<` for `<=`, or one written in another way that treats an event at the
very moment of another differently, is only told apart by a call at such a boundary. The sandbox
runs the text of this file, too: it needs the standard library alone.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
AnyFunction = Callable[..., object]
Row = Sequence[object]
Path = tuple[int, ...]
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
    return [_combination(columns, place) for place in places]


def _combination(columns: Sequence[Sequence[T]], place: int) -> tuple[T, ...]:
    values = []
    for column in reversed(columns):
        place, index = divmod(place, len(column))
        values.append(column[index])
    return tuple(reversed(values))


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


_OCCURRENCES = 4  # of a comparison in one call that are looked at
_LEAVES = 40  # numbers of a row that are changed
_ENOUGH = 6  # rows for a comparison, of which `where` may refuse some
_FIGURES = 6  # of a float
_SAME = 1e-12
_NONE = -1  # no comparison answers for its neighbor


class BoundarySearch:
    """Calls of the function *entry* of a watched *source* at which a comparison turns."""

    def __init__(self, source: str, entry: str, count: int) -> None:
        self._count = count  # of comparisons
        self._gaps: dict[int, list[float]] = {}
        self._turned = _NONE
        names: dict[str, object] = {"_compared": self._compared, "_divided": self._divided}
        exec(source, names)
        self._function = names[entry]

    def _compared(self, place: int, sign: str, left: object, right: object) -> bool:
        is_less, is_equal = bool(left < right), bool(left == right)  # type: ignore[operator]
        if isinstance(left, int | float) and isinstance(right, int | float):
            self._gaps.setdefault(place, []).append(left - right)
        with_equal = sign.endswith("=") != (place == self._turned)
        if is_equal:
            return with_equal
        return is_less == sign.startswith("<")

    def _divided(self, place: int, left: float, right: float) -> float:
        rest = left % right
        self._gaps.setdefault(place, []).append(rest if rest <= right / 2 else rest - right)
        return left // right - (place == self._turned and rest == 0)

    def _run(self, row: Row, turned: int = _NONE) -> tuple[object, dict[int, list[float]]]:
        """What the function returns, and how far each comparison is from turning."""
        self._gaps, self._turned = {}, turned
        value = self._function(*copy.deepcopy(list(row)))  # type: ignore[operator]
        return value, self._gaps

    def told(self, row: Row, place: int, alike: Alike) -> bool:
        """Whether *row* has another result if the comparison *place* is its neighbor."""
        try:
            right, gaps = self._run(row)
            if not any(abs(gap) <= _SAME for gap in gaps.get(place, ())):
                return False
            return not alike(self._run(row, place)[0], right)
        except Exception:  # noqa: BLE001 - nothing to call where an author's fails
            return False

    def untold(self, rows: Sequence[Row], alike: Alike) -> list[int]:
        """The comparisons that none of *rows* tells from their neighbors."""
        return [p for p in range(self._count) if not any(self.told(row, p, alike) for row in rows)]

    def rows(self, given: Sequence[Row], alike: Alike) -> list[tuple[int, list[list[object]]]]:
        """For each comparison that *given* does not tell from its neighbor, rows that do."""
        found: dict[int, list[list[object]]] = {p: [] for p in self.untold(given, alike)}
        for row in given:
            for place, new in self._near(row, [p for p, rows in found.items() if len(rows) < _ENOUGH]):
                if new not in found[place] and self.told(new, place, alike):
                    found[place].append(new)
        return [(place, rows) for place, rows in found.items() if rows]

    def _near(self, row: Row, places: Sequence[int]) -> Iterator[tuple[int, list[object]]]:
        """Rows with one number of *row* changed so that a comparison may turn."""
        for path in list(_leaves(row))[:_LEAVES]:
            number = _at(row, path)
            step = 1 if isinstance(number, int) else number / 16 or 1.0
            try:
                before = self._run(row)[1]
                after = self._run(_put(row, path, number + step))[1]
            except Exception:  # noqa: BLE001 - nothing to call where an author's fails
                continue
            for place in places:
                for root in _roots(number, step, before.get(place, ()), after.get(place, ())):
                    new = _put(row, path, root)
                    if _is_like(row, new, path):
                        yield place, new


def _roots(number: float, step: float, before: Sequence[float], after: Sequence[float]) -> Iterator[float]:
    """Values near *number* at which a gap that is *before* there, and *after* beyond, may be 0."""
    for old, new in list(zip(before, after, strict=False))[:_OCCURRENCES]:
        slopes = {(new - old) / step, 1.0, -1.0} - {0.0}
        for slope in sorted(slopes):
            root = number - old / slope
            if not math.isfinite(root) or root == number:
                continue
            if isinstance(number, int):
                yield from {math.floor(root), math.ceil(root)}
            elif float(f"{root:.{_FIGURES}g}") == root:  # no one types a boundary with more
                yield root


def _leaves(value: object, path: Path = ()) -> Iterator[Path]:
    """The place of each number in *value*."""
    if isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _leaves(part, (*path, index))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def _at(row: Any, path: Path) -> Any:
    """What stands at *path* in *row*: a number, or a list around it."""
    for index in path:
        row = row[index]
    return row


def _put(row: Row, path: Path, number: float) -> list[object]:
    new = copy.deepcopy(list(row))
    inner: list[object] = new
    for index in path[:-1]:
        inner = inner[index]  # type: ignore[assignment]
    inner[path[-1]] = number
    return new


def _is_like(row: Row, new: Row, path: Path) -> bool:
    """Whether the changed number has the sign that it had, and its list the order."""
    before, after = _at(row, path), _at(new, path)
    if (before > 0) != (after > 0) or (before < 0) != (after < 0):
        return False
    for depth in range(1, len(path)):
        old, now = _at(row, path[:depth]), _at(new, path[:depth])
        if _is_ascending(old) and not _is_ascending(now):
            return False
    return True


def _is_ascending(values: Sequence[object]) -> bool:
    numbers = [value for value in values if isinstance(value, int | float)]
    return numbers == sorted(numbers)
