"""An MLP with PyTorch's tensor parallelism, against the same MLP in one process.

In BF16 on GPUs, where both are also timed.
"""

from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from app.labs.ranks import formats
from app.labs.ranks.byte_counts import SentBytes, bytes_of
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank

_CLOSE = 1e-5
_ROUNDINGS = 6  # both products and the GELU, forward and backward; then one for every sum of ranks


class _Mlp(nn.Module):
    """Up-projection, GELU, down-projection."""

    def __init__(self, rank: WorkerRank, width: int, kind: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        with rank.device:
            self.up = nn.Linear(width, 4 * width, bias=False, dtype=kind)
            self.down = nn.Linear(4 * width, width, bias=False, dtype=kind)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The result."""
        out: torch.Tensor = self.down(nn.functional.gelu(self.up(given)))
        return out


def main(rank: WorkerRank) -> None:
    """Compare results and gradients, then count a step."""
    width, tokens = int(rank.number("width")), int(rank.number("tokens"))
    if 4 * width % rank.world:
        raise ValueError(
            f"{rank.world} ranks cannot share {4 * width} columns equally: take a width of {width - width % rank.world}"
        )
    kind = formats.use("bf16" if rank.on_gpu else "fp32")
    if rank.on_gpu:
        rank.budget.require_room(_needed(rank.world, width, tokens), "tokens or width")
    whole, net = (_Mlp(rank, width, kind) for _ in range(2))
    given = torch.randn(tokens, width, device=rank.device, dtype=kind)
    if rank.on_gpu:
        for one in (*whole.parameters(), *net.parameters(), given):
            dist.broadcast(one.detach(), 0)  # GPUs of two kinds draw different numbers
    given.requires_grad_()
    alone = given.detach().clone().requires_grad_()
    mesh = init_device_mesh(rank.device.type, (rank.world,))
    split = parallelize_module(net, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    expected = whole(alone)
    expected.square().mean().backward()
    with SentBytes(rank.world) as sent:
        found = split(given)
        found.square().mean().backward()
    pairs = ((found, expected), (given.grad, alone.grad))
    rank.report.check("result", all(_is_same(rank, *pair) for pair in pairs))
    every = rank.all_gather(sum(map(bytes_of, split.parameters())))
    rank.report.measure("weights", every)
    rank.report.measure("all-reduces", rank.all_gather(sum(sent.calls.values())))
    rank.report.measure("sent", rank.all_gather(sent.bytes))
    if rank.on_gpu:
        _measure_times(rank, split, whole, given.detach())


def _is_same(rank: WorkerRank, found: torch.Tensor, expected: torch.Tensor) -> bool:
    if rank.on_gpu:
        return agree(found, expected, _ROUNDINGS + rank.world)
    return torch.allclose(found, expected, atol=_CLOSE)


def _measure_times(rank: WorkerRank, split: nn.Module, whole: nn.Module, given: torch.Tensor) -> None:
    """Report the time of a step on one GPU, of an all-reduce, and of a step on all of them."""
    gradient = torch.randn_like(given)
    array = torch.randn_like(given)
    calls = {
        "alone": partial(_pass_both_ways, whole, given, gradient),
        "reduce": partial(dist.all_reduce, array, dist.ReduceOp.AVG),
        "step": partial(_pass_both_ways, split, given, gradient),
    }
    for name, call in calls.items():
        rank.report.measure(name, rank.timing.sample(call, seconds=1.0, least=5, most=20))


def _pass_both_ways(module: nn.Module, given: torch.Tensor, gradient: torch.Tensor) -> None:
    """Forward and backward, with the gradient of the input, which the layer before would need."""
    out = module(given.detach().requires_grad_())
    out.detach()[0].clone()  # waits for the sum over the ranks, as the next layer would
    out.backward(gradient)


def _needed(world: int, width: int, tokens: int) -> float:
    """Bytes at the peak: both MLPs with their gradients, and the activations of a step of each."""
    weights = 2 * 8 * width**2
    return 2 * weights * (1 + 1 / world) + weights / 2 + 2 * tokens * width * 30
