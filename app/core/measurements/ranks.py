"""How many ranks took part, by the ratio of the two bandwidths that nccl-tests prints."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.measurements.reports import SizeRow

# Bus over algorithm bandwidth of many ranks. It is (n - 1) / n of it for n, and 1 for the others.
_MOST_OF = {
    "all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0,
    "alltoallv": 1.0, "hypercube": 1.0, "gather": 1.0, "scatter": 1.0,
}  # fmt: skip
_SLACK = 2e-5  # of a ratio, for bandwidths that were computed in other digits
_LARGEST = 1 << 20


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


@dataclass(frozen=True, slots=True)
class RanksByRatio:
    """The most likely number of ranks, and the fewest and the most that are as likely."""

    likely: int
    fewest: int
    most: int


def ranks_by(collective: str | None, ratio: Interval) -> RanksByRatio | None:
    """The most likely number of ranks; None if *ratio* is of no number of ranks.

    Of those that are possible, the roundest: machines have 2, 4 or 8 GPUs.
    """
    most = _MOST_OF.get(collective or "")
    if most is None or ratio.low >= most:
        return None
    first = max(1, _ceiling(1 / (1 - ratio.low / most)))
    if ratio.high >= most:  # no upper end: it takes more digits to tell
        return None
    last = int(1 / (1 - ratio.high / most) + 1e-9)
    if not first <= last <= _LARGEST:
        return None
    for unit in (64, 8, 4, 2, 1):
        middle = (first + last) / 2 / unit
        nearest = round(middle) * unit
        if first <= nearest <= last and nearest:
            return RanksByRatio(nearest, -(-first // unit) * unit, last // unit * unit)
    return RanksByRatio(first, first, last)


def _ceiling(value: float) -> int:
    return int(value) + (value - int(value) > 1e-9)  # noqa: PLR2004 (of rounding)
