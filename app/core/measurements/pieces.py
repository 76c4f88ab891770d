"""At most three lines through the times of a collective, and how sure each is."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.core.measurements.reports import AlphaBetaPiece
from app.core.units import Bytes, BytesPerSecond, Ratio, Seconds

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


_STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # 95 %, from 1 on
_NORMAL, _NEXT = 1.96, 2.372  # for more degrees of freedom n: 1.96 + 2.372 / n
_LINE_INTERVAL_FEWEST, _MANY = 5, 32  # points, of which one can be told from the others, and bends the line
_BENT = 0.02  # a relative error from which on a point may be to blame
_THIRD = 1 / 3  # what must remain of the error without that point


@dataclass(frozen=True, slots=True)
class LineInterval:
    """Where latency and bandwidth are with a probability of 95 %; None has no upper end."""

    latency: tuple[Seconds, Seconds]
    bandwidth: tuple[BytesPerSecond, BytesPerSecond | None]


def line_interval(line: AlphaBetaPiece, points: Sequence[Point]) -> LineInterval | None:
    """The interval of *line*, the least squares of the relative errors at *points*.

    None for fewer than three points, through two of which any line can go.
    """
    own = [(size, time) for size, time in points if line.first <= size <= line.last]
    free = len(own) - 2
    if free < 1:
        return None
    aa = sum(1 / time**2 for _, time in own)
    ab = sum(size / time**2 for size, time in own)
    bb = sum((size / time) ** 2 for size, time in own)
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        return None
    variance = sum((line.time(size) / time - 1) ** 2 for size, time in own) / free
    wide = _student(free) * math.sqrt(variance / determinant)
    latency, slope = wide * math.sqrt(bb), wide * math.sqrt(aa)
    return LineInterval(
        (max(0.0, line.alpha - latency), line.alpha + latency),
        (1 / (1 / line.bandwidth + slope), _inverse(1 / line.bandwidth - slope)),
    )


def _student(free: int) -> float:
    """The factor of a standard error that 95 % are within, with *free* degrees of freedom."""
    return _STUDENT[free - 1] if free <= len(_STUDENT) else _NORMAL + _NEXT / free


def _inverse(slope: float) -> float | None:
    return 1 / slope if slope > 0 else None


def bad_point(points: Sequence[Point]) -> Bytes | None:
    """The size of the one point without which as few lines have a third of the error; None if none.

    A line is bent towards it, or two are fitted around it. Among many points, one bends no line.
    """
    ordered = sorted(points)
    if not _LINE_INTERVAL_FEWEST <= len(ordered) <= _MANY:
        return None
    everything = pieces(ordered)
    error = _error(ordered, everything)
    if error < _BENT:
        return None
    found = []
    for number, (size, _) in enumerate(ordered):
        others = ordered[:number] + ordered[number + 1 :]
        lines = pieces(others)
        if len(lines) <= max(1, len(everything)):
            found.append((_error(others, lines), size))
    least, size = min(found, default=(math.inf, 0.0))
    return size if least < _THIRD * error else None


def _error(points: Sequence[Point], lines: Sequence[AlphaBetaPiece]) -> Ratio:
    """The root of the mean squared relative error; infinite where no line is."""
    total = 0.0
    for size, time in points:
        line = next((one for one in lines if one.first <= size <= one.last), None)
        total += (line.time(size) / time - 1) ** 2 if line else math.inf
    return math.sqrt(total / len(points)) if points else math.inf
