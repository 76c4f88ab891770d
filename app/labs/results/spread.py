"""How much the GPUs of a run differ, where each of them did the same by itself."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.labs.machines.machine import MachineFacts
from app.labs.results.report import Measure
from app.labs.spec import Lab

OUTLIER = 0.03  # of the median of all, beyond which a GPU is named


@dataclass(frozen=True, slots=True)
class GpuSpread:
    """The times of a measure by rank: their range over their median, and what is *slow*.

    *slow* has, by rank, how much longer than the median it took, as a share.
    """

    width: float
    slow: dict[int, float]


def gpu_spread(times: Sequence[float]) -> GpuSpread:
    """The spread of *times*, one of each rank.

    >>> gpu_spread([1.0, 1.01, 1.0, 1.25]).slow
    {3: 0.24}
    """
    middle = statistics.median(times)
    slow = {rank: round(time / middle - 1, 2) for rank, time in enumerate(times) if time / middle - 1 > OUTLIER}
    return GpuSpread((max(times) - min(times)) / middle, slow)


def note_on_spread(lab: Lab, measures: Sequence[Measure], machine: MachineFacts) -> str:
    """The GPU that is slower than the others at the last place, or how little they differ."""
    last = next((one for one in reversed(measures) if len(one.by_rank) > 1), None)
    if last is None or not lab.alone:
        return ""
    spread = gpu_spread(last.by_rank)
    where = ", ".join(f"{key} {lab.shown_at(key, value)}" for key, value in last.where.items())
    at = f" at {where}" if where else ""
    if not spread.slow:
        return f"The {len(last.by_rank)} GPUs differ by {100 * spread.width:.2g} %{at}."
    return f"{slow_gpus(spread, machine)} than the median of {len(last.by_rank)}{at}."


def slow_gpus(spread: GpuSpread, machine: MachineFacts) -> str:
    """The GPUs that are slow, with their UUIDs, in words that end with a comparison."""
    found = []
    for rank, share in spread.slow.items():
        own = f" ({machine.uuids[rank]})" if rank < len(machine.uuids) else ""
        found.append(f"GPU {rank}{own} takes {100 * share:.0f} % longer")
    return "; ".join(found)
