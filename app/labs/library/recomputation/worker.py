"""Bytes saved for the backward pass, and times, with and without checkpoints."""

from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from app.labs.ranks.rank import Rank

_BLOCKS = 12


class _Block(nn.Module):
    """A residual MLP."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """The input plus its MLP."""
        out: torch.Tensor = given + self.down(nn.functional.gelu(self.up(self.norm(given))))
        return out


def main(rank: Rank) -> None:
    """Compare the gradients, count what is saved, time both."""
    width, every = int(rank.number("width")), int(rank.word("every"))
    torch.manual_seed(0)
    blocks = nn.Sequential(*(_Block(width) for _ in range(_BLOCKS)))
    given = torch.randn(int(rank.number("tokens")), width, requires_grad=True)
    run, whole = partial(_forward, blocks, given, every), partial(_forward, blocks, given, 0)
    found = []
    for each in (run, whole):
        blocks.zero_grad()
        each().backward()
        found.append([p.grad.clone() for p in blocks.parameters() if p.grad is not None])
    rank.check("gradients", all(map(torch.equal, *found)))
    rank.measure("kept", [_kept(run, blocks)], every=every)
    for name, each in (("step", run), ("whole", whole)):
        rank.measure(name, rank.timed(partial(_both_ways, each), 2.0, 5, 20), every=every)


def _both_ways(run: "partial[torch.Tensor]") -> None:
    run().backward()


def _forward(blocks: nn.Sequential, given: torch.Tensor, every: int) -> torch.Tensor:
    if not every:
        return blocks(given).mean()
    for first in range(0, _BLOCKS, every):
        given = checkpoint(blocks[first : first + every], given, use_reentrant=False)
    return given.mean()


def _kept(run: "partial[torch.Tensor]", blocks: nn.Module) -> float:
    """Bytes of the storages that the forward pass saves, without the weights."""
    weights = {p.untyped_storage().data_ptr() for p in blocks.parameters()}
    seen: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in weights:
            seen[place] = tensor  # kept alive, or its memory would be reused
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return float(sum(tensor.untyped_storage().nbytes() for tensor in seen.values()))
