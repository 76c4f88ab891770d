"""How far predictions are from measurements, and whether they rank layouts in the same order."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

_FEWEST = 2  # rows of a group that can be ranked


@dataclass(slots=True)
class _Group:
    """The rows of a group, and the measurement of those that are predicted to be the best."""

    predicted: "array[float]" = field(default_factory=lambda: array("d"))
    measured: "array[float]" = field(default_factory=lambda: array("d"))
    rows: int = 0
    first: float = math.inf
    firsts: int = 0
    sum_of_firsts: float = 0.0
    best: float = math.inf

    def add(self, predicted: float, measured: float) -> None:
        self.rows += 1
        self.best = min(self.best, measured)
        if predicted < self.first:
            self.first, self.firsts, self.sum_of_firsts = predicted, 0, 0.0
        if predicted == self.first:
            self.firsts += 1
            self.sum_of_firsts += measured

    @property
    def regret(self) -> float:
        """How much more than the best the row that is ranked first has; the mean of equal ones."""
        return max(0.0, self.sum_of_firsts / self.firsts / self.best - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Errors relative to what was measured, and agreement in rank.

    *mape* is the mean absolute error, *bias* the mean error, positive where predictions are too
    high. *spearman* and *regret* are means over *groups*, None if no group has two rows; *ranked*
    rows were compared in rank. Of the *intervals*, *inside* hold what was measured.
    """

    rows: int
    mape: float
    bias: float
    spearman: float | None
    groups: int
    regret: float | None
    worst_regret: float | None
    worst_group: str | None
    ranked: int
    intervals: int
    inside: int
    interval_width: float | None


class Accuracy:
    """Predictions beside measurements, added one by one; memory is bounded.

    The first *ranked* rows are compared in rank, and the first *groups* are ranked at all; the
    errors are those of every row.
    """

    def __init__(self, ranked: int = 200_000, groups: int = 100_000) -> None:
        self._most_ranked, self._most_groups = ranked, groups
        self._rows = self._ranked = self._intervals = self._inside = 0
        self._absolute = self._signed = self._width = 0.0
        self._groups: dict[str, _Group] = {}

    def add(self, group: str, predicted: float, measured: float) -> None:
        """Add a row of *group*; what was *measured* is above 0."""
        error = predicted / measured - 1
        self._rows += 1
        self._absolute += abs(error)
        self._signed += error
        rows = self._groups.get(group)
        if rows is None:
            if len(self._groups) >= self._most_groups:
                return
            rows = self._groups[group] = _Group()
        rows.add(predicted, measured)
        if self._ranked < self._most_ranked:
            self._ranked += 1
            rows.predicted.append(predicted)
            rows.measured.append(measured)

    def bracket(self, low: float, high: float, measured: float) -> None:
        """Count whether the interval from *low* to *high* holds what was *measured*."""
        self._intervals += 1
        self._inside += low <= measured <= high
        self._width += (high - low) / ((high + low) / 2)

    def summary(self) -> Summary | None:
        """The summary of all rows; None if there are none."""
        if not self._rows:
            return None
        groups = {name: rows for name, rows in self._groups.items() if rows.rows >= _FEWEST}
        worst = max(groups, key=lambda name: groups[name].regret, default=None)
        ranks = [found for rows in groups.values() if (found := spearman(rows.predicted, rows.measured)) is not None]
        return Summary(
            rows=self._rows,
            mape=self._absolute / self._rows,
            bias=self._signed / self._rows,
            spearman=_mean(ranks),
            groups=len(groups),
            regret=_mean([rows.regret for rows in groups.values()]),
            worst_regret=None if worst is None else groups[worst].regret,
            worst_group=worst,
            ranked=self._ranked,
            intervals=self._intervals,
            inside=self._inside,
            interval_width=self._width / self._intervals if self._intervals else None,
        )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values with their mean rank; None if it is undefined.

    >>> spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
    0.5
    """
    one, other = ranks(first), ranks(second)
    middle = (len(one) + 1) / 2
    square = math.sqrt(sum((a - middle) ** 2 for a in one) * sum((b - middle) ** 2 for b in other))
    if not square:
        return None
    return sum((a - middle) * (b - middle) for a, b in zip(one, other, strict=True)) / square


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each of *values* from 1; equal ones share the mean of theirs.

    >>> ranks([30.0, 10.0, 30.0])
    [2.5, 1.0, 2.5]
    """
    found = [0.0] * len(values)
    before = 0
    for _, equal in groupby(sorted(range(len(values)), key=values.__getitem__), values.__getitem__):
        places = list(equal)
        for place in places:
            found[place] = before + (len(places) + 1) / 2
        before += len(places)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
