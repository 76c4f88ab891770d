"""A machine that overlaps computing with loading, one slice of the work after another."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """FLOP and bytes per second."""

    flops: float
    bytes: float


def run(machine: Machine, flops: float, size: float, slices: int) -> float:
    """Time until all slices are computed, each while the next one is loaded."""
    arrived = computed = 0.0
    for _ in range(slices):
        arrived += size / slices / machine.bytes
        computed = max(computed, arrived) + flops / slices / machine.flops
    return computed
