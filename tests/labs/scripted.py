"""A host, a GPU and its queue, whose clocks move only as a script says."""

from collections import deque
from collections.abc import Sequence

from app.labs.runner.timer import Mark, Timer


class ScriptedMark:
    def __init__(self, machine: "ScriptedGpu", at: float) -> None:
        self.machine, self.at = machine, at

    def has_passed(self) -> bool:
        return self.machine.host >= self.at

    def seconds_to(self, later: Mark) -> float:
        assert isinstance(later, ScriptedMark)
        assert self.machine.host >= later.at  # an event is read after it has passed
        return later.at - self.at


class ScriptedGpu:
    """Each launch costs the host *launch* seconds, each synchronize *back*; *room* launches fit.

    It is also the group of ranks: of all of them, this one is the slowest by *others*.
    """

    def __init__(self, launch: float, back: float = 0.0, room: int = 1024, others: float = 1.0) -> None:
        self.launch, self.back, self.room, self.others = launch, back, room, others
        self.host = self.free = 0.0
        self.calls = 0
        self.pauses: dict[int, float] = {}  # seconds for which the host does not get to run
        self._queue: deque[float] = deque()

    def run(self, seconds: float) -> None:
        """Launch what takes the GPU *seconds*."""
        self.host += self.launch
        while self._queue and self._queue[0] <= self.host:
            self._queue.popleft()
        if len(self._queue) >= self.room:
            self.host = max(self.host, self._queue.popleft())
        self.free = max(self.free, self.host) + seconds
        self._queue.append(self.free)

    def call(self, seconds: float) -> None:
        """What is timed."""
        self.calls += 1
        self.host += self.pauses.get(self.calls, 0.0)
        self.run(seconds)

    def now(self) -> float:
        return self.host

    def sleep(self, seconds: float) -> None:
        self.host += seconds

    def mark(self) -> Mark:
        return ScriptedMark(self, max(self.free, self.host))

    def spin(self, seconds: float) -> None:
        self.run(seconds)

    def synchronize(self) -> None:
        self.host = max(self.host, self.free) + self.back

    def max_over_ranks(self, values: Sequence[float]) -> list[float]:
        return [value * self.others for value in values]

    def barrier(self) -> None:
        self.run(5e-6)

    @property
    def timer(self) -> Timer:
        return Timer(self, self, self)
