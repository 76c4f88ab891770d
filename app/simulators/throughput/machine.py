"""A machine that computes and moves at once, a slice of the work after the other."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """What it can do in a second."""

    flops: float
    bytes: float


def run(machine: Machine, flops: float, size: float, slices: int) -> float:
    """Time until all slices are computed, when a slice is computed while the next one arrives."""
    arrived = computed = 0.0
    for _ in range(slices):
        arrived += size / slices / machine.bytes
        computed = max(computed, arrived) + flops / slices / machine.flops
    return computed
