"""A simulated run with random failures, which restarts from its last checkpoint."""

import math
from dataclasses import dataclass
from random import Random


@dataclass(slots=True)
class FaultyRun:
    """The useful time, the total time, and the failures of a run."""

    kept: float = 0.0
    clock: float = 0.0
    failures: int = 0


def run_once(
    source: Random, interval: float, checkpoint: float, mtbf: float, restart: float, run: FaultyRun
) -> None:
    """Complete one interval and its checkpoint, through any number of failures."""
    until = source.expovariate(1 / mtbf)
    left = interval + checkpoint
    while until < left:
        run.failures += 1
        run.clock += until
        left = restart + interval + checkpoint  # failures strike during a restart too
        until = source.expovariate(1 / mtbf)
    run.clock += left
    run.kept += interval


def run_until(
    seed: int, intervals: int, interval: float, checkpoint: float, mtbf: float, restart: float = 0.0
) -> FaultyRun:
    """A whole run of *intervals* intervals."""
    source, run = Random(seed), FaultyRun()
    for _ in range(intervals):
        run_once(source, interval, checkpoint, mtbf, restart, run)
    return run


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
