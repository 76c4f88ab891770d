"""A pipeline over all ranks: PyTorch's schedule, and the stages of this rank."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleZBVZeroBubble,
)

from app.labs.runner.rank import WorkerRank

_SCHEDULES = {
    "gpipe": (ScheduleGPipe, 1),
    "1f1b": (Schedule1F1B, 1),
    "interleaved": (ScheduleInterleaved1F1B, 2),
    "zb_v": (ScheduleZBVZeroBubble, 2),
}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A *schedule* of *depth* stages, of which this rank has those called *own*."""

    own: Sequence[int]
    modules: Sequence[nn.Module]
    depth: int
    schedule: Any

    def step(self, inputs: torch.Tensor, target: torch.Tensor) -> None:
        """Forward and backward for all micro-batches."""
        given = (inputs,) if 0 in self.own else ()
        if self.depth - 1 in self.own:
            self.schedule.step(*given, target=target, losses=[])
        else:
            self.schedule.step(*given)


def chunks_of(name: str) -> int:
    """The stages that each rank has under the schedule *name*."""
    return _SCHEDULES[name][1]


def pipeline_of(
    rank: WorkerRank, name: str, micro: int, batch: torch.Tensor, stage: Callable[[int], nn.Module]
) -> Pipeline:
    """The schedule *name* over *micro* micro-batches; *stage* makes each stage from its number.

    All stages take and return what looks like *batch*. Where that is not told, PyTorch's stages
    send it to each other, for which they need NumPy.
    """
    kind, chunks = _SCHEDULES[name]
    depth = rank.world * chunks
    own = [rank.rank + rank.world * chunk for chunk in range(chunks)]
    if name == "zb_v":
        own = [rank.rank, depth - 1 - rank.rank]
    modules = [stage(index) for index in own]
    like = torch.empty_like(batch)
    passed = torch.empty_like(like, requires_grad=True)
    stages = [
        PipelineStage(module, index, depth, rank.device, passed if index else like, passed)
        for module, index in zip(modules, own, strict=True)
    ]
    schedule = kind(stages if chunks > 1 else stages[0], n_microbatches=micro, loss_fn=mean_square)
    return Pipeline(own, modules, depth, schedule)


def mean_square(found: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss of a micro-batch."""
    return (found - target).square().mean()
