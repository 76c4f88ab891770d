"""An MLP with PyTorch's tensor parallelism, against the same MLP in one process."""

import copy

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from app.labs.ranks.counting import Sent, bytes_of
from app.labs.ranks.rank import Rank

_CLOSE = 1e-5


class _Mlp(nn.Module):
    """Up-projection, GELU, down-projection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The result."""
        out: torch.Tensor = self.down(nn.functional.gelu(self.up(given)))
        return out


def main(rank: Rank) -> None:
    """Compare results and gradients, then count a step."""
    width, tokens = int(rank.number("width")), int(rank.number("tokens"))
    torch.manual_seed(0)
    whole, given = _Mlp(width), torch.randn(tokens, width, requires_grad=True)
    alone = given.detach().clone().requires_grad_()
    mesh = init_device_mesh(rank.device.type, (rank.world,))
    split = parallelize_module(
        copy.deepcopy(whole), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()}
    )
    expected = whole(alone)
    expected.square().mean().backward()
    with Sent(rank.world) as sent:
        found = split(given)
        found.square().mean().backward()
    pairs = ((found, expected), (given.grad, alone.grad))
    same = (a is not None and b is not None and torch.allclose(a, b, atol=_CLOSE) for a, b in pairs)
    rank.check("result", all(same))
    rank.measure("weights", rank.everywhere(sum(map(bytes_of, split.parameters()))))
    rank.measure("all-reduces", rank.everywhere(sum(sent.calls.values())))
    rank.measure("sent", rank.everywhere(sent.bytes))
