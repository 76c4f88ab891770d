"""PyTorch's pipeline schedules, with stages that sleep; on GPUs, see `computing`."""

import time
from functools import partial
from typing import Any

import torch
from torch import nn

from app.labs.library.pipeline.computation import measure_pipeline
from app.labs.library.pipeline.schedules import Pipeline, chunks_of, mean_square, pipeline_of
from app.labs.ranks.sleep_layers import sleep_until
from app.labs.runner.rank import WorkerRank
from app.labs.runner.torch_version import require_torch

# Before, a rank with two neighboring stages connected to itself, which gloo refuses.
_ZB_V = "2.13", "schedule=zb_v over gloo"
_WIDTH, _BATCH = 16, 2  # numbers of a sample, samples of a micro-batch


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


def _stage(unit: float, index: int) -> _Stage:
    return _Stage(unit, first=index == 0)


def main(rank: WorkerRank) -> None:
    """Check the gradients against a single process, then time steps."""
    name, micro = rank.word("schedule"), int(rank.word("microbatches"))
    if rank.on_gpu:
        measure_pipeline(rank, name, micro)
        return
    if name == "zb_v":
        require_torch(torch.__version__, *_ZB_V)
    unit = rank.number("unit") / chunks_of(name)
    torch.manual_seed(0)
    inputs, target = torch.randn(micro * _BATCH, _WIDTH), torch.randn(micro * _BATCH, _WIDTH)
    make = partial(_stage, unit)
    pipeline = pipeline_of(rank, name, micro, inputs[:_BATCH], make)
    step = partial(pipeline.step, inputs, target)
    step()
    rank.report.check("gradients", _is_right(pipeline, inputs, target))
    samples = rank.timing.sample(step, seconds=1.0, least=3, most=4, at_once=True)
    rank.report.measure(name, samples, micro=micro)


def _is_right(pipeline: Pipeline, inputs: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether the gradient of one step is that of the whole model in one process."""
    weight = nn.Parameter(torch.eye(_WIDTH) * 1.01)
    found = inputs
    for place in range(pipeline.depth):
        found = found @ (weight if place == pipeline.own[0] else weight.detach())
    mean_square(found, target).backward()
    own, whole = pipeline.modules[0].weight.grad, weight.grad
    if own is None or whole is None:
        return False
    return bool(torch.allclose(own, whole, rtol=1e-4, atol=1e-6))
