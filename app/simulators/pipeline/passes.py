"""The types of a pipeline schedule: passes, blocks, and each device's order of work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

PassKind = Literal["F", "B", "I", "W"]


class Pass(NamedTuple):
    """One micro-batch on one stage.

    F is its forward pass, B a whole backward pass; I is the half of it that yields the gradient of
    the input, W the half that yields the gradient of the weights.
    """

    kind: PassKind
    microbatch: int
    stage: int


# Passes that run as one block: inputs are needed at its start, results are ready at its end.
Block = tuple[Pass, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which device holds which stage, and the order in which every device works.

    A micro-batch passes through stages 0 to *depth* - 1; *device_of* returns the device of each. A
    device holds *chunks* stages of each micro-batch that it processes, so one chunk takes that
    share of the device's time for a micro-batch.
    """

    name: str
    devices: int
    microbatches: int
    depth: int
    chunks: int
    device_of: Callable[[int, int], int]
    orders: Sequence[Sequence[Block]]
