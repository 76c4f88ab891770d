"""The best interval between checkpoints, searched."""

import math


def least_wasteful(checkpoint: float, mtbf: float) -> float:
    """The interval with the least expected time per second of work, by golden-section search.

    The expected time is summed over the number of failed attempts, each of which takes the mean
    time of a failed attempt.
    """

    def spent(interval: float) -> float:
        tried = interval + checkpoint
        through = math.exp(-tried / mtbf)
        failing = (mtbf - (mtbf + tried) * through) / (1 - through)
        return (tried + failing * (1 / through - 1)) / interval

    low, high = 1e-6 * mtbf, 1.5 * mtbf
    shrink = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - shrink * (high - low), low + shrink * (high - low)
        low, high = (low, right) if spent(left) < spent(right) else (left, high)
    return (low + high) / 2
