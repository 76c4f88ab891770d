"""A table as it was read to a test: whose numbers are used, and what does not add up."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.core.measurements.number_checks import exceeds, far_apart, highest_bus_bandwidth
from app.core.measurements.pieces import cluster_named_in, median_error, pieces
from app.core.measurements.reports import CollectiveTest, SizeRow, join_doubts
from app.core.measurements.table import (
    CollectiveTable,
    Interval,
    agrees,
    common_ratio,
    element_size,
    factor_of,
    nodes_of,
    number,
    prints_bandwidths,
    ranks_by,
    sound_rows,
    tells_ranks,
    tests_in,
)
from app.core.units import BYTE_PER_SECOND, SECOND, show, show_size

_FAST = 0.5e9  # bytes per second: enough digits are printed to compare them
_MOST_WRONG = 0.2  # of the rows: of more, none is shown
_UNKNOWN = 2.0  # times what is known: for hardware that is newer than the presets


class CheckedRows(NamedTuple):
    """The rows that are results, and doubts that say why others are not."""

    rows: Sequence[SizeRow]
    doubts: Sequence[str]


def checked_rows(table: CollectiveTable, rows: Sequence[SizeRow], ranks: int | None, hardware: str) -> CheckedRows:
    """*rows* without those that fail a check, of a table on *ranks* GPUs called *hardware*."""
    doubts = list(_about_columns(table))
    if rows and table.cpu_time:
        return CheckedRows((), [*doubts, _about_cpu_time(rows)])
    if rows and ranks == 1:
        return CheckedRows((), [*doubts, _about_one_rank(rows)])
    consistent = [row for row in rows if not _contradicts(row)]
    cluster = cluster_named_in(hardware)
    limit = highest_bus_bandwidth(cluster.intra_bandwidth) if cluster else _UNKNOWN * highest_bus_bandwidth()
    possible = [row for row in consistent if not exceeds(row.busbw, limit)]
    all_go = len(rows) - len(possible) > _MOST_WRONG * len(rows)  # the others are of the same kind, if less so
    if len(consistent) < len(rows):
        doubts.append(_left_out(len(rows) - len(consistent), rows, all_go) + _about_contradiction(rows))
    if len(possible) < len(consistent):
        doubts.append(
            _left_out(len(consistent) - len(possible), rows, all_go) + _about_limit(consistent, limit, hardware)
        )
    if any(b.size < a.size for a, b in zip(rows, rows[1:], strict=False)):
        doubts.append("the sizes do not rise: rows of several tests, or in another order")
    return CheckedRows([] if all_go else possible, doubts)


def _about_columns(table: CollectiveTable) -> Iterator[str]:
    if table.unknown:
        names = ", ".join(table.unknown)
        yield f"columns whose titles are not known are left out: {names}"
    if len(table.prefixed) > 1:
        yield "something stands before some of these rows, and not before others: mixed lines"
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
        f"one rank sends nothing: {show_size(last.size)} in {show(last.time, SECOND)} are a copy in the memory of a"
        " GPU, or no work at all: run it on two GPUs or more (-g 2), or with nccl-tests built with MPI=1"
    )


def _contradicts(row: SizeRow) -> bool:
    return row.algbw > _FAST and far_apart(row.size / row.time, row.algbw)


def _left_out(wrong: int, rows: Sequence[SizeRow], all_go: bool) -> str:
    if all_go and wrong < len(rows):
        return f"{wrong} of {len(rows)} rows {'is' if wrong == 1 else 'are'} wrong, so all are left out: "
    return f"{wrong} {'row is' if wrong == 1 else 'rows are'} left out: "


def _about_contradiction(rows: Sequence[SizeRow]) -> str:
    row = next(row for row in rows if _contradicts(row))
    return (
        f"{row.size:.0f} bytes in {show(row.time, SECOND)} are {show(row.size / row.time, BYTE_PER_SECOND)}, not"
        f" {show(row.algbw, BYTE_PER_SECOND)}: rows that were edited, or columns of something else"
    )


def _about_limit(rows: Sequence[SizeRow], limit: float, hardware: str) -> str:
    row = max(rows, key=lambda row: row.busbw)
    known = cluster_named_in(hardware) is not None
    whose = f"the links of {hardware} carry" if known else "any link that is known here carries"
    return (
        f"{show(row.busbw, BYTE_PER_SECOND)} of bus bandwidth is more than {whose}, {show(limit, BYTE_PER_SECOND)} even"
        " with sums in the switch: times of the CPU, a copy within a GPU, or another unit"
    )


_TOLERANCE = 0.02
_NOISE = 0.15  # of a time, in the median of the rows
_CLIFF = 2.5  # a time that grows so much more than the size
_SLOW = 1e-3  # seconds, above which a jump is more than noise
_FEWEST = 3
_GIGA = 1e9
_SPREAD = (False, True, False)
_UNNAMED = "no line names the collective"
# The columns of each collective: it reduces, its array is shared out, it has a root.
_COLUMNS = {
    (True, True, True): ("reduce_scatter",),
    (True, True, False): ("reduce_scatter",),
    (True, False, True): ("reduce",),
    (True, False, False): ("all_reduce",),
    (False, True, True): ("gather", "scatter"),
    (False, True, False): ("all_gather", "alltoall"),
    (False, False, True): ("broadcast",),
    (False, False, False): ("sendrecv",),
}


def judge_tests(table: CollectiveTable) -> Iterator[CollectiveTest]:
    """The tests of which *table* has rows, each judged by itself."""
    return map(_judge, tests_in(table))


def _judge(table: CollectiveTable) -> CollectiveTest:
    """The test in *table*, and the doubts about it."""
    rows = sound_rows(table)
    printed = rows if prints_bandwidths(table) else []
    collective, unnamed = _collective(table, printed)
    if not printed:
        rows = sound_rows(replace(table, collective=collective))
    ratio, agree = common_ratio(printed)
    ranks, about_ranks = _ranks(table, collective, ratio if agree else None)
    rows, resized = _whole_arrays(rows, ranks)
    hardware = "".join(filter(str.isprintable, table.hardware or ", ".join(table.gpus)))
    is_told = prints_bandwidths(table) or ranks or not tells_ranks(collective)
    untold = "no bus bandwidth is printed, and nothing tells the ranks: it is the algorithm bandwidth"
    doubts = [
        *table.doubts,
        unnamed,
        about_ranks,
        "" if is_told else untold,
        *_about_bandwidths(collective, rows, ratio, agree=agree),
        resized,
        *_about_times(rows),
        *_about_results(table, rows),
    ]
    shown, of_rows = checked_rows(table, rows, ranks, hardware)
    points = [(row.size, row.time) for row in shown]
    lines = pieces(points)
    if (error := median_error(points, lines)) > _NOISE:
        share = f"{100 * error:.0f} %"
        doubts.append(f"half of the rows are {share} and more off the line through them: noise, or several algorithms")
    return CollectiveTest(
        collective=collective,
        ranks=ranks,
        hosts=nodes_of(table),
        hardware=hardware,
        tool=table.tool,
        rows=tuple(shown),
        pieces=lines,
        doubts=join_doubts([*of_rows, *(doubts if shown or not rows else table.doubts)]),
    )


def _collective(table: CollectiveTable, rows: Sequence[SizeRow]) -> tuple[str | None, str]:
    """The collective that is named, or the one that the columns tell; and a doubt."""
    guesses = _guesses(table, rows)
    if table.collective or not guesses:
        return table.collective, _misnamed(table) if table.collective else _UNNAMED
    if len(guesses) == 1:
        return guesses[0], ""
    return guesses[0], f"{_UNNAMED}; its columns are those of {' or '.join(guesses)}"


def _misnamed(table: CollectiveTable) -> str:
    """A doubt where the name is of a collective that reduces, and the rows are not, or reversed."""
    operations = {row.redop for row in table.rows if row.redop}
    reduces = table.collective in {"all_reduce", "reduce", "reduce_scatter"}
    if not operations or (operations != {"none"}) == reduces:
        return ""
    return f"named {table.collective}, but the rows reduce by {', '.join(sorted(operations))}"


def _guesses(table: CollectiveTable, rows: Sequence[SizeRow]) -> tuple[str, ...]:
    """Which collectives print such columns: how a row is reduced, its root, its elements."""
    first = next((row for row in table.rows if row.size), None)
    if first is None:
        return ()
    ratio, _ = common_ratio(rows)
    reduces = first.redop not in {"", "none"}
    element = element_size(first.type)  # an array has a part for each rank, or one
    shared = bool(element and first.count) and round(first.size / (first.count * (element or 1))) > 1
    if ratio and not reduces and not shared:  # old versions count the elements of all parts
        shared = ratio.high < 0.99  # noqa: PLR2004 (1 - 1/n of fewer than 100 ranks)
    rooted = first.root is not None and first.root >= 0
    if first.redop == "" and table.columns is not None and (reduces, shared, rooted) == _SPREAD:
        # Before 2022, an all-to-all had a title for its reduction, and an all-gather had not.
        return ("alltoall",) if "redop" in table.columns else ("all_gather",)
    return _COLUMNS[reduces, shared, rooted]


def _ranks(table: CollectiveTable, collective: str | None, ratio: Interval | None) -> tuple[int | None, str]:
    """How many ranks took part, and a doubt if that is not what the table says."""
    said = table.said
    if ratio is None or not tells_ranks(collective):
        return said or table.called, ""
    if said and agrees(collective, said, ratio):
        return said, ""
    if ratio.high < 1e-3:  # noqa: PLR2004 (no bus bandwidth at all)
        return 1, ""  # what one rank measures is not shown, which is said there
    tells = ranks_by(collective, ratio)
    if tells is None:
        return said or table.called, ""
    likely, fewest, most = tells
    if said is not None:
        return likely, f"said to be {said} ranks, but the bandwidths say {likely}"
    unsaid = f"no line says how many ranks there are; the bandwidths say {fewest} to {most}"
    return likely, unsaid if fewest < most else ""


def _about_bandwidths(
    collective: str | None, rows: Sequence[SizeRow], ratio: Interval | None, *, agree: bool
) -> Iterator[str]:
    fast = [row.busbw / row.algbw for row in rows if row.algbw > _FAST]
    if not agree:
        every = fast or [row.busbw / row.algbw for row in rows if row.algbw]
        yield (
            "the ratio of bus to algorithm bandwidth differs between rows"
            f" ({min(every):.3f} to {max(every):.3f}): the table was edited or joined"
        )
    if ratio and collective == "all_reduce" and 1e-3 < ratio.high < 0.999:  # noqa: PLR2004
        yield (
            "the bus bandwidth is below the algorithm bandwidth, which no all-reduce has:"
            " another collective, or an edited table"
        )
    if ratio and collective and not tells_ranks(collective) and not ratio.low <= 1 <= ratio.high:
        yield f"bus and algorithm bandwidth differ, which they do not in a {collective}"
    if ratio and tells_ranks(collective) and ratio.low > factor_of(collective, 1 << 30):
        yield f"the bus bandwidth is higher than {collective} can have on any number of ranks"


def _whole_arrays(rows: list[SizeRow], ranks: int | None) -> tuple[list[SizeRow], str]:
    """The *rows* with the size of the whole array, where a file has that of one rank's part."""
    fast = [row.algbw * row.time / row.size for row in rows if row.algbw > _FAST]
    if not ranks or ranks < 2 or not fast:  # noqa: PLR2004 (one rank has all)
        return rows, ""
    if abs(statistics.median(fast) / ranks - 1) > _TOLERANCE:
        return rows, ""
    whole = [replace(row, size=row.size * ranks) for row in rows]
    return whole, f"the sizes are those of one rank's part: they are multiplied by {ranks} here"


def _about_times(rows: Sequence[SizeRow]) -> Iterator[str]:
    for row in rows:
        if row.algbw > _FAST and abs(row.size / row.time / row.algbw - 1) > _TOLERANCE:
            yield (
                f"{row.size:.0f} bytes in {show(row.time, SECOND)} are"
                f" {row.size / row.time / _GIGA:.2f} GB/s, not {row.algbw / _GIGA:.2f}"
            )
            break
    ordered = sorted(rows, key=lambda row: row.size)
    for small, large in zip(ordered, ordered[1:], strict=False):
        growth = large.time / small.time
        if large.time > _SLOW and growth > _CLIFF * large.size / small.size:
            yield (
                f"from {show_size(small.size)} to {show_size(large.size)} the time grows"
                f" {growth:.1f} times: another algorithm, protocol or path"
            )


def _about_results(table: CollectiveTable, rows: Sequence[SizeRow]) -> Iterator[str]:
    places = [place for row in table.rows for place in (row.out_of_place, row.in_place)]
    wrong = max([table.wrong, *(int(number(place[3]) or 0) for place in places if place[3:])])
    if wrong:
        yield f"{wrong} values arrived wrong (#wrong), so the times say nothing"
    if not rows:
        yield "no row has a time above 0 and both bandwidths"
    elif len({row.size for row in rows}) < _FEWEST:
        yield f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}: too few sizes to fit a line"
    # Whether the printed mean is that of the rows; a listing is often cut.
    columns = [place[2] for row in table.rows for place in (row.out_of_place, row.in_place) if place[2:]]
    values = [float(text) for text in columns if text.replace(".", "", 1).isdigit()]
    if table.average and values:
        mean = statistics.fmean(values)
        if abs(mean - table.average) > _TOLERANCE * table.average + 0.01:
            yield (
                f"the average bus bandwidth is printed as {table.average:g} GB/s, and that of these"
                f" rows is {mean:.4g}: rows are missing"
            )
    if table.left_out:
        yield f"{table.left_out} rows after the first {len(table.rows)} are left out"
