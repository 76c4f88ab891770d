"""How long a pipeline schedule takes to be played out, the slowest of all."""

import time
from collections.abc import Iterator

from app.core.simulators.pipeline import SCHEDULES, Times, build, simulate_schedule
from tests.bench.figures import Figure

EQUAL = Times(1.0, 1.0, 1.0, 0.1)


def _slowest(stages: int, microbatches: int) -> tuple[float, str]:
    found = []
    for name in SCHEDULES:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            simulate_schedule(build(name, stages, microbatches, 2 if name == "interleaved" else 1), EQUAL)
            times.append(time.perf_counter() - started)
        found.append((min(times), name))
    return max(found)


def measure() -> Iterator[Figure]:
    """A usual size and a large one."""
    took, name = _slowest(16, 128)
    yield Figure(f"schedule of 16 stages, 128 ({name})", 1e3 * took, "ms", 50, "lower")
    took, name = _slowest(64, 512)
    yield Figure(f"schedule of 64 stages, 512 ({name})", took, "s", 1, "lower")
