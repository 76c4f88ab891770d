"""The title of a table of nccl-tests: which column of a row is what."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.core.measurements.table import RawRow

VALUE = re.compile(r"^(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|N/A|nan|inf|-?nan)$", re.IGNORECASE | re.ASCII)
WHOLE = re.compile(r"^-?\d{1,18}$", re.ASCII)
_TIMES = ("time", "cputime")
_SHOWN = ("algbw", "busbw")
_COUNTS = ("#wrong", "wrong")  # of values; "error" and "res" are the largest deviation
# Of options: -I, -b with bit differences, -S and -U; they are known, and of no use here.
_OTHERS = (
    "error", "res", "i_min", "i_max", "i_p99", "i_cv%", "i_cv", "#bitdiff", "bitdiff", "timestamp",
    "impl", "algo", "proto", "kernelvariant", "sync", "#channels", "#warps", "netchunksize",
    "cycle", "iter", "iters",
)  # fmt: skip
_NAMES = {"impl", "algo", "proto", "kernelvariant", "sync"}  # no numbers
_BEFORE = ("redop", "op", "root")
_KNOWN = frozenset((*_TIMES, *_SHOWN, *_COUNTS, *_OTHERS, *_BEFORE))
_MOST_BEFORE = 2  # a reduction and a root


def is_title(words: Sequence[str]) -> bool:
    """Whether *words* are nothing but titles of columns, as in a title that was wrapped."""
    return bool(words) and all(word.lower() in _KNOWN for word in words)


@dataclass(frozen=True, slots=True)
class TableTitle:
    """The titles behind the type: *before* the times, of each place, and behind all of them."""

    before: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]
    behind: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: Sequence[str]) -> "TableTitle | None":
        """The title with *words*; None if it has no times."""
        lowered = [word.lower() for word in words]
        starts = [i for i, word in enumerate(lowered) if word in _TIMES]
        if not starts:
            return None
        ends = [*starts[1:], len(lowered)]
        places = [tuple(lowered[a:b]) for a, b in zip(starts, ends, strict=True)][:2]
        width = len(places[0]) if len(places) > 1 else len(lowered)
        places, behind = [place[:width] for place in places], places[-1][width:]
        return cls(tuple(lowered[: starts[0]]), tuple(places), behind)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Titles that are not known here."""
        every = [*self.before, *(word for place in self.places for word in place), *self.behind]
        return tuple(dict.fromkeys(word for word in every if word not in _KNOWN))

    @property
    def has_bandwidths(self) -> bool:
        """Whether every place has both bandwidths."""
        return all(set(_SHOWN) <= set(place) for place in self.places)

    @property
    def cpu_time(self) -> bool:
        """Whether the times are those of the CPU, until the call returned."""
        return any("cputime" in place for place in self.places)

    def row(self, start: re.Match[str], words: Sequence[str], before: int | None) -> RawRow | None:
        """The row of *start* with *words* behind its type; None if they do not fit the title.

        *before* is how many words precede the times in the rows above: versions that leave a column
        empty do not say so in the title.
        """
        words = self._without_time_of_day(words)
        expected = len(self.before) if before is None else before
        found = [
            (first, count)
            for count in range(len(self.places), 0, -1)
            for behind in dict.fromkeys((0, len(self.behind)))
            if self._fits(words, first := self._first(words, count, behind), count)
            and (before is None or first == before)
        ]
        if found:
            first, count = min(found, key=lambda one: one[0] != expected)
            return self._built(start, words, first, count)
        if before is not None and self._fits(words, before, 1):  # the rest is cut off
            return self._built(start, words, before, 1)
        return None

    def _first(self, words: Sequence[str], count: int, behind: int) -> int:
        """Where the times begin if *count* places and *behind* words are printed."""
        return len(words) - behind - sum(map(len, self.places[:count]))

    def _without_time_of_day(self, words: Sequence[str]) -> Sequence[str]:
        """*words* without those behind the last value, where every other column is a number.

        A launcher may have added them, or `-S`; a day and an hour are one column of two words.
        """
        last = len(words)
        columns = {word for place in (*self.places, self.behind) for word in place}
        numbers = not columns & _NAMES
        while numbers and last and not VALUE.match(words[last - 1]):
            last -= 1
        return words[:last]

    def _fits(self, words: Sequence[str], first: int, count: int) -> bool:
        """Whether values begin at *first*, and what precedes them is none."""
        if not 0 <= first <= _MOST_BEFORE or not all(_precedes(word) for word in words[:first]):
            return False
        at = first
        for place in self.places[:count]:
            cells = dict(zip(place, words[at : at + len(place)], strict=False))
            numbers = [cells.get(name, "") for name in (*_TIMES, *_SHOWN) if name in place]
            if len(cells) < len(place) or not all(map(VALUE.match, numbers)):
                return False
            at += len(place)
        return True

    def _built(self, start: re.Match[str], words: Sequence[str], first: int, count: int) -> RawRow:
        found, at = [], first
        for place in self.places[:count]:
            found.append(_values(dict(zip(place, words[at : at + len(place)], strict=True))))
            at += len(place)
        return raw_row(start, words[:first], found)


def raw_row(start: re.Match[str], words: Sequence[str], places: Sequence[tuple[str, ...]]) -> RawRow:
    """The row that begins with *start*, has *words* before its times, and these *places*."""
    return RawRow(
        size=int(start[1]),
        count=int(start[2]),
        type=start[3],
        redop=next((word for word in words if not WHOLE.match(word)), ""),
        root=next((int(word) for word in words if WHOLE.match(word)), None),
        out_of_place=places[0],
        in_place=places[1] if len(places) > 1 else (),
    )


def _precedes(word: str) -> bool:
    return bool(WHOLE.match(word)) or not VALUE.match(word)


def _values(cells: dict[str, str]) -> tuple[str, ...]:
    """Time, both bandwidths and wrong values; empty where the title has none."""
    time = _first(cells, _TIMES)
    algbw, busbw = (cells.get(name, "") for name in _SHOWN)
    if not (algbw and busbw):
        algbw = busbw = ""
    return (time, algbw, busbw, _first(cells, _COUNTS))


def _first(cells: dict[str, str], names: Iterable[str]) -> str:
    return next((cells[name] for name in names if name in cells), "")
