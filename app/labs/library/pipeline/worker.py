"""PyTorch's pipeline schedules over all ranks, with stages that sleep; on GPUs, with stages that compute."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

from app.labs.ranks import formats
from app.labs.ranks.emulation import sleep_both_ways
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank
from app.labs.runner.torch_version import require_torch

# Before, a rank with two neighboring stages connected to itself, which gloo refuses.
_ZB_V = "2.13", "schedule=zb_v over gloo"
_WIDTH, _BATCH = 16, 2  # numbers of a sample, samples of a micro-batch
_SMALL, _FEW = 256, 16  # width and tokens of a micro-batch, where the gradients are checked on GPUs
_SCHEDULES = {
    "gpipe": (ScheduleGPipe, 1),
    "1f1b": (Schedule1F1B, 1),
    "interleaved": (ScheduleInterleaved1F1B, 2),
    "zb_v": (ScheduleZBVZeroBubble, 2),
}


@dataclass(frozen=True, slots=True)
class _Pipeline:
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


def _chunks_of(name: str) -> int:
    """The stages that each rank has under the schedule *name*."""
    return _SCHEDULES[name][1]


def _pipeline_of(
    rank: WorkerRank, name: str, micro: int, batch: torch.Tensor, stage: Callable[[int], nn.Module]
) -> _Pipeline:
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
    schedule = kind(stages if chunks > 1 else stages[0], n_microbatches=micro, loss_fn=_mean_square)
    return _Pipeline(own, modules, depth, schedule)


def _mean_square(found: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss of a micro-batch."""
    return (found - target).square().mean()


class _SleepingStage(nn.Module):
    """One product; the first stage has no input gradient, so its weights take as long again."""

    def __init__(self, seconds: float, *, first: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(_WIDTH) * 1.01)
        self.seconds, self.weighing = seconds, seconds * (2 if first else 1)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The product, delayed; the gradient of the weights is a node of its own, so that schedules can defer it."""
        passed = sleep_both_ways(given, self.seconds, self.seconds)
        return passed @ sleep_both_ways(self.weight, 0.0, self.weighing)


def main(rank: WorkerRank) -> None:
    """Check the gradients against a single process, then time steps."""
    name, micro = rank.word("schedule"), int(rank.word("microbatches"))
    if rank.on_gpu:
        _measure_pipeline(rank, name, micro)
        return
    if name == "zb_v":
        require_torch(torch.__version__, *_ZB_V)
    unit = rank.number("unit") / _chunks_of(name)
    torch.manual_seed(0)
    inputs, target = torch.randn(micro * _BATCH, _WIDTH), torch.randn(micro * _BATCH, _WIDTH)
    pipeline = _pipeline_of(rank, name, micro, inputs[:_BATCH], lambda index: _SleepingStage(unit, first=index == 0))
    step = partial(pipeline.step, inputs, target)
    step()
    rank.report.check("gradients", _is_right(pipeline, inputs, target))
    samples = rank.timing.sample(step, seconds=1.0, least=3, most=4, at_once=True)
    rank.report.measure(name, samples, micro=micro)


def _is_right(pipeline: _Pipeline, inputs: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether the gradient of one step is that of the whole model in one process."""
    weight = nn.Parameter(torch.eye(_WIDTH) * 1.01)
    found = inputs
    for place in range(pipeline.depth):
        found = found @ (weight if place == pipeline.own[0] else weight.detach())
    _mean_square(found, target).backward()
    own, whole = pipeline.modules[0].weight.grad, weight.grad
    if own is None or whole is None:
        return False
    return bool(torch.allclose(own, whole, rtol=1e-4, atol=1e-6))


class _ComputedStage(nn.Module):
    """Products, each of which has an input gradient and a weight gradient to compute as well."""

    def __init__(self, rank: WorkerRank, index: int, *, layers: int, width: int) -> None:
        super().__init__()
        torch.manual_seed(index)  # any rank can have the same weights
        self.is_first = index == 0
        with rank.device:
            self.layers = nn.Sequential(
                *(nn.Linear(width, width, bias=False, dtype=torch.bfloat16) for _ in range(layers))
            )
            for layer in self.layers:
                nn.init.normal_(layer.weight, std=width**-0.5)  # keeps the size of the numbers

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The products; the first input needs a gradient too, as if an embedding came before."""
        out: torch.Tensor = self.layers(_leaf(given) if self.is_first else given)
        return out


def _measure_pipeline(rank: WorkerRank, name: str, micro: int) -> None:
    """Check the gradients of a small model, then time the work of a rank, and steps."""
    width, tokens, layers = (int(rank.number(one)) for one in ("width", "tokens", "layers"))
    activations = _needed(rank, name, micro, layers, 2 * tokens * width)
    rank.budget.require_room(4 * layers * width**2 + activations, "tokens, width or layers")
    share, left = divmod(layers, _chunks_of(name))
    if left:
        raise ValueError(f"{name} has two stages on each rank, which cannot share {layers} layers")
    formats.use("bf16")
    _check(rank, name, micro, share)
    inputs, target = (torch.randn(micro * tokens, width, device=rank.device, dtype=torch.bfloat16) for _ in range(2))
    make = partial(_ComputedStage, rank, layers=share, width=width)
    pipeline = _pipeline_of(rank, name, micro, inputs[:tokens], make)
    work = rank.timing.sample(partial(_work, pipeline.modules, inputs[:tokens], target[:tokens], micro), 1.0, 3, 8)
    rank.report.measure("work", work, micro=micro)
    steps = rank.timing.sample(partial(pipeline.step, inputs, target), 1.0, 3, 8)
    rank.report.measure(name, steps, micro=micro)
    bubble = 1 - statistics.median(work) / statistics.median(steps)
    rank.report.measure(f"bubble-{name}", [bubble], micro=micro)


def _work(modules: Sequence[nn.Module], given: torch.Tensor, gradient: torch.Tensor, micro: int) -> None:
    """What a rank computes in a step, without waiting for another."""
    for _ in range(micro):
        for module in modules:
            module(_leaf(given)).backward(gradient)


def _check(rank: WorkerRank, name: str, micro: int, layers: int) -> None:
    generator = torch.Generator().manual_seed(7)  # the same numbers on all ranks
    inputs, target = (
        torch.randn(micro * _FEW, _SMALL, generator=generator).to(rank.device, torch.bfloat16) for _ in range(2)
    )
    make = partial(_ComputedStage, rank, layers=layers, width=_SMALL)
    pipeline = _pipeline_of(rank, name, micro, inputs[:_FEW], make)
    pipeline.step(inputs, target)
    whole = [_ComputedStage(rank, index, layers=layers, width=_SMALL) for index in range(pipeline.depth)]
    for index in set(range(pipeline.depth)) - set(pipeline.own):
        whole[index].requires_grad_(requires_grad=False)
    _mean_square(nn.Sequential(*whole)(inputs), target).backward()
    # A product of every layer, forward and backward, and the sum of the micro-batches.
    roundings = 2 * pipeline.depth * layers + micro
    right = all(
        agree(ours.grad, alone.grad, roundings)
        for index, module in zip(pipeline.own, pipeline.modules, strict=True)
        for ours, alone in zip(module.parameters(), whole[index].parameters(), strict=True)
    )
    rank.report.check("gradients", right)


def _leaf(given: torch.Tensor) -> torch.Tensor:
    return given.detach().requires_grad_()


def _needed(rank: WorkerRank, name: str, micro: int, layers: int, given: int) -> float:
    """Bytes of activations at the peak, and of what ranks pass on; *given* are a micro-batch's.

    GPipe has all micro-batches on their way at once, the others as many as there are stages.
    """
    chunks = _chunks_of(name)
    on_their_way = micro if name == "gpipe" else min(micro, rank.world * chunks)
    return given * (on_their_way * (layers + 2) + (4 * chunks + 1) * micro)
