"""Bytes held and sent under DDP, ZeRO-1 and FSDP2, checked against a single process."""

from collections.abc import Iterable

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Adam, Optimizer

from app.labs.ranks.counting import Sent, bytes_of
from app.labs.ranks.rank import Rank

_BATCH, _RATE, _CLOSE = 8, 1e-3, 1e-5


def main(rank: Rank) -> None:
    """Train three steps; the weights must equal those of one process."""
    scheme, width, layers = rank.word("scheme"), rank.number("width"), rank.number("layers")
    torch.manual_seed(0)
    inputs = torch.randn(_BATCH, int(width))
    alone = _model(int(width), int(layers))
    _train(alone, Adam(alone.parameters(), lr=_RATE), inputs, steps=3)
    model, optimizer = _sharded(rank, scheme, _model(int(width), int(layers)))
    _train(model, optimizer, inputs, steps=2)  # DDP rebuilds its buckets after the first
    with Sent(rank.world) as sent:
        _train(model, optimizer, inputs, steps=1)
    rank.check("weights", _alike(model.parameters(), alone.parameters()))
    kept = _kept(model, optimizer)
    every = rank.everywhere(kept)
    mean = sum(every) / rank.world
    rank.measure(f"kept-{scheme}", [mean] if scheme == "zero-1" else every)
    rank.measure(f"sent-{scheme}", rank.everywhere(sent.bytes))


def _model(width: int, layers: int) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        *(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        )
    )


def _sharded(rank: Rank, scheme: str, net: nn.Sequential) -> tuple[nn.Module, Optimizer]:
    if scheme == "fsdp":
        mesh = init_device_mesh(rank.device.type, (rank.world,))
        for layer in net:
            fully_shard(layer, mesh=mesh)
        fully_shard(net, mesh=mesh)
        return net, Adam(net.parameters(), lr=_RATE)
    model = DistributedDataParallel(net)
    if scheme == "ddp":
        return model, Adam(model.parameters(), lr=_RATE)
    return model, ZeroRedundancyOptimizer(model.parameters(), Adam, lr=_RATE)


def _train(model: nn.Module, optimizer: Optimizer, inputs: torch.Tensor, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()


def _kept(model: nn.Module, optimizer: Optimizer) -> int:
    """Bytes of weights, gradients and moments that this rank holds."""
    inner = optimizer.optim if isinstance(optimizer, ZeroRedundancyOptimizer) else optimizer
    weights = list(model.parameters())
    gradients = [p.grad for p in weights if p.grad is not None]
    moments = [
        value for state in inner.state.values() for name, value in state.items() if name != "step"
    ]
    return sum(map(bytes_of, (*weights, *gradients, *moments)))


def _alike(ours: Iterable[torch.Tensor], others: Iterable[torch.Tensor]) -> bool:
    return all(
        torch.allclose(_whole(one), other, atol=_CLOSE)
        for one, other in zip(ours, others, strict=True)
    )


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor.detach()
