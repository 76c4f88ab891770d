"""The types of a pipeline schedule: passes, blocks, and each device's order of work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

PassKind = Literal["F", "B", "I", "W"]
Waits = Literal["first", "every"]


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
class PipelineSchedule:
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
    waits: Waits = "every"

    def presumes(self, kind: PassKind, microbatch: int, stage: int) -> bool:
        """Whether a pass starts without looking whether its input has come around.

        With *waits* "first" only the first micro-batch of a round waits for the message from the
        last device to the first, or back.
        """
        if self.waits == "every" or not microbatch % self.devices:
            return False
        first, last = stage % self.devices == 0, (stage + 1) % self.devices == 0
        return (kind == "F" and first) or (kind == "B" and last and stage < self.depth - 1)
