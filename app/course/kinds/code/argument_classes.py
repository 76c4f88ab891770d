"""Classes of arguments that every function is called with, whatever its reference looks like.

A closed form has no boundary, so none of its small changes fails at 1, at 3 or at a tie, where other
programs do. `takes` says of each argument what it is; the calls follow from that.
"""

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice, product

from app.course.kinds.code.calls import Argument, Rows, Scalar, plain_argument
from app.course.sandbox.process import Plain

_GRAMMAR = re.compile(r"(?:(?P<many>list|rows)(?: of (?P<item>\w+))?|(?P<one>\w+))(?: as long as (?P<like>\w+))?")
_KINDS = ("degree", "count", "positive", "amount", "real", "probability", "choice")
_WHOLE = ("degree", "count")
_MEASURED = ("positive", "amount", "real")
_NO_NUMBERS = ("choice",)
_SHAPED = ("choice", "real", "amount", "positive", "probability", "degree", "count")
# What is not whole is exact in binary, so that sums of it tie where they should.
_NUMBERS: dict[str, tuple[float, ...]] = {
    "degree": (1, 2, 3, 6, 7, 16, 700),
    "count": (0, 1, 2, 3, 6, 7, 16, 700),
    "positive": (0.0005, 0.375, 1, 2.75, 40, 5000),
    "amount": (0, 0.0005, 0.375, 1, 2.75, 40, 5000),
    "real": (-2.5, 0, 0.375, 1, 40),
    "probability": (0, 0.25, 0.5, 0.875, 0.999, 1),
}
_TRIPLE = 3  # like arguments whose order is looked at
_FEW = ((3, 1, 2), (1, 3, 2, 3, 1), (2, 1))
_POOL = 120  # rows among which calls are chosen
_TRIES = 12  # for each of them
_LONG, _LONGER = 4, 12  # a list that is longer is long
_LARGE, _LARGER = 6, 500  # a whole number that is larger is large
_CLOSE = 0.01  # of the largest in a list, in which all lie
_EXPECTED_OF_WHOLE = ("is 1", "is 2", "is 3", "is 6", "is a larger power of two", "is another large number")
_EXPECTED: dict[str, tuple[str, ...]] = {
    "degree": (*_EXPECTED_OF_WHOLE, f"is above {_LARGER}"),
    "count": ("is 0", *_EXPECTED_OF_WHOLE, f"is above {_LARGER}"),
    "probability": ("is 0", "is below a half", "is a half", "is above a half", "is nearly 1", "is 1"),
    "amount": ("is 0",),
    "real": ("is 0", "is negative"),
}
_LEAST, _MOST = 1e-3, 1e3  # of a number that is drawn around 1
MOST_CALLS = 24  # that are chosen, beside those of the file


class ArgumentKindError(ValueError):
    """What an argument takes cannot be read."""


@dataclass(frozen=True)
class ArgumentKind:
    """What one argument is: a number, or a list or rows of them, and values that the file gives."""

    name: str
    kind: str  # of the number, or of each in a list; empty where only the file knows
    many: str  # list, rows, or empty
    like: str  # the argument whose length a list has
    given: tuple[Argument, ...]

    @cached_property
    def column(self) -> list[Argument]:
        """The values of the file, and one or more of each class."""
        return [*self.given, *(one for one in self._own() if one not in self.given)]

    def _own(self) -> Iterator[Argument]:
        if self.kind in _NO_NUMBERS or self.many == "rows" or not self.kind:
            if self.many == "list" and self.kind:
                held: list[Scalar | Rows] = []
                for value in self.given:
                    held += [one for one in (value if isinstance(value, list) else []) if one not in held]
                yield from _shapes(held)
            return
        if self.many:
            own = [one for one in _NUMBERS[self.kind] if self.kind not in _MEASURED or one == 0 or _is_moderate(one)]
            yield from _shapes([_whole(one, self.kind) for one in own])
            if self.kind in _MEASURED:
                # tiny numbers, and numbers that differ by little; exact in binary
                for (scale, shift), shape in product(((2**-20, 0), (1, 1024)), _FEW):
                    yield [scale * one + shift for one in shape]
            return
        unit = _unit(self.given) if self.kind not in (*_WHOLE, "probability") else 1.0
        yield from (_whole(one * unit, self.kind) for one in _NUMBERS[self.kind])

    def classes(self, value: Argument) -> Iterator[str]:
        """The classes that *value* belongs to, as verdicts on this argument."""
        plain = plain_argument(value)
        if self.many and isinstance(plain, list):
            yield from _list_classes(plain, self.many)
            if self.kind in _MEASURED:
                yield from _size_classes(plain)
        elif self.kind in _WHOLE and isinstance(plain, int):
            yield from _whole_classes(plain)
        elif self.kind in _MEASURED and isinstance(plain, int | float):
            yield from _real_classes(plain, _unit(self.given))
        elif self.kind == "probability" and isinstance(plain, int | float):
            yield _share_class(plain)
        elif self.kind in _NO_NUMBERS:
            yield f"is {value}"

    def expected(self) -> Iterator[str]:
        """The classes of which a call is demanded."""
        if self.many:
            yield from self._expected_of_a_list()
            return
        yield from _EXPECTED.get(self.kind, ())
        if self.kind in _MEASURED and _unit(self.given) == 1:
            yield from ("is not whole", "is below 1", "is above 1", "is tiny", "is huge")

    def _expected_of_a_list(self) -> Iterator[str]:
        yield from ("has one", "has two", f"has more than {_LONG}", f"has more than {_LONGER}")
        if self.many == "rows":
            yield from ("is wide", "is tall")
        elif self.kind:
            yield "is all equal"
            if self.kind in _SHAPED[1:]:
                yield from ("has a tie before its largest", "has a tie after its largest")
            if self.kind in _MEASURED:
                yield from ("is tiny", "lies close together")


@dataclass(frozen=True)
class ArgumentClasses:
    """The classes of all arguments of a function, and what calls meet of them."""

    arguments: tuple[ArgumentKind, ...]
    makes_sense: Callable[[Sequence[Argument]], bool]

    def fits(self, row: Sequence[Argument]) -> bool:
        """Whether lists in *row* are as long as they must be, and it makes sense."""
        values = {one.name: value for one, value in zip(self.arguments, row, strict=True)}
        return all(_length(values[one.name]) == _length(values[one.like]) for one in self.arguments if one.like)

    def classes_of(self, row: Sequence[Argument]) -> set[str]:
        """The classes that a call with *row* belongs to, and relations of like arguments."""
        pairs = zip(self.arguments, row, strict=True)
        found = {f"{one.name} {label}" for one, value in pairs for label in one.classes(value)}
        for (one, a), (other, b) in combinations(zip(self.arguments, row, strict=True), 2):
            if _are_alike(one, other) and isinstance(a, int | float) and isinstance(b, int | float):
                found |= {f"{one.name} {label} {other.name}" for label in _relations(a, b, one.kind)}
        return found

    def demanded(self) -> list[str]:
        """Every class and relation of which a call is demanded."""
        found = [f"{one.name} {label}" for one in self.arguments for label in one.expected()]
        for one, other in combinations(self.arguments, 2):
            if _are_alike(one, other):
                found += [f"{one.name} {label} {other.name}" for label in ("is equal to", "is below", "is above")]
        return found

    def choose_calls(self, rows: Sequence[Sequence[Argument]]) -> list[list[Argument]]:
        """Further calls beside *rows*: each class, then pairs of classes of two arguments."""
        met = {label for row in rows for label in self._features(row)}
        wanted = set(self.demanded())
        pool = [(row, self._features(row)) for row in self.pool()]
        found: list[list[Argument]] = []
        while pool and len(found) < MOST_CALLS:
            worth = [len(features - met) + _POOL * len((features & wanted) - met) for _, features in pool]
            best = max(range(len(pool)), key=worth.__getitem__)
            if not worth[best]:
                break
            row, features = pool.pop(best)
            found.append(row)
            met |= features
        return [*found, *self._neighbors([*rows, *found])]

    def _neighbors(self, rows: Sequence[Sequence[Argument]]) -> Iterator[list[Argument]]:
        """For each argument a row that is one of *rows* but for it: a stored result of another call is wrong."""
        for place, one in enumerate(self.arguments if len(self.arguments) > 1 else ()):
            changed = ([*row[:place], value, *row[place + 1 :]] for row in rows for value in reversed(one.column))
            new = (row for row in changed if row not in rows and self._is_sensible(row))
            yield from islice(new, 1)

    def pool(self) -> list[list[Argument]]:
        """Rows that make sense, with every class that makes sense somewhere."""
        source = random.Random("classes of arguments")
        columns = [one.column for one in self.arguments]
        every = product(*columns) if math.prod(map(len, columns)) <= _POOL else ()
        found = {repr([*row]): [*row] for row in every if self._is_sensible(row)}
        for place, column in enumerate(columns if not found else ()):
            for value in column:
                for _ in range(_TRIES):
                    row = self._drawn(columns, source, place, value)
                    if self._is_sensible(row):
                        found.setdefault(repr(row), row)
                        break
        for _ in range(_TRIES * _POOL if len(found) < _POOL and math.prod(map(len, columns)) > _POOL else 0):
            row = self._drawn(columns, source, -1, 0)
            if self._is_sensible(row):
                found.setdefault(repr(row), row)
            if len(found) >= _POOL:
                break
        return list(found.values())

    def _drawn(
        self, columns: Sequence[Sequence[Argument]], source: random.Random, place: int, value: Argument
    ) -> list[Argument]:
        row = [source.choice(column) for column in columns]
        if place >= 0:
            row[place] = value
        for index, one in enumerate(self.arguments):
            if one.like:
                length = _length(row[[other.name for other in self.arguments].index(one.like)])
                fitting = [one for one in columns[index] if _length(one) == length]
                row[index] = row[index] if row[index] in fitting or not fitting else source.choice(fitting)
        return row

    def _is_sensible(self, row: Sequence[Argument]) -> bool:
        return self.fits(row) and self.makes_sense(row)

    def _features(self, row: Sequence[Argument]) -> set[str]:
        found = self.classes_of(row)
        per = [[f"{one.name} {label}" for label in one.classes(v)] for one, v in zip(self.arguments, row, strict=True)]
        found |= {f"{a}, {b}" for some, others in combinations(per, 2) for a, b in product(some, others)}
        alike = [value for one, value in zip(self.arguments, row, strict=True) if _are_alike(one, self.arguments[0])]
        return found | {f"ordered {sorted(range(_TRIPLE), key=alike.__getitem__)}"} if len(alike) == _TRIPLE else found


def _are_alike(one: ArgumentKind, other: ArgumentKind) -> bool:
    return one.kind == other.kind and not one.many and not other.many and one.kind not in ("choice", "")


def _relations(a: float, b: float, kind: str) -> Iterator[str]:
    yield "is equal to" if a == b else "is below" if a < b else "is above"
    if kind in _WHOLE and a > b > 1:
        yield "is not divisible by" if a % b else "is divisible by"


def _whole(number: float, kind: str) -> Scalar:
    if kind in _WHOLE or number == int(number):
        return int(number)
    return float(f"{number:.6g}")


def _unit(values: Sequence[Argument]) -> float:
    """What a number is drawn around: 1, or the first of *values* where all are far from it."""
    numbers = [one for value in values if isinstance(one := plain_argument(value), int | float) and one]
    is_near = any(map(_is_moderate, numbers))
    return 1.0 if is_near or not numbers else float(numbers[0])


def _shapes(numbers: Sequence[Scalar | Rows]) -> Iterator[list[Scalar | Rows]]:
    """Lists of *numbers* in ascending order: short, long, level, with ties on either side."""
    low, middle, high = numbers[0], numbers[len(numbers) // 2], numbers[-1]
    yield from ([high], [low, high], [low, low, low])
    yield [low, low, high, middle]
    yield [middle, high, low, low]
    yield [high, low, high]
    yield [middle, low, low, high, middle, low, middle]
    yield [*numbers[::-1], *numbers[:2]][:6]
    yield [*[*numbers[::-1], *numbers] * 5, middle][-16:]


def _list_classes(values: Sequence[Plain], many: str) -> Iterator[str]:
    count = len(values)
    yield {1: "has one", 2: "has two"}.get(count, f"has more than {_LONG}" if count > _LONG else "has a few")
    yield from [f"has more than {_LONGER}"] if count > _LONGER else []
    if many == "rows":
        widths = [len(row) for row in values if isinstance(row, list)]
        if widths and max(widths) > count:
            yield "is wide"
        if widths and min(widths) < count:
            yield "is tall"
        return
    if count > 1 and all(one == values[0] for one in values):
        yield "is all equal"
    numbers = [one for one in values if isinstance(one, int | float)]
    if count and len(numbers) == count:
        top = numbers.index(max(numbers))
        before, after = numbers[:top], numbers[top + 1 :]
        if len(set(before)) < len(before):
            yield "has a tie before its largest"
        if len(set(after)) < len(after) or max(numbers) in after:
            yield "has a tie after its largest"


def _whole_classes(number: int) -> Iterator[str]:
    if number in (0, 1, 2, 3, _LARGE):
        yield f"is {number}"
    elif number & (number - 1) == 0:
        yield "is a larger power of two"
    else:
        yield "is another large number" if number > _LARGE else "is a few"
    if number > _LARGER:
        yield f"is above {_LARGER}"


def _real_classes(number: float, unit: float) -> Iterator[str]:
    if number <= 0:
        yield "is 0" if number == 0 else "is negative"
        return
    yield "is below 1" if number < unit else "is above 1" if number > unit else "is 1"
    if not _is_moderate(number / unit):
        yield "is tiny" if number < unit else "is huge"
    if number > unit and number != int(number):
        yield "is not whole"


def _size_classes(values: Sequence[Plain]) -> Iterator[str]:
    """Whether a list is of tiny numbers, or of ones that differ by little."""
    numbers = [one for one in values if isinstance(one, int | float)]
    largest = max(map(abs, numbers), default=0)
    if 0 < largest < _LEAST:
        yield "is tiny"
    if numbers and 0 < max(numbers) - min(numbers) < _CLOSE * largest:
        yield "lies close together"


def _is_moderate(number: float) -> bool:
    return _LEAST <= abs(number) <= _MOST


def _share_class(number: float) -> str:
    if number in (0, 1):
        return f"is {int(number)}"
    if number > 1 - _CLOSE:
        return "is nearly 1"
    half = 1 / 2
    return "is a half" if number == half else "is below a half" if number < half else "is above a half"


def _length(value: Argument) -> int:
    return len(value) if isinstance(value, list) else -1


def find_unmet(classes: ArgumentClasses, rows: Sequence[Sequence[Argument]]) -> tuple[list[str], list[str]]:
    """The demanded classes that none of *rows* meets: those of some row that makes sense, and the others."""
    met = {label for row in rows for label in classes.classes_of(row)}
    possible = {label for row in classes.pool() for label in classes.classes_of(row)}
    lacking = [label for label in classes.demanded() if label not in met]
    return [one for one in lacking if one in possible], [one for one in lacking if one not in possible]


def read_kinds(texts: Mapping[str, str], given: Mapping[str, Sequence[Argument]]) -> tuple[ArgumentKind, ...]:
    """What each argument of a function takes; an argument without a text only has its values.

    Raises:
        ArgumentKindError: a text cannot be read.
    """
    found = []
    for name, values in given.items():
        text = texts.get(name, "choice")
        match = _GRAMMAR.fullmatch(text.strip())
        kind = (match["item"] or match["one"] or "") if match else ""
        if match is None or (kind and kind not in _KINDS):
            raise ArgumentKindError(f"{name}: {text!r} is none of {', '.join(_KINDS)}, list of ..., rows")
        if match["like"] and match["like"] not in given:
            raise ArgumentKindError(f"{name}: {match['like']} is not an argument")
        found.append(ArgumentKind(name, kind, match["many"] or "", match["like"] or "", tuple(values)))
    return tuple(found)
