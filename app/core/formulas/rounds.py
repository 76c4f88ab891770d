"""Rounds that move one piece each, as in ring collectives and the all-to-all."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def rounds_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that a rank sends in *ranks* - 1 rounds of one piece, a piece being size / ranks."""
    rounds = whole("ranks", ranks) - 1
    return rounds * (positive("size", size) / ranks)


def rounds_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds) -> Seconds:
    """Time of *ranks* - 1 rounds, one after the other, in which every rank sends one piece."""
    rounds = whole("ranks", ranks) - 1
    piece = positive("size", size) / ranks
    return rounds * (at_least("latency", latency, 0) + piece / positive("bandwidth", bandwidth))
