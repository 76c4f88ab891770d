"""DualPipe and DualPipeV: two streams of micro-batches that meet in the middle.

DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.2.1, and the DualPipe
repository.
"""

from collections import deque
from itertools import count

from app.core.simulators.pipeline.passes import Block, Pass, PassKind, PipelineSchedule
from app.core.simulators.pipeline.placement import both_ways, fold_stages


def dualpipe(devices: int, microbatches: int) -> PipelineSchedule:
    """Half of the micro-batches go down the devices, half go up; each device holds two stages."""
    half = devices // 2
    stream = microbatches // 2
    orders = []
    for device in range(devices):
        near = min(device, devices - 1 - device)
        own = 0 if device < half else stream
        other = stream - own
        there, back = near, devices - 1 - near
        orders.append(_Order(near, half, stream, (own, other), (there, back)).blocks())
    place = both_ways(devices, microbatches)
    return PipelineSchedule("dualpipe", devices, microbatches, devices, 1, place, orders)


def dualpipe_v(devices: int, microbatches: int) -> PipelineSchedule:
    """DualPipe cut in half: one stream that goes down the devices and up again."""
    orders = []
    for device in range(devices):
        stages = device, 2 * devices - 1 - device
        orders.append(_Order(device, devices, microbatches, (0, 0), stages).blocks())
    return PipelineSchedule("dualpipe_v", devices, microbatches, 2 * devices, 2, fold_stages(devices), orders)


class _Order:
    """The order of one device, *near* the end of its half of *half* devices.

    Stream 0 enters at that end, stream 1 comes back to it.
    """

    def __init__(
        self, near: int, half: int, microbatches: int, first: tuple[int, int], stages: tuple[int, int]
    ) -> None:
        self.near, self.half, self.microbatches = near, half, microbatches
        self.stages = stages
        self.next_of = {(k, s): count(first[s]) for k in ("F", "B") for s in (0, 1)}
        self.waiting: deque[Pass] = deque()
        self.order: list[Block] = []

    def blocks(self) -> list[Block]:
        """The whole order, in the eight parts of the published schedule."""
        inner = self.half - self.near - 1
        outer = self.near + 1
        for _ in range(2 * inner):
            self.do(self.forward(0))
        for _ in range(outer):
            self.do(self.forward(0))
            self.do(self.forward(1))
        for _ in range(inner):
            self.do(self.split_backward(1))
            self.weights()
            self.do(self.forward(1))
        self.both_directions(self.microbatches - 2 * self.half + self.near + 1)
        for _ in range(inner):
            self.do(self.backward(1))
            self.do(self.forward(1), self.backward(0))
        self.draining(outer)
        for _ in range(inner):
            self.weights()
            self.do(self.split_backward(0))
        for _ in range(outer):
            self.weights()
        return self.order

    def both_directions(self, rounds: int) -> None:
        """The main part: forward passes of one stream overlap backward passes of the other."""
        for turn in range(rounds):
            if turn == 0 and self.near == self.half - 1:
                self.do(self.forward(0))
                self.do(self.backward(1))
            else:
                self.do(self.forward(0), self.backward(1))
            self.do(self.forward(1), self.backward(0))

    def draining(self, rounds: int) -> None:
        """The last backward passes; the second half of them delays the weight gradients."""
        split = False
        for turn in range(rounds):
            if turn == rounds // 2 and self.near % 2 == 1:
                split = True
            self.do(self.split_backward(1) if split else self.backward(1))
            if turn == rounds // 2 and self.near % 2 == 0:
                split = True
            self.do(self.split_backward(0) if split else self.backward(0))

    def do(self, *passes: Pass) -> None:
        self.order.append(passes)

    def forward(self, stream: int) -> Pass:
        return self._next("F", "F", stream)

    def backward(self, stream: int) -> Pass:
        return self._next("B", "B", stream)

    def split_backward(self, stream: int) -> Pass:
        half = self._next("I", "B", stream)
        self.waiting.append(half._replace(kind="W"))
        return half

    def weights(self) -> None:
        self.do(self.waiting.popleft())

    def _next(self, kind: PassKind, counted: str, stream: int) -> Pass:
        return Pass(kind, next(self.next_of[counted, stream]), self.stages[stream])
