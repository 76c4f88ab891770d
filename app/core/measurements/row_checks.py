"""The four checks on the rows of a table: those that fail are not shown as results."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.measurements.comparison import cluster_named_in
from app.core.measurements.number_checks import above, far_apart, highest_bus_bandwidth
from app.core.measurements.reports import SizeRow
from app.core.measurements.table import CollectiveTable
from app.core.units import BYTE_PER_SECOND, SECOND, show, show_size

_FAST = 0.5e9  # bytes per second: enough digits are printed to compare them
_MOST_WRONG = 0.2  # of the rows: of more, none is shown
_UNKNOWN = 2.0  # times what is known: for hardware that is newer than the presets


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows that are results, and doubts that say why others are not."""

    rows: tuple[SizeRow, ...]
    doubts: tuple[str, ...] = ()


def checked_rows(table: CollectiveTable, rows: Sequence[SizeRow], ranks: int | None, hardware: str) -> CheckedRows:
    """*rows* without those that fail a check, of a table on *ranks* GPUs called *hardware*."""
    doubts = list(_about_columns(table))
    if rows and table.cpu_time:
        return CheckedRows((), (*doubts, _about_cpu_time(rows)))
    if rows and ranks == 1:
        return CheckedRows((), (*doubts, _about_one_rank(rows)))
    consistent = [row for row in rows if not _contradicts(row)]
    limit = _limit(hardware)
    possible = [row for row in consistent if not above(row.busbw, limit)]
    if len(rows) - len(possible) > _MOST_WRONG * len(rows):
        possible = []  # the others are of the same kind, if less so
    if len(consistent) < len(rows):
        doubts.append(_about_contradiction(rows, len(rows) - len(consistent)))
    if any(above(row.busbw, limit) for row in consistent):
        doubts.append(_about_limit(consistent, len(consistent) - len(possible), limit, hardware))
    if any(b.size < a.size for a, b in zip(rows, rows[1:], strict=False)):
        doubts.append("the sizes do not rise: rows of several tests, or in another order")
    return CheckedRows(tuple(possible), tuple(doubts))


def _about_columns(table: CollectiveTable) -> Iterator[str]:
    if table.unknown:
        names = ", ".join(table.unknown)
        yield f"columns whose titles are not known are left out: {names}"
    if table.without_bandwidths:
        yield "the title has no column for both bandwidths: they are computed from sizes and times"
    if table.failed:
        yield "the test ended with an error: sizes after the last row are missing"
    if table.misfits:
        rows = "row does" if table.misfits == 1 else "rows do"
        yield f"{table.misfits} {rows} not fit the title, and are left out: cut off or joined"


def _about_cpu_time(rows: Sequence[SizeRow]) -> str:
    time = statistics.median(row.time for row in rows)
    return (
        f"the times are those of the CPU (-C 1): a call returned after {show(time, SECOND)} in the"
        " median, before the transfer. They say nothing about bandwidth: run it without -C"
    )


def _about_one_rank(rows: Sequence[SizeRow]) -> str:
    last = max(rows, key=lambda row: row.size)
    return (
        f"one rank sends nothing: {show_size(last.size)} in {show(last.time, SECOND)} are a copy in"
        " the memory of a GPU, or no work at all: run it on two GPUs or more (-g 2), or with"
        " nccl-tests built with MPI=1"
    )


def _contradicts(row: SizeRow) -> bool:
    return row.algbw > _FAST and far_apart(row.size / row.time, row.algbw)


def _about_contradiction(rows: Sequence[SizeRow], count: int) -> str:
    row = next(row for row in rows if _contradicts(row))
    return (
        f"{_rows(count)} left out: {row.size:.0f} bytes in {show(row.time, SECOND)} are"
        f" {show(row.size / row.time, BYTE_PER_SECOND)}, not"
        f" {show(row.algbw, BYTE_PER_SECOND)}: rows that were edited, or columns of something else"
    )


def _limit(hardware: str) -> float:
    cluster = cluster_named_in(hardware)
    if cluster is None:
        return _UNKNOWN * highest_bus_bandwidth()
    return highest_bus_bandwidth(cluster.intra_bandwidth)


def _about_limit(rows: Sequence[SizeRow], count: int, limit: float, hardware: str) -> str:
    row = max(rows, key=lambda row: row.busbw)
    known = cluster_named_in(hardware) is not None
    whose = f"NVLink of {hardware} carries" if known else "any link that is known here carries"
    return (
        f"{_rows(count)} left out: {show(row.busbw, BYTE_PER_SECOND)} of bus bandwidth is more than"
        f" {whose}, {show(limit, BYTE_PER_SECOND)} even with sums in the switch: times of the CPU,"
        " a copy within a GPU, or another unit"
    )


def _rows(count: int) -> str:
    return f"{count} {'row is' if count == 1 else 'rows are'}"
