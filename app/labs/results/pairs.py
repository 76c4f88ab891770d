"""Every pair of ranks: a matrix of times for each size, and the pairs that are slow."""

import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from app.core.translation import noted, translate
from app.core.units import BYTE, BYTE_PER_SECOND, SECOND
from app.labs.machines.machine import MachineFacts
from app.labs.parameters import amount
from app.labs.results.report import Measure, PairMatrix, Report, SlowPair

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
    links = _links(report.machine, each) if report.backend == "nccl" else ()
    return links[first % each][second % each] if links else ""


def _links(machine: MachineFacts, count: int) -> Sequence[Sequence[str]]:
    """The words of the matrix of links, if it has that many GPUs."""
    rows = [row.split()[:count] for row in _ROW.findall(str(machine.topology or ""))]
    return rows if len(rows) == count and all(len(row) == count for row in rows) else ()
