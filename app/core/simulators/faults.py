"""A simulated run with random failures, which restarts from its last checkpoint."""

from dataclasses import dataclass
from random import Random


@dataclass(slots=True)
class FaultyRun:
    """The useful time, the total time, and the failures of a run."""

    kept: float = 0.0
    clock: float = 0.0
    failures: int = 0


def run_once(source: Random, interval: float, checkpoint: float, mtbf: float, restart: float, run: FaultyRun) -> None:
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
