"""The words of a pipeline schedule: passes, where a stage lives, who does what in which order."""

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


# Passes that run as one block: what each needs is there at the start, what each yields at the end.
Block = tuple[Pass, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who holds which stage, and the order in which every device works.

    A micro-batch goes through stages 0 to *depth* - 1; *device_of* says where it meets each. A
    device holds *chunks* of the stages of each micro-batch that it sees, so one chunk takes that
    share of the device's time for a micro-batch.
    """

    name: str
    devices: int
    microbatches: int
    depth: int
    chunks: int
    device_of: Callable[[int, int], int]
    orders: Sequence[Sequence[Block]]
