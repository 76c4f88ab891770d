"""A table of nccl-tests as it is read: its titles, its rows, and how many ranks took part."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.core.measurements.reports import COLLECTIVES, SizeRow

# Bus over algorithm bandwidth of many ranks. It is (n - 1) / n of it for n, and 1 for the others.
_MOST_OF = {
    "all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0,
    "alltoallv": 1.0, "hypercube": 1.0, "gather": 1.0, "scatter": 1.0,
}  # fmt: skip
_SLACK = 2e-5  # of a ratio, for bandwidths that were computed in other digits
_RANKS_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Interval:
    """What a ratio can be: it was computed from rounded numbers."""

    low: float
    high: float

    def meets(self, other: "Interval") -> bool:
        """Whether both can be the same number."""
        return self.low <= other.high and other.low <= self.high

    def __and__(self, other: "Interval") -> "Interval":
        return Interval(max(self.low, other.low), min(self.high, other.high))


def ratio_of(row: SizeRow) -> Interval | None:
    """Bus over algorithm bandwidth; None where so few digits are printed that they say nothing."""
    if row.algbw <= 10 * row.rounding:
        return None
    low = max(0.0, row.busbw - row.rounding) / (row.algbw + row.rounding)
    high = (row.busbw + row.rounding) / (row.algbw - row.rounding)
    return Interval(low * (1 - _SLACK), high * (1 + _SLACK))


def common_ratio(rows: Sequence[SizeRow]) -> tuple[Interval | None, bool]:
    """The ratio on which the *rows* agree, those with the most digits first; and if all do."""
    ratios = [ratio for row in sorted(rows, key=lambda row: -row.algbw) if (ratio := ratio_of(row))]
    if not ratios:
        return None, True
    common, agree = ratios[0], True
    for ratio in ratios[1:]:
        if common.meets(ratio):
            common &= ratio
        else:
            agree = False
    return common, agree


def factor_of(collective: str | None, ranks: int) -> float:
    """Bus over algorithm bandwidth of *collective* on *ranks* ranks.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Bus bandwidth.
    """
    most = _MOST_OF.get(collective or "")
    return most * (ranks - 1) / ranks if most else 1.0


def tells_ranks(collective: str | None) -> bool:
    """Whether the ratio depends on how many ranks take part."""
    return collective in _MOST_OF


def agrees(collective: str | None, ranks: int, ratio: Interval) -> bool:
    """Whether *ranks* can have printed *ratio*."""
    factor = factor_of(collective, ranks)
    return ratio.low <= factor <= ratio.high


def ranks_by(collective: str | None, ratio: Interval) -> tuple[int, int, int] | None:
    """The most likely number of ranks, and the fewest and the most that are as likely; None if *ratio* is of no number.

    Of those that are possible, the roundest: machines have 2, 4 or 8 GPUs.
    """
    most = _MOST_OF.get(collective or "")
    if most is None or ratio.low >= most:
        return None
    first = max(1, math.ceil(1 / (1 - ratio.low / most) - 1e-9))  # but for rounding
    if ratio.high >= most:  # no upper end: it takes more digits to tell
        return None
    last = int(1 / (1 - ratio.high / most) + 1e-9)
    if not first <= last <= _RANKS_LARGEST:
        return None
    for unit in (64, 8, 4, 2, 1):
        middle = (first + last) / 2 / unit
        nearest = round(middle) * unit
        if first <= nearest <= last and nearest:
            return nearest, -(-first // unit) * unit, last // unit * unit
    return first, first, last


MOST_ROWS = 20_000
_MICRO, _MILLI, _GIGA = 1e-6, 1e-3, 1e9
_LARGEST = 2**53
_SIZES = {
    "double": 8, "int64": 8, "uint64": 8, "float": 4, "float32": 4, "int32": 4, "uint32": 4,
    "int": 4, "half": 2, "float16": 2, "bfloat16": 2, "bf16": 2, "int8": 1, "uint8": 1, "char": 1,
}  # fmt: skip
_NAMES = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
    "alltoall": "alltoall", "alltoallsingle": "alltoall", "all2all": "alltoall",
    "alltoallv": "alltoallv", "sendrecv": "sendrecv", "sendreceive": "sendrecv",
    "sendandrecv": "sendrecv", "pointtopoint": "sendrecv", "broadcast": "broadcast",
    "bcast": "broadcast", "reduce": "reduce", "gather": "gather", "scatter": "scatter",
    "hypercube": "hypercube", "allreducebias": "all_reduce", "allreducegroup": "all_reduce",
}  # fmt: skip
_PLAIN = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row as it was printed; *count* elements of *type*, reduced by *redop* if it says.

    A place has the time, the algorithm bandwidth, the bus bandwidth and wrong values; a tool may print the time alone.
    """

    size: int
    count: int = 0
    type: str = ""
    redop: str = ""
    root: int | None = None
    out_of_place: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()


@dataclass(slots=True)
class CollectiveTable:
    """What was read of one test. What was *said* of the ranks may be wrong."""

    tool: str = "nccl-tests"  # that printed it
    collective: str | None = None
    said: int | None = None
    called: int | None = None  # ranks that the call asked for, where no line lists them
    nodes: int | None = None
    hosts: set[str] = field(default_factory=set)
    listed: set[int] = field(default_factory=set)  # ranks whose devices are printed
    gpus: list[str] = field(default_factory=list)
    hardware: str = ""
    columns: tuple[str, ...] | None = None  # of the title, between the type and the time
    titled: bool = False  # a title stands above its rows
    ended: bool = False  # and a summary below
    failed: bool = False  # the test said that it ended with an error
    without_bandwidths: bool = False  # the title has none
    unknown: tuple[str, ...] = ()  # titles of columns that are not known
    misfits: int = 0  # rows that do not fit the title
    cpu_time: bool = False  # the times are those of the CPU, until the call returned
    prefixed: set[bool] = field(default_factory=set)  # whether anything stands before a row
    in_milliseconds: bool = False
    average: float | None = None
    wrong: int = 0
    rows: list[RawRow] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    left_out: int = 0

    def add(self, row: RawRow) -> None:
        """Keep *row*; of more than MOST_ROWS, the first."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append(row)
        else:
            self.left_out += 1


def nodes_of(table: CollectiveTable) -> int | None:
    """How many hosts took part; None if a listing was cut so that it does not tell."""
    if table.nodes:
        return table.nodes
    whole = table.hosts and len(table.listed) >= (table.said or 0)
    return len(table.hosts) if whole else None


def collective_named(text: str) -> str | None:
    """The collective called *text* in any spelling, such as "AllReduce"; None if it is none.

    >>> [collective_named(text) for text in ("AllToAll", "all-reduce", "sendrecv_perf", "memcpy")]
    ['alltoall', 'all_reduce', 'sendrecv', None]
    """
    text = text.removesuffix("_perf")
    name = text if text in COLLECTIVES else _NAMES.get(_PLAIN.sub("", text.lower()))
    return name if name in COLLECTIVES else None


def number(text: str | float | None) -> float | None:
    """A finite number that is not negative; None for anything else."""
    try:
        value = float(text) if text is not None else math.nan
    except (ValueError, OverflowError):
        return None
    return value if 0 <= value < 1e15 else None  # noqa: PLR2004 (more than any of them can be)


def sound_rows(table: CollectiveTable) -> list[SizeRow]:
    """The rows that are measurements: out of place, and in place where there is nothing else."""
    found = [(row.size, values, row) for row in table.rows if (values := _values_of(row, table))]
    # Size over time is the printed bandwidth, with a time in microseconds.
    ratios = sorted(size / v[0] / 1e3 / v[1] for size, v, _ in found if v[1] > 1)
    a_thousand = bool(ratios) and 900 < ratios[len(ratios) // 2] < 1100  # noqa: PLR2004
    unit = _MILLI if table.in_milliseconds or a_thousand else _MICRO
    return [
        SizeRow(size, v[0] * unit, v[1] * _GIGA, v[2] * _GIGA, _rounding(row) * _GIGA)
        for size, v, row in found
        if 0 < size < _LARGEST
    ]


def prints_bandwidths(table: CollectiveTable) -> bool:
    """Whether the tool prints bus bandwidths, by which the number of ranks can be told."""
    return any(any(row.out_of_place[2:3] + row.in_place[2:3]) for row in table.rows)


def _values_of(row: RawRow, table: CollectiveTable) -> tuple[float, float, float] | None:
    """Time, algorithm and bus bandwidth; what is not printed follows from the size."""
    values = _printed_times(row.out_of_place) or _printed_times(row.in_place)
    time = number(row.out_of_place[0]) if row.out_of_place else None
    if values or not time or any(row.out_of_place[1:3]):
        return values
    unit = _MILLI if table.in_milliseconds else _MICRO
    algbw = row.size / (time * unit) / _GIGA
    ranks = table.said or table.called
    return time, algbw, algbw * (factor_of(table.collective, ranks) if ranks else 1.0)


def _printed_times(printed: tuple[str, ...]) -> tuple[float, float, float] | None:
    numbers = [number(text) for text in printed[:3]]
    time, algbw, busbw = numbers if len(numbers) == 3 else (None,) * 3  # noqa: PLR2004 (columns)
    if not time or algbw is None or busbw is None:
        return None
    return time, algbw, busbw


def _rounding(row: RawRow) -> float:
    """Half a unit of the last digit that is printed of a bandwidth."""
    printed = (row.out_of_place if _printed_times(row.out_of_place) else row.in_place)[1:3]
    return max((0.5 * 10.0 ** -_decimals(text) for text in printed if text), default=0.0)


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.lower().partition("e")
    return len(mantissa.partition(".")[2]) - (int(exponent) if exponent else 0)


def element_size(kind: str) -> int | None:
    """Bytes of an element of a type as nccl-tests names it; None if it is not known."""
    if kind.startswith(("fp8", "f8")):
        return 1
    return _SIZES.get(kind)


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
_TABLE_TITLES_NAMES = {"impl", "algo", "proto", "kernelvariant", "sync"}  # no numbers
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
        last = len(words)  # the time of day stands behind the last value, where every other column is a number
        columns = {word for place in (*self.places, self.behind) for word in place}
        numbers = not columns & _TABLE_TITLES_NAMES
        while numbers and last and not VALUE.match(words[last - 1]):
            last -= 1
        words = words[:last]
        expected = len(self.before) if before is None else before
        found = [
            (first, count)
            for count in range(len(self.places), 0, -1)
            for behind in dict.fromkeys((0, len(self.behind)))
            if self._fits(words, first := len(words) - behind - sum(map(len, self.places[:count])), count)
            and (before is None or first == before)
        ]
        if found:
            first, count = min(found, key=lambda one: one[0] != expected)
            return self._built(start, words, first, count)
        if before is not None and self._fits(words, before, 1):  # the rest is cut off
            return self._built(start, words, before, 1)
        return None

    def _fits(self, words: Sequence[str], first: int, count: int) -> bool:
        """Whether values begin at *first*, and what precedes them is none."""
        if not 0 <= first <= _MOST_BEFORE or any(VALUE.match(one) and not WHOLE.match(one) for one in words[:first]):
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
            cells = dict(zip(place, words[at : at + len(place)], strict=True))
            # Time, both bandwidths and wrong values; empty where the title has none.
            time, wrong = (next((cells[name] for name in names if name in cells), "") for names in (_TIMES, _COUNTS))
            algbw, busbw = (cells.get(name, "") for name in _SHOWN)
            if not (algbw and busbw):
                algbw = busbw = ""
            found.append((time, algbw, busbw, wrong))
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


_MOST_TESTS = 32  # of one table
Key = tuple[str, str, int | None, int]


def tests_in(table: CollectiveTable) -> Iterator[CollectiveTable]:
    """*table*, or the tests of which it has rows, each with a doubt that says so.

    A line that was printed twice is one row. Where a size comes again, as with several cycles or
    two runs side by side, its second row is of the second test.
    """
    parts: dict[Key, list[RawRow]] = {}
    seen: dict[Key, int] = {}
    once: set[RawRow] = set()
    for row in table.rows:
        kind = (row.type, row.redop, row.root)
        if row in once:
            continue
        once |= {row} if row.size else set()  # the first sizes are often rounded to 0, all of them
        count = seen.get((*kind, row.size), 0) + 1 if row.size else 1
        seen[(*kind, row.size)] = count
        parts.setdefault((*kind, count), []).append(row)
    if len(parts) == 1:
        table.rows = next(iter(parts.values()))
        yield table
        return
    kinds = {key[:3] for key in parts}
    for number, (key, rows) in enumerate(parts.items(), 1):
        if number <= _MOST_TESTS:
            doubts = [*table.doubts, _about(number, len(parts), key, kinds)]
            yield replace(table, rows=rows, average=None, doubts=doubts)  # the average is that of all tests


def _about(number: int, count: int, key: Key, kinds: set[tuple[str, str, int | None]]) -> str:
    kind, redop, root, again = key
    what = [
        kind if len({one[0] for one in kinds}) > 1 else "",
        redop if len({one[1] for one in kinds}) > 1 else "",
        f"root {root}" if len({one[2] for one in kinds}) > 1 else "",
        f"repetition {again} of its sizes" if again > 1 else "",
    ]
    named = ", ".join(filter(None, what)) or "repetition 1 of its sizes"
    left_out = f"; those after {_MOST_TESTS} are left out" if count > _MOST_TESTS else ""
    return f"test {number} of {count} in one table, told by its rows: {named}{left_out}"


def doubt_mixed_tables(tables: Sequence[CollectiveTable]) -> None:
    """Add a doubt to those of *tables* between whose lines those of others stand."""
    for before, table in zip(tables, tables[1:], strict=False):
        if table.listed and 0 not in table.listed:
            for one in (before, table):
                one.doubts.append("its ranks are listed on both sides of rows: lines are mixed")
    titled, ended = (any(getattr(one, name) for one in tables) for name in ("titled", "ended"))
    for table in tables[1:]:
        if titled and not table.titled:
            table.doubts.append("no title stands above these rows, as above others: mixed lines")
    for table in tables[:-1]:
        if ended and not table.ended:
            table.doubts.append("no summary stands below these rows, as below others: mixed lines")
