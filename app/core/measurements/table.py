"""A table of nccl-tests as it is read: what was said of it, and its rows before they are judged."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from app.core.measurements.ranks import factor_of
from app.core.measurements.reports import COLLECTIVES, SizeRow

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

    A place has the time, the algorithm bandwidth, the bus bandwidth and wrong values; a tool may
    print the time alone.
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
    values = [(row.size, _values_of(row, table)) for row in table.rows]
    found = [(s, v, row) for (s, v), row in zip(values, table.rows, strict=True) if v]
    unit = _MILLI if table.in_milliseconds or _are_milliseconds([(s, v) for s, v, _ in found]) else _MICRO
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
    values = _values(row.out_of_place) or _values(row.in_place)
    time = number(row.out_of_place[0]) if row.out_of_place else None
    if values or not time or any(row.out_of_place[1:3]):
        return values
    unit = _MILLI if table.in_milliseconds else _MICRO
    algbw = row.size / (time * unit) / _GIGA
    ranks = table.said or table.called
    return time, algbw, algbw * (factor_of(table.collective, ranks) if ranks else 1.0)


def _values(printed: tuple[str, ...]) -> tuple[float, float, float] | None:
    numbers = [number(text) for text in printed[:3]]
    time, algbw, busbw = numbers if len(numbers) == 3 else (None,) * 3  # noqa: PLR2004 (columns)
    if not time or algbw is None or busbw is None:
        return None
    return time, algbw, busbw


def _rounding(row: RawRow) -> float:
    """Half a unit of the last digit that is printed of a bandwidth."""
    printed = (row.out_of_place if _values(row.out_of_place) else row.in_place)[1:3]
    return max((0.5 * 10.0 ** -_decimals(text) for text in printed if text), default=0.0)


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.lower().partition("e")
    return len(mantissa.partition(".")[2]) - (int(exponent) if exponent else 0)


def _are_milliseconds(values: Iterable[tuple[int, tuple[float, float, float]]]) -> bool:
    """Whether size over time is the printed bandwidth only if the time is in milliseconds."""
    ratios = [s / v[0] / 1e3 / v[1] for s, v in values if v[1] > 1]
    middle = sorted(ratios)[len(ratios) // 2] if ratios else 1.0
    return 900 < middle < 1100  # noqa: PLR2004 (a thousand)


def element_size(kind: str) -> int | None:
    """Bytes of an element of a type as nccl-tests names it; None if it is not known."""
    if kind.startswith(("fp8", "f8")):
        return 1
    return _SIZES.get(kind)
