"""Notes on a run: what caused caveats, a row for each GPU and pair, and whether it can be compared."""

import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from app.core.errors import sentence
from app.core.translation import noted, translate
from app.core.units import BYTE, BYTE_PER_SECOND, SECOND, Unit
from app.labs.machines.machine import SHARED, MachineFacts
from app.labs.results.report import (
    COUNTED,
    COUNTED_ONCE,
    SEEN,
    GpuRow,
    LatencyFit,
    Measure,
    PairMatrix,
    Report,
    SlowPair,
    slowed_by_rank,
)
from app.labs.run import Event
from app.labs.runner.events import ClocksEvent, DetailEvent, GpuReading
from app.labs.spec import Lab, amount

PAIR = "pair"  # the measure of one pair
_SLOWER: Mapping[str, float] = {"nccl": 0.1, "gloo": 0.5}  # of the median of alike pairs
_FEWEST = 3  # alike pairs that have a median to compare with
_NAMED = 5  # slow pairs, at most
_LARGE = 2**20  # bytes, from which on a bandwidth says more than a time
_ROW = re.compile(r"^GPU\d+\s+(.*)$", re.MULTILINE)  # of the matrix of links, after its name
_Times = Mapping[tuple[int, int], float]

_RANGE = noted("At {size}, the {count} pairs of ranks take from {least} to {most}.")
_SLOW = noted(
    "At {size}, ranks {first} and {second} take {percent} % longer than the median of the pairs "
    "with the same kind of link."
)
_MORE = noted("At {size}, {count} more pairs of ranks are slow.")
_SHARED = noted(
    "At {size}, all {slow} slow pairs have rank {rank} in common; the slowest takes {percent} % "
    "longer than the median of the pairs with the same kind of link."
)
PAIR_NOTES = (_RANGE, _SLOW, _MORE, _SHARED)


def pair_matrices(report: Report) -> tuple[PairMatrix, ...]:
    """A matrix for each size with which pairs of ranks were measured."""
    found: dict[float, dict[tuple[int, int], float]] = defaultdict(dict)
    for one in report.measures:
        if one.name == PAIR and (pair := _pair_of(one, report.ranks)):
            found[float(one.where["size"])][pair] = one.median
    return tuple(_matrix(report, size, times) for size, times in sorted(found.items()))


def notes_on_pairs(report: Report) -> Iterator[str]:
    """How much the pairs differ, and which are slow."""
    for matrix in report.pairs:
        times = [time for row in matrix.times for time in row if time is not None]
        size, count = amount(matrix.size, BYTE), len(times) // 2
        least, most = amount(min(times), SECOND), amount(max(times), SECOND)
        yield _RANGE.format(size=size, count=count, least=least, most=most)
        yield from _notes_on_slow(matrix.slow, size)


def pair_table(matrix: PairMatrix) -> Iterator[tuple[str, ...]]:
    """*matrix* as a table: a header, then a row of each rank; an asterisk marks what is slow.

    Of large messages, it has bandwidths.
    """
    slow = {ranks for one in matrix.slow for ranks in permutations((one.first, one.second))}
    yield (translate("Rank"), *map(str, range(len(matrix.times))))
    for first, row in enumerate(matrix.times):
        cells = (
            "" if time is None else _shown(matrix.size, time) + "*" * ((first, second) in slow)
            for second, time in enumerate(row)
        )
        yield (str(first), *cells)


def pair_title(matrix: PairMatrix) -> str:
    """What the table of *matrix* shows."""
    size = amount(matrix.size, BYTE)
    if matrix.size >= _LARGE:
        return translate("Bandwidth between every two ranks, {size}", size=size)
    return translate("Time between every two ranks, one way, {size}", size=size)


def _shown(size: float, time: float) -> str:
    return amount(size / time, BYTE_PER_SECOND) if size >= _LARGE else amount(time, SECOND)


def _notes_on_slow(slow: Sequence[SlowPair], size: str) -> Iterator[str]:
    shared = set.intersection(*({one.first, one.second} for one in slow)) if slow else set()
    if len(slow) > 1 and shared:
        percent = f"{100 * max(one.share for one in slow):.0f}"
        yield _SHARED.format(size=size, slow=len(slow), rank=min(shared), percent=percent)
        return
    for one in slow[:_NAMED]:
        yield _SLOW.format(size=size, first=one.first, second=one.second, percent=f"{100 * one.share:.0f}")
    if slow[_NAMED:]:
        yield _MORE.format(size=size, count=len(slow) - _NAMED)


def _pair_of(one: Measure, ranks: int) -> tuple[int, int] | None:
    """The ranks of a measure; None in a run that was sent in and names others."""
    first, second = (one.where.get(name) for name in ("rank", "peer"))
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        return None
    return (int(first), int(second)) if 0 <= first < second < ranks and "size" in one.where else None


def _matrix(report: Report, size: float, times: _Times) -> PairMatrix:
    ranks = range(report.ranks)
    rows = tuple(tuple(times.get((min(a, b), max(a, b))) for b in ranks) for a in ranks)
    return PairMatrix(size, rows, tuple(_slow(report, times)))


def _slow(report: Report, times: _Times) -> Iterator[SlowPair]:
    """The pairs that take longer than the median of those with the same kind of link."""
    alike: dict[str, list[float]] = defaultdict(list)
    kinds = {pair: _kind_of_link(report, *pair) for pair in times}
    for pair, time in times.items():
        alike[kinds[pair]].append(time)
    for (first, second), time in times.items():
        others = alike[kinds[first, second]]
        share = time / statistics.median(others) - 1
        if len(others) >= _FEWEST and share > _SLOWER[report.backend]:
            yield SlowPair(first, second, round(share, 3))


def _kind_of_link(report: Report, first: int, second: int) -> str:
    """What connects two ranks, as far as it is known: within a node, the word of its matrix."""
    each = max(1, report.ranks // report.span)
    if first // each != second // each:
        return "another node"
    rows = [row.split()[:each] for row in _ROW.findall(str(report.machine.topology or ""))]
    is_whole = len(rows) == each and all(len(row) == each for row in rows)
    return rows[first % each][second % each] if is_whole and report.backend == "nccl" else ""


_LATE = 0.05  # of the predicted time: a later message means that the emulation fell behind
_THROTTLED = 0.01  # of the time of a run, below which a lower clock does not matter
_OFF = noted("The time for {size} is far off all others, so it is left out of the fit.")
_HELD_DOWN, _OF_RANK = "throttled", "throttled rank"
_ASIDE = (_HELD_DOWN, _OF_RANK, COUNTED, COUNTED_ONCE, SEEN)  # details that have no note of their own


def notes_on(
    lab: Lab,
    backend: str,
    ranks: int,
    nodes: int,
    measures: Sequence[Measure],
    lines: Sequence[LatencyFit],
    details: Mapping[str, str],
) -> Iterator[str]:
    """What a reader of these *measures* must know."""
    yield from (f"{one.name} has no prediction: {one.trouble}." for one in measures if one.trouble)
    has_times = any(one.right is None for one in measures)  # what is counted is right or wrong
    if lab.links == "real" and backend == "gloo" and ranks > 1 and has_times:
        between = f"over the network of {nodes} nodes" if nodes > 1 else ("between processes of one machine")
        yield f"Over gloo, {between}, expect a factor of two from run to run."
    late = [one for one in measures if one.predicted and float(one.where.get("late", 0.0)) > _LATE * one.predicted]
    if late:
        yield (
            f"At {len(late)} of {len(measures)} points the machine was too slow or too busy to "
            "emulate the link: messages arrived later than they should have."
        )
    yield from notes_on_lines(lines)
    if why := details.get(_HELD_DOWN):
        rank = details.get(_OF_RANK, "0")
        yield f"The clock of rank {rank}'s GPU was held down {why}: at its highest, it is faster."
    told = (f"{name}: {says}" for name, says in details.items() if name not in _ASIDE)
    yield from map(sentence, told)


def note_on_sharing(machine: MachineFacts) -> str:
    """That others may have used the machine meanwhile, where its scheduler permits that."""
    if machine.sharing != SHARED:
        return ""
    return "Slurm could run other jobs on the same node, and they share its memory, its switches and its network."


def details_in(events: Sequence[Event]) -> Mapping[str, str]:
    """How the ranks did it, by name, as *events* tell."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, DetailEvent):
            before = f"{found[event.name]}; " if event.name in found else ""
            found[event.name] = f"{before}{event.says}"
    return {**found, **_held_down([one for one in events if isinstance(one, ClocksEvent)])}


def range_in_words(ends: tuple[float, float | None] | None, unit: Unit) -> str:
    """A range after its middle; empty if it is unknown.

    >>> range_in_words((1e-6, 2.5e-6), SECOND), range_in_words(None, SECOND)
    (' [1 µs, 2.5 µs]', '')
    """
    if ends is None:
        return ""
    low, high = ends
    return f" [{amount(low, unit)}, {'∞' if high is None else amount(high, unit)}]"


def notes_on_lines(lines: Sequence[LatencyFit]) -> Iterator[str]:
    """Where each of several lines fits, how well, and which point none of them goes through."""
    if len(lines) > 1:
        yield from map(note_on_line, lines)
    left_out = next((one.left_out for one in lines if one.left_out is not None), None)
    if left_out is not None:
        yield _OFF.format(size=amount(left_out, BYTE))


def note_on_line(line: LatencyFit) -> str:
    """Where a line fits, how well, and in brackets how surely."""
    return (
        f"From {amount(line.least, BYTE)} to {amount(line.most, BYTE)}, the best fit to the medians is "
        f"{amount(line.latency, SECOND)}{range_in_words(line.latency_range, SECOND)} + size / "
        f"{amount(line.bandwidth, BYTE_PER_SECOND)}{range_in_words(line.bandwidth_range, BYTE_PER_SECOND)}, with a "
        f"median error of {100 * line.median_error:.2g} %."
    )


def is_about_a_line(note: str) -> bool:
    """Whether `notes_on_lines` wrote *note*."""
    is_off = note.endswith(_OFF.partition("{size}")[2])
    return is_off or (note.startswith("From ") and ", the best fit to the medians is " in note)


def is_about_noise(note: str) -> bool:
    """Whether *note* says how far runs differ that nothing disturbs."""
    return note.startswith("Over gloo, ")


def _held_down(looks: Sequence[ClocksEvent]) -> Mapping[str, str]:
    """What held a clock down, for how much of the run if the driver counts that, and whose."""
    before = next((one for one in looks if one.when == "before"), None)
    after = next((one for one in looks if one.when == "after"), None)
    if before is None or after is None:
        return {}
    told = {
        rank: (sum(shares.values()), says)
        for rank, shares in slowed_by_rank(before, after).items()
        if (says := held_down_in_words(shares))
    }
    if not told:
        return {}
    rank = max(told, key=lambda one: told[one][0])
    return {_HELD_DOWN: told[rank][1]} | ({_OF_RANK: str(rank)} if rank else {})


def held_down_in_words(shares: Mapping[str, float]) -> str:
    """What held the clock of one GPU down."""
    counted = [f"by {why} for {share:.0%} of the run" for why, share in shares.items() if share > _THROTTLED]
    if counted or any(shares.values()):
        return ", ".join(counted)
    return f"by {' and '.join(shares)} when the run ended" if shares else ""


_NOTHING = GpuReading()
_MEGA = 1e6


def gpu_rows(events: Sequence[Event], machine: MachineFacts, measures: Sequence[Measure]) -> tuple[GpuRow, ...]:
    """The GPUs of all ranks, as far as their vendor's tool or the times of each rank tell."""
    looks = {one.when: one for one in events if isinstance(one, ClocksEvent)}
    before, after = looks.get("before"), looks.get("after")
    readings = after.readings if after else ()
    slowed = slowed_by_rank(before, after) if before and after else {}
    rates = next((one.derived_by_rank for one in reversed(measures) if one.derived_by_rank), ())
    found = []
    for rank in range(max(len(readings), len(rates))):
        reading = (readings[rank] if rank < len(readings) else None) or _NOTHING
        listed = str(machine.uuids[rank]) if rank < len(machine.uuids) else ""
        row = GpuRow(
            rank=rank,
            uuid=reading.uuid or listed,
            rates=rates[rank] if rank < len(rates) else {},
            clock=reading.clock,
            temperature=reading.temperature,
            power=reading.power,
            throttled=held_down_in_words(slowed.get(rank, {})),
        )
        found.append(row)
    return tuple(found)


def gpu_table(rows: Sequence[GpuRow]) -> Iterator[tuple[str, ...]]:
    """The *rows* as a table, without columns of which nothing is known."""
    names = dict.fromkeys(name for row in rows for name in row.rates)
    columns = [
        (translate("Rank"), *(str(row.rank) for row in rows)),
        ("UUID", *(row.uuid for row in rows)),
        *((name, *(row.rates[name].shown if name in row.rates else "" for row in rows)) for name in names),
        (translate("Clock"), *(_amount(row.clock and row.clock / _MEGA, "MHz") for row in rows)),
        (translate("Temperature"), *(_amount(row.temperature, "°C") for row in rows)),
        (translate("Power"), *(_amount(row.power, "W") for row in rows)),
        (translate("Held down"), *(row.throttled for row in rows)),
    ]
    yield from zip(*(one for one in columns if any(one[1:])), strict=True)


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.0f} {unit}"
