"""PyTorch's pipeline schedules, with stages that compute."""

import statistics
from collections.abc import Sequence
from functools import partial

import torch
from torch import nn

from app.labs.library.pipeline.schedules import chunks_of, mean_square, pipeline_of
from app.labs.ranks import formats
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank

_SMALL, _FEW = 256, 16  # width and tokens of a micro-batch, where the gradients are checked


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


def measure_pipeline(rank: WorkerRank, name: str, micro: int) -> None:
    """Check the gradients of a small model, then time the work of a rank, and steps."""
    width, tokens, layers = (int(rank.number(one)) for one in ("width", "tokens", "layers"))
    activations = _needed(rank, name, micro, layers, 2 * tokens * width)
    rank.budget.require_room(4 * layers * width**2 + activations, "tokens, width or layers")
    share, left = divmod(layers, chunks_of(name))
    if left:
        raise ValueError(f"{name} has two stages on each rank, which cannot share {layers} layers")
    formats.use("bf16")
    _check(rank, name, micro, share)
    inputs, target = (torch.randn(micro * tokens, width, device=rank.device, dtype=torch.bfloat16) for _ in range(2))
    make = partial(_ComputedStage, rank, layers=share, width=width)
    pipeline = pipeline_of(rank, name, micro, inputs[:tokens], make)
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
    pipeline = pipeline_of(rank, name, micro, inputs[:_FEW], make)
    pipeline.step(inputs, target)
    whole = [_ComputedStage(rank, index, layers=layers, width=_SMALL) for index in range(pipeline.depth)]
    for index in set(range(pipeline.depth)) - set(pipeline.own):
        whole[index].requires_grad_(requires_grad=False)
    mean_square(nn.Sequential(*whole)(inputs), target).backward()
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
    chunks = chunks_of(name)
    on_their_way = micro if name == "gpipe" else min(micro, rank.world * chunks)
    return given * (on_their_way * (layers + 2) + (4 * chunks + 1) * micro)
