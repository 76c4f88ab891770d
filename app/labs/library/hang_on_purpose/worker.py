"""Ranks that wait for each other until their patience ends, and a table of their collectives."""

from datetime import timedelta

import torch
import torch.distributed as dist

from app.labs.runner.rank import WorkerRank

_COUNT = 1024  # elements that a rank has of a layer
_OPERATIONS = ("nothing", "all_gather", "all_reduce")


class Recorder:
    """The collectives of one rank in *group*, numbered; the last one, and whether it completed."""

    def __init__(self, group: dist.ProcessGroup, world: int) -> None:
        self._group, self._world = group, world
        self.number, self.operation, self.completed = 0, 0, True

    def all_gather(self) -> None:
        """Gather a layer."""
        part = torch.ones(_COUNT)
        self._begin(1)
        dist.all_gather([torch.empty(_COUNT) for _ in range(self._world)], part, group=self._group)
        self.completed = True

    def all_reduce(self) -> None:
        """Sum one number."""
        self._begin(2)
        dist.all_reduce(torch.ones(1), group=self._group)
        self.completed = True

    def _begin(self, operation: int) -> None:
        self.number, self.operation, self.completed = self.number + 1, operation, False


def main(rank: WorkerRank) -> None:
    """Step until all ranks hang, then compare what each has recorded."""
    odd, patience = int(rank.number("odd")), timedelta(seconds=rank.number("patience"))
    if odd >= rank.world:
        raise ValueError(f"odd must be a rank below {rank.world}, not {odd}")
    group, other = (dist.new_group(timeout=patience) for _ in range(2))
    recorder = Recorder(group, rank.world)
    timed_out = _steps(rank, recorder, other)
    rank.report.check("hang", timed_out)
    table = list(
        zip(
            *(map(int, rank.all_gather(value)) for value in (recorder.number, recorder.operation, recorder.completed)),
            strict=True,
        )
    )
    for place, (number, operation, completed) in enumerate(table):
        state = "completed" if completed else "started"
        rank.report.tell(f"rank {place}", f"number {number}, {_OPERATIONS[operation]}, {state}")
    numbers = [number for number, _, _ in table]
    rank.report.measure("culprit", [float(numbers.index(min(numbers)))])
    rank.report.measure("waiting", [float(max(numbers))])
    rank.report.measure("behind", [float(min(numbers))])
    rank.report.measure("complaints", [float(sum(not completed for _, _, completed in table))])


def _steps(rank: WorkerRank, recorder: Recorder, other: dist.ProcessGroup) -> bool:
    """Whether this rank waited until its patience ended."""
    odd, last = int(rank.number("odd")), int(rank.number("step"))
    try:
        for step in range(1, last + 1):
            for _ in range(int(rank.number("layers"))):
                recorder.all_gather()
            if step == last and rank.rank == odd:
                dist.recv(torch.empty(1), (odd + 1) % rank.world, group=other)  # nobody sends it
            recorder.all_reduce()
    except RuntimeError:
        return True
    return False
