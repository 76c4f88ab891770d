"""A straight line through times: what a message costs, and what a byte does."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_LEAST = 3  # points that say something about a line


@dataclass(frozen=True, slots=True)
class Line:
    """time = latency + size / bandwidth, and how far the points are from it."""

    latency: float
    bandwidth: float
    median_error: float

    def at(self, size: float) -> float:
        """The time that the line says."""
        return self.latency + size / self.bandwidth


def fit(points: Sequence[tuple[float, float]]) -> Line | None:
    """The line that is least wrong, in proportion, at *points* (size, time); None without one.

    Least squares of the relative errors; a latency below zero is none.
    """
    if len({size for size, _ in points}) < _LEAST or min(time for _, time in points) <= 0:
        return None
    rows = [(1 / time, size / time) for size, time in points]
    ones = [a for a, _ in rows]
    aa, ab = sum(a * a for a in ones), sum(a * b for a, b in rows)
    bb, a1, b1 = sum(b * b for _, b in rows), sum(ones), sum(b for _, b in rows)
    spread = aa * bb - ab * ab
    if not 0 < spread < math.inf:
        return None
    latency, slope = (a1 * bb - b1 * ab) / spread, (b1 * aa - a1 * ab) / spread
    if latency < 0:
        latency, slope = 0.0, b1 / bb
    if not 0 < slope < math.inf:
        return None
    errors = [abs((latency + size * slope) / time - 1) for size, time in points]
    return Line(latency, 1 / slope, statistics.median(errors))
