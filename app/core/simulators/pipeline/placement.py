"""Which device holds a stage of a micro-batch."""

from collections.abc import Callable


def straight(devices: int) -> Callable[[int, int], int]:
    """Stage i on device i; with more stages than devices, round-robin."""
    return lambda _microbatch, stage: stage % devices


def fold_stages(devices: int) -> Callable[[int, int], int]:
    """Down the devices and up again: the first device holds the first and the last stage."""
    return lambda _microbatch, stage: min(stage, 2 * devices - 1 - stage)


def both_ways(devices: int, microbatches: int) -> Callable[[int, int], int]:
    """Half of the micro-batches enter at the first device, the other half at the last."""
    half = microbatches // 2
    return lambda microbatch, stage: stage if microbatch < half else devices - 1 - stage
