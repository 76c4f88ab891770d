"""How sure a line of latency and bandwidth is, and the one bad point that would bend it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.measurements.pieces import Point, pieces
from app.core.measurements.reports import AlphaBetaPiece
from app.core.units import Bytes, BytesPerSecond, Ratio, Seconds

_STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # 95 %, from 1 on
_NORMAL, _NEXT = 1.96, 2.372  # for more degrees of freedom n: 1.96 + 2.372 / n
_FEWEST, _MANY = 5, 32  # points, of which one can be told from the others, and bends the line
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
    if not _FEWEST <= len(ordered) <= _MANY:
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
