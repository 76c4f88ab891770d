"""PyTorch's pipeline schedules, with stages that sleep."""

import time
from functools import partial
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

from app.labs.ranks.rank import Rank
from app.labs.ranks.sleeping import sleep_until

_WIDTH, _BATCH = 16, 2  # numbers of a sample, samples of a micro-batch
_SCHEDULES = {
    "gpipe": (ScheduleGPipe, 1),
    "1f1b": (Schedule1F1B, 1),
    "interleaved": (ScheduleInterleaved1F1B, 2),
    "zb_v": (ScheduleZBVZeroBubble, 2),
}


class _Passed(torch.autograd.Function):
    """The forward pass, and the gradient of the input."""

    @staticmethod
    def forward(ctx: Any, given: torch.Tensor, seconds: float) -> torch.Tensor:
        """Sleep, and pass the input on."""
        sleep_until(time.perf_counter() + seconds)
        ctx.seconds = seconds
        return given.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Sleep, and pass on the gradient."""
        sleep_until(time.perf_counter() + ctx.seconds)
        return gradient, None


class _Weighed(torch.autograd.Function):
    """The gradient of the weights: a separate node, so that schedules can defer it."""

    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, seconds: float) -> torch.Tensor:
        """Return the weights."""
        ctx.seconds = seconds
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Sleep, and pass on the gradient."""
        sleep_until(time.perf_counter() + ctx.seconds)
        return gradient, None


class _Stage(nn.Module):
    """One product; the first stage has no input gradient, so its weights take as long again."""

    def __init__(self, seconds: float, *, first: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(_WIDTH) * 1.01)
        self.passing, self.weighing = seconds, seconds * (2 if first else 1)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The product, delayed."""
        passed: torch.Tensor = _Passed.apply(given, self.passing)
        return passed @ _Weighed.apply(self.weight, self.weighing)


def main(rank: Rank) -> None:
    """Check the gradients against a single process, then time steps."""
    name, micro = rank.word("schedule"), int(rank.word("microbatches"))
    kind, chunks = _SCHEDULES[name]
    depth, unit = rank.world * chunks, rank.number("unit") / chunks
    own = [rank.rank + rank.world * chunk for chunk in range(chunks)]
    if name == "zb_v":
        own = [rank.rank, depth - 1 - rank.rank]
    modules = [_Stage(unit, first=index == 0) for index in own]
    stages = [
        PipelineStage(module, index, depth, rank.device)
        for module, index in zip(modules, own, strict=True)
    ]
    schedule = kind(stages if chunks > 1 else stages[0], n_microbatches=micro, loss_fn=_loss)
    torch.manual_seed(0)
    inputs, target = torch.randn(micro * _BATCH, _WIDTH), torch.randn(micro * _BATCH, _WIDTH)
    step = partial(_step, schedule, own, depth, inputs, target)
    step()
    rank.check("gradients", _is_right(modules[0], own[0], depth, inputs, target))
    samples = rank.timed(step, seconds=1.0, least=3, most=4, at_once=True)
    rank.measure(name, samples, micro=micro)


def _loss(found: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (found - target).square().mean()


def _step(
    schedule: Any, own: list[int], depth: int, inputs: torch.Tensor, target: torch.Tensor
) -> None:
    given = (inputs,) if 0 in own else ()
    if depth - 1 in own:
        schedule.step(*given, target=target, losses=[])
    else:
        schedule.step(*given)


def _is_right(
    module: _Stage, index: int, depth: int, inputs: torch.Tensor, target: torch.Tensor
) -> bool:
    """Whether the gradient of one step is that of the whole model in one process."""
    weight = nn.Parameter(torch.eye(_WIDTH) * 1.01)
    found = inputs
    for place in range(depth):
        found = found @ (weight if place == index else weight.detach())
    _loss(found, target).backward()
    own, whole = module.weight.grad, weight.grad
    if own is None or whole is None:
        return False
    return bool(torch.allclose(own, whole, rtol=1e-4, atol=1e-6))
