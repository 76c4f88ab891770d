"""At most three lines through the times of a collective, each over a range of sizes.

NCCL changes protocol (LL, LL128, Simple) and algorithm (tree, ring, NVLS) with the size, so one
line alpha + size / bandwidth over all sizes misses by 11 % in the median.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.core.measurements.reports import AlphaBetaPiece
from app.core.units import Bytes, Ratio, Seconds

Point = tuple[Bytes, Seconds]
MOST = 3  # lines
_FEWEST = 3  # points of a line
_CUTS = 64  # places where lines may meet
_EXACT = 1e-3  # a relative error that comes from the digits that are printed
_HALF = 0.5  # what a further line must leave of the error


@dataclass(frozen=True, slots=True)
class Sums:
    """Of points (size s, time t), each weighted by 1/t: all that a line through them needs."""

    count: float
    aa: float  # 1/t²
    ab: float  # s/t²
    bb: float  # s²/t²
    a: float  # 1/t
    b: float  # s/t

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(
            self.count - other.count,
            self.aa - other.aa,
            self.ab - other.ab,
            self.bb - other.bb,
            self.a - other.a,
            self.b - other.b,
        )

    def line(self) -> tuple[Seconds, float] | None:
        """Alpha and seconds per byte with the least squares of relative errors; None if none rises.

        Alpha is at least 0.
        """
        determinant = self.aa * self.bb - self.ab * self.ab
        if determinant <= 1e-12 * self.aa * self.bb:
            return None
        alpha = (self.a * self.bb - self.b * self.ab) / determinant
        slope = (self.b * self.aa - self.a * self.ab) / determinant
        if alpha < 0:
            alpha, slope = 0.0, self.b / self.bb
        return (alpha, slope) if slope > 0 else None

    def squares(self) -> float:
        """Sum of the squared relative errors of the line; infinite if there is none."""
        if self.count < _FEWEST or not (line := self.line()):
            return math.inf
        alpha, slope = line
        crossed = alpha * (alpha * self.aa + 2 * slope * self.ab) + slope * slope * self.bb
        return max(0.0, crossed - 2 * (alpha * self.a + slope * self.b) + self.count)


def pieces(points: Sequence[Point]) -> tuple[AlphaBetaPiece, ...]:
    """The lines through *points*: a further one only if it halves the relative error."""
    ordered = sorted(point for point in points if point[0] > 0 and point[1] > 0)
    if len(ordered) < _FEWEST:
        return ()
    cuts = _cuts(len(ordered))
    chosen: tuple[int, ...] = ()
    before = math.inf
    for ends, squares in _best(ordered, cuts):
        error = math.sqrt(squares / len(ordered))
        if error < before * _HALF and before > _EXACT:
            chosen, before = ends, error
    parts = [ordered[first:last] for first, last in zip(chosen, chosen[1:], strict=False)]
    return tuple(piece for part in parts if (piece := _piece(part)))


def _cuts(count: int) -> list[int]:
    """Places between *count* points where lines may meet, with both ends."""
    parts = min(count, _CUTS)
    return [i * count // parts for i in range(parts + 1)]


def _best(points: Sequence[Point], cuts: Sequence[int]) -> list[tuple[tuple[int, ...], float]]:
    """For one line, two lines, and so on: where they begin and end, and their squared errors."""
    none = Sums(0, 0, 0, 0, 0, 0)
    upto = list(accumulate(map(_sums, points), _added, initial=none))
    cost = {(i, j): (upto[cuts[j]] - upto[cuts[i]]).squares() for j in range(len(cuts)) for i in range(j)}
    found = []
    best: list[tuple[float, tuple[int, ...]]] = [(0.0 if i == 0 else math.inf, (0,)) for i in range(len(cuts))]
    for _ in range(MOST):
        best = [
            min(((best[i][0] + cost[i, j], (*best[i][1], cuts[j])) for i in range(j)), default=(math.inf, ()))
            for j in range(len(cuts))
        ]
        squares, ends = best[-1]
        if math.isfinite(squares):
            found.append((ends, squares))
    return found


def _sums(point: Point) -> Sums:
    size, time = point
    a, b = 1 / time, size / time
    return Sums(1, a * a, a * b, b * b, a, b)


def _added(one: Sums, two: Sums) -> Sums:
    return Sums(one.count + two.count, one.aa + two.aa, one.ab + two.ab, one.bb + two.bb, one.a + two.a, one.b + two.b)


def _piece(points: Sequence[Point]) -> AlphaBetaPiece | None:
    """The line through *points*, from their own sums: differences of large ones lose digits."""
    total = Sums(0, 0, 0, 0, 0, 0)
    for point in points:
        total = _added(total, _sums(point))
    if not (line := total.line()):
        return None
    return AlphaBetaPiece(points[0][0], points[-1][0], line[0], 1 / line[1])


def median_error(points: Sequence[Point], lines: Sequence[AlphaBetaPiece]) -> Ratio:
    """The median of how far the *lines* are from the times of *points*; 0 without lines."""
    errors = [
        abs(piece.time(size) / time - 1)
        for size, time in points
        if (piece := next((one for one in lines if one.first <= size <= one.last), None))
    ]
    return statistics.median(errors) if errors else 0.0
