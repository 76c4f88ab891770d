"""DDP with layers that compute, over the links of the GPUs."""

import statistics
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from app.labs.ranks import formats
from app.labs.ranks.byte_counts import SentBytes
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank

_LAYERS = 8
_ROUNDINGS = 2 * _LAYERS + 1  # of a gradient: a product of every layer, forward and backward
_MIB = 2**20


def measure_ddp(rank: WorkerRank, size: int) -> None:
    """Check the gradients and the buckets, *size* layers in each; then time the parts of a step."""
    width, tokens = int(rank.number("width")), int(rank.number("tokens"))
    layer = 4 * width**2  # bytes of its gradients: FP32, while the products are in BF16
    rank.budget.require_room(_LAYERS * (4 * layer + 4 * tokens * width) + size * layer, "tokens or width")
    kind = formats.use("bf16")
    torch.manual_seed(rank.rank)
    with rank.device:
        net = nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(_LAYERS)))
        inputs = torch.randn(tokens, width, dtype=kind)
        gradient = torch.randn(tokens, width, dtype=kind)
        bucket = torch.randn(size, width, width)
    # A bucket closes once it has reached its cap.
    cap = (size - 0.5) * layer / _MIB
    model = DistributedDataParallel(net, bucket_cap_mb=cap, gradient_as_bucket_view=True)
    step = partial(_pass_both_ways, model, inputs, gradient)
    quiet = partial(_without_sync, model, step)
    step()  # DDP rebuilds its buckets after it
    rank.report.check("gradients", _are_means(rank, net, step, quiet))
    with SentBytes(rank.world) as sent:
        step()
    rank.report.check("buckets", sum(sent.calls.values()) == _LAYERS // size)
    forward = rank.timing.sample(partial(_pass_forward, net, inputs), 1.0, 5, 50)
    alone = rank.timing.sample(quiet, 1.0, 5, 50)
    whole = rank.timing.sample(step, 1.0, 5, 50)
    reduce = partial(dist.all_reduce, bucket, dist.ReduceOp.AVG)
    rank.report.measure("forward", forward, size=size)
    rank.report.measure("reduce", rank.timing.sample(reduce, 1.0, 5, 50), size=size)
    backward = (statistics.median(alone) - statistics.median(forward)) / _LAYERS
    if backward > 0:  # on a busy machine it may be less than nothing
        rank.report.measure("backward", [backward], size=size)
    exposed = max(0.0, statistics.median(whole) - statistics.median(alone))
    for name, samples in (("alone", alone), ("step", whole), ("exposed", [exposed])):
        rank.report.measure(name, samples, size=size)


def _pass_forward(net: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """The output; the first layer has the gradient of its input to compute, as the others have."""
    with torch.autocast(inputs.device.type, torch.bfloat16):
        out: torch.Tensor = net(inputs.detach().requires_grad_())
    return out


def _pass_both_ways(model: nn.Module, inputs: torch.Tensor, gradient: torch.Tensor) -> None:
    _pass_forward(model, inputs).backward(gradient)


def _without_sync(model: DistributedDataParallel, step: "partial[None]") -> None:
    """The step, after which each rank has gradients of its own."""
    with model.no_sync():
        step()


def _are_means(rank: WorkerRank, net: nn.Module, step: "partial[None]", quiet: "partial[None]") -> bool:
    """Whether the gradients of *step* are the means of those that *quiet* leaves on each rank."""
    found = []
    for call in (step, quiet):
        net.zero_grad(set_to_none=False)  # DDP's buckets stay where they are
        call()
        found.append([p.grad.clone() for p in net.parameters()])
    together, alone = found
    for one in alone:
        dist.all_reduce(one)
    return all(agree(mean, total / rank.world, _ROUNDINGS) for mean, total in zip(together, alone, strict=True))
