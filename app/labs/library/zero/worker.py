"""Bytes held and sent under DDP, ZeRO-1 and FSDP2, checked against a single process.

In FP32 on processors; on GPUs in mixed precision, where the allocator and the clock are asked too.
"""

import gc
from collections.abc import Callable, Iterable
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Adam, Optimizer

from app.labs.ranks import formats
from app.labs.ranks.byte_counts import SentBytes, bytes_of
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank
from app.labs.runner.torch_version import require_torch

_BATCH, _RATE, _CLOSE = 8, 1e-3, 1e-5
_FSDP = "2.11", "scheme=fsdp over gloo"  # with 2.8, the weights are wrong
# Of the model that is checked on GPUs: width, tokens of each rank, and the most layers.
_SMALL, _FEW, _SHALLOW = 256, 64, 4


def main(rank: WorkerRank) -> None:
    """Check what steps do to the weights, then count bytes, and measure what a GPU can tell."""
    scheme, width, layers = rank.word("scheme"), int(rank.number("width")), rank.number("layers")
    if rank.on_gpu:
        _run_mixed(rank, scheme, width, int(layers))
        return
    if scheme == "fsdp":
        require_torch(torch.__version__, *_FSDP)
    torch.manual_seed(0)
    inputs = torch.randn(_BATCH, width)
    alone = _model(rank, width, int(layers))
    pass_alone = partial(_pass_both_ways, rank, "alone", alone, inputs)
    _train(pass_alone, Adam(alone.parameters(), **_options(rank)), steps=3)
    model, optimizer = _sharded(rank, scheme, _model(rank, width, int(layers)))
    pass_both_ways = partial(_pass_both_ways, rank, scheme, model, inputs)
    _train(pass_both_ways, optimizer, steps=2)  # DDP rebuilds its buckets after the first
    with SentBytes(rank.world) as sent:
        _train(pass_both_ways, optimizer, steps=1)
    rank.report.check("weights", _alike(model.parameters(), alone.parameters()))
    every = rank.all_gather(_kept(model, optimizer))
    rank.report.measure(f"kept-{scheme}", [_mean(every)] if scheme == "zero-1" else every)
    rank.report.measure(f"sent-{scheme}", rank.all_gather(sent.bytes))


def _run_mixed(rank: WorkerRank, scheme: str, width: int, layers: int) -> None:
    tokens = int(rank.number("tokens"))
    needed = _needed(scheme, rank.world, layers * 8 * width**2, layers, tokens * width)
    rank.budget.require_room(needed, "layers, width or tokens")
    formats.use("bf16")
    _check_mixed(rank, scheme, min(layers, _SHALLOW))
    gc.collect()  # FSDP's modules know each other
    torch.manual_seed(rank.rank)
    inputs = torch.randn(tokens, width, device=rank.device)
    before = torch.cuda.memory_allocated(rank.device)
    model, optimizer = _sharded(rank, scheme, _model(rank, width, layers))
    step = partial(_train, partial(_pass_both_ways, rank, scheme, model, inputs), optimizer, steps=1)
    step()  # DDP rebuilds its buckets after the first
    step()
    with SentBytes(rank.world) as sent:
        step()
    allocated = torch.cuda.memory_allocated(rank.device) - before
    for name, size in (("kept", _kept(model, optimizer)), ("allocated", allocated)):
        every = rank.all_gather(size)
        rank.report.measure(f"{name}-{scheme}", every if len(set(every)) == 1 else [_mean(every)])
    rank.report.measure(f"sent-{scheme}", rank.all_gather(sent.bytes))
    for name, size in zip(("peak", "reserved"), rank.budget.peak(step), strict=True):
        rank.report.measure(name, rank.all_gather(size))
    rank.report.measure("step", rank.timing.sample(step, seconds=2.0, least=5, most=20))


def _check_mixed(rank: WorkerRank, scheme: str, layers: int) -> None:
    """Each rank has other tokens; the gradients must be those of one process that has them all."""
    alone, net = (_model(rank, _SMALL, layers) for _ in range(2))
    inputs = torch.randn(rank.world, _FEW, _SMALL, device=rank.device)
    for one in (*alone.parameters(), *net.parameters(), inputs):
        dist.broadcast(one.detach(), 0)  # GPUs of two kinds draw different numbers
    model, optimizer = _sharded(rank, scheme, net)
    _pass_both_ways(rank, "alone", alone, inputs.flatten(0, 1))
    _pass_both_ways(rank, scheme, model, inputs[rank.rank])
    found = [_whole(p.grad) for p in model.parameters()]
    pairs = zip(found, (p.grad for p in alone.parameters()), strict=True)
    # Of a layer both products and the GELU, forward and backward; and the gradient of a weight.
    rank.report.check("gradients", all(agree(*pair, roundings=6 * layers + 1) for pair in pairs))
    optimizer.step()
    for parameter, gradient in zip(alone.parameters(), found, strict=True):
        parameter.grad = gradient  # Adam turns a gradient near zero into a whole step of either sign
    Adam(alone.parameters(), **_options(rank)).step()
    rank.report.check("weights", _alike(model.parameters(), alone.parameters()))


def _needed(scheme: str, world: int, weights: int, layers: int, inputs: int) -> float:
    """Bytes at the peak of a step, for a model of *weights* and *inputs* of a layer."""
    layer, activations = weights / layers, 2 * inputs * (9 * layers + 10)
    if scheme == "fsdp":  # two layers are there as a whole: in BF16, and their gradients in FP32
        return max(4 * weights, 16 * weights / world + 16 * layer + activations)
    moments = 8 * weights / (world if scheme == "zero-1" else 1)
    return 8 * weights + moments + 2 * weights + 6 * layer + activations  # 2: in BF16, of autocast


def _model(rank: WorkerRank, width: int, layers: int) -> nn.Sequential:
    torch.manual_seed(0)
    with rank.device:
        return nn.Sequential(
            *(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers))
        )


def _options(rank: WorkerRank) -> dict[str, float | bool]:
    """Of Adam: on GPUs in one kernel, which needs no memory of its own."""
    return {"lr": _RATE, "fused": True} if rank.on_gpu else {"lr": _RATE}


def _sharded(rank: WorkerRank, scheme: str, net: nn.Sequential) -> tuple[nn.Module, Optimizer]:
    options = _options(rank)
    if scheme == "fsdp":
        mesh = init_device_mesh(rank.device.type, (rank.world,))
        policy = MixedPrecisionPolicy()
        if rank.on_gpu:
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in net:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(net, mesh=mesh, mp_policy=policy)
        return net, Adam(net.parameters(), **options)
    model = DistributedDataParallel(net, gradient_as_bucket_view=rank.on_gpu)
    if scheme == "ddp":
        return model, Adam(model.parameters(), **options)
    return model, ZeroRedundancyOptimizer(model.parameters(), Adam, **options)


def _train(pass_both_ways: Callable[[], None], optimizer: Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        pass_both_ways()
        optimizer.step()


def _pass_both_ways(rank: WorkerRank, scheme: str, model: nn.Module, inputs: torch.Tensor) -> None:
    """Forward and backward; on GPUs in mixed precision, for which FSDP has its own way."""
    cast = rank.on_gpu and scheme != "fsdp"
    with torch.autocast(rank.device.type, torch.bfloat16, enabled=cast):
        out = model(inputs)
    out.float().square().mean().backward()


def _kept(model: nn.Module, optimizer: Optimizer) -> int:
    """Bytes of weights, gradients and moments that this rank holds."""
    inner = optimizer.optim if isinstance(optimizer, ZeroRedundancyOptimizer) else optimizer
    weights = list(model.parameters())
    gradients = [p.grad for p in weights if p.grad is not None]
    moments = [value for state in inner.state.values() for name, value in state.items() if name != "step"]
    return sum(map(bytes_of, (*weights, *gradients, *moments)))


def _mean(every: list[float]) -> float:
    return sum(every) / len(every)


def _alike(ours: Iterable[torch.Tensor], others: Iterable[torch.Tensor]) -> bool:
    return all(torch.allclose(_whole(one), other, atol=_CLOSE) for one, other in zip(ours, others, strict=True))


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor.detach()
