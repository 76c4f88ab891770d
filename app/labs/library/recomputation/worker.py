"""Bytes saved for the backward pass, and times, with and without checkpoints.

On a GPU, also what its allocator says.
"""

import statistics
from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from app.labs.ranks import formats
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank

_BLOCKS = 12
_ROUNDINGS = 10 * _BLOCKS  # of a gradient: five of a block on its way forward, and five back


class _ResidualMlp(nn.Module):
    """A residual MLP."""

    def __init__(self, width: int, kind: torch.dtype) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, dtype=kind)
        self.up = nn.Linear(width, 4 * width, dtype=kind)
        self.down = nn.Linear(4 * width, width, dtype=kind)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The input plus its MLP."""
        out: torch.Tensor = given + self.down(nn.functional.gelu(self.up(self.norm(given))))
        return out


_Run = Callable[[], torch.Tensor]


def main(rank: WorkerRank) -> None:
    """Compare the gradients, count what is saved, time both."""
    width, tokens = int(rank.number("width")), int(rank.number("tokens"))
    every, kind = int(rank.word("every")), formats.use("bf16" if rank.on_gpu else "fp32")
    if rank.on_gpu:
        rank.budget.require_room(_needed(width, tokens), "tokens or width")
    torch.manual_seed(0)
    with rank.device:
        blocks = nn.Sequential(*(_ResidualMlp(width, kind) for _ in range(_BLOCKS)))
        given = torch.randn(tokens, width, dtype=kind, requires_grad=True)
    run, whole = partial(_forward, blocks, given, every), partial(_forward, blocks, given, 0)
    _compare(rank, blocks, run, whole, every)
    rank.report.measure("kept", [_kept(run, blocks)], every=every)
    times = {}
    for name, each in (("step", run), ("whole", whole)):
        times[name] = rank.timing.sample(partial(_both_ways, each), 2.0, 5, 20)
        rank.report.measure(name, times[name], rank.timing.own_medians(), every=every)
    if rank.on_gpu:
        longer = statistics.median(times["step"]) / statistics.median(times["whole"]) - 1
        rank.report.measure("overhead", [longer], every=every)
        for name, each in (("", run), ("-whole", whole)):  # of a step that starts with weights and gradients in place
            before = torch.cuda.memory_allocated(rank.device)
            allocated, reserved = rank.budget.peak(partial(_both_ways, each))
            rank.report.measure(f"allocated{name}", [float(allocated - before)], every=every)
            rank.report.measure(f"reserved{name}", [float(reserved)], every=every)


def _compare(rank: WorkerRank, blocks: nn.Module, run: _Run, whole: _Run, every: int) -> None:
    """Check the gradients of both; on a GPU, rounding may differ, and what differs is counted."""
    run().backward()
    found = [p.grad.to("cpu", copy=True) for p in blocks.parameters()]  # spares the GPU's memory
    blocks.zero_grad()
    whole().backward()
    same, different = True, 0.0
    for one, parameter in zip(found, blocks.parameters(), strict=True):
        with_checkpoints, without = one.to(rank.device), parameter.grad
        same = agree(with_checkpoints, without, _ROUNDINGS) and same
        different += float((with_checkpoints != without).sum().item())
    rank.report.check("gradients", same if rank.on_gpu else not different)
    if rank.on_gpu:
        rank.report.measure("different", [different], every=every)


def _needed(width: int, tokens: int) -> float:
    """Bytes at the peak: weights, their gradients, and a step without checkpoints."""
    weights, given = 2 * _BLOCKS * 8 * width**2, 2 * tokens * width
    return 2 * weights + weights / _BLOCKS / 2 + (10 * _BLOCKS + 6) * given


def _both_ways(run: _Run) -> None:
    run().backward()


def _forward(blocks: nn.Sequential, given: torch.Tensor, every: int) -> torch.Tensor:
    if not every:
        return blocks(given).mean()
    for first in range(0, _BLOCKS, every):
        given = checkpoint(blocks[first : first + every], given, use_reentrant=False)
    return given.mean()


def _kept(run: _Run, blocks: nn.Module) -> float:
    """Bytes of the storages that the forward pass saves, without the weights."""
    weights = {p.untyped_storage() for p in blocks.parameters()}
    seen: set[torch.UntypedStorage] = set()  # kept alive, or their memory would be reused

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        seen.add(tensor.untyped_storage())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return float(sum(storage.nbytes() for storage in seen - weights))
