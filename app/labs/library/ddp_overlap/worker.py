"""DDP with layers that sleep and an emulated link for its all-reduces; on GPUs, with layers that compute."""

import queue
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from app.labs.ranks import formats
from app.labs.ranks.byte_counts import SentBytes
from app.labs.ranks.emulation import SleepingLayer, sleep_until
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank

_LAYERS, _WIDTH, _BATCH = 8, 512, 4
_MIB = 2**20  # bytes of the gradients of a layer that sleeps
_ROUNDINGS = 2 * _LAYERS + 1  # of a gradient: a product of every layer, forward and backward


class _Line:
    """All-reduces of buckets, one at a time, each as long as the link would take."""

    def __init__(self, latency: float, per_layer: float, world: int) -> None:
        self.latency, self.per_layer, self.world = latency, per_layer, world
        self.sizes: list[int] = []
        self._waiting: queue.Queue[tuple[float, torch.Tensor, torch.futures.Future[torch.Tensor]]]
        self._waiting = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def send(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Queue a bucket; the future holds its mean."""
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        buffer = bucket.buffer()
        self.sizes.append(buffer.numel() * buffer.element_size())
        self._waiting.put((time.perf_counter(), buffer, future))
        return future

    def _work(self) -> None:
        free = 0.0
        while True:
            arrived, buffer, future = self._waiting.get()
            layers = buffer.numel() * buffer.element_size() / _MIB
            free = max(free, arrived) + self.latency + layers * self.per_layer
            dist.all_reduce(buffer)
            sleep_until(free)
            future.set_result(buffer.div_(self.world))


def _hook(line: _Line, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    return line.send(bucket)  # DDP requires a plain function


def main(rank: WorkerRank) -> None:
    """Check the gradients against the mean over the ranks, then time steps."""
    size = int(rank.word("buckets"))
    if rank.on_gpu:
        _measure_ddp(rank, size)
        return
    torch.manual_seed(0)
    forward, backward = rank.number("forward"), rank.number("backward")
    net = nn.Sequential(*(SleepingLayer(_WIDTH, forward, backward) for _ in range(_LAYERS)))
    # A bucket closes once it has reached its cap.
    model = DistributedDataParallel(net, bucket_cap_mb=size - 0.5, gradient_as_bucket_view=True)
    line = _Line(rank.number("latency"), rank.number("reduce"), rank.world)
    model.register_comm_hook(line, _hook)
    inputs = torch.randn(_BATCH, _WIDTH)
    for _ in range(2):
        model.zero_grad()
        _step(model, inputs)
    own = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    rank.report.check("gradients", _are_means(rank, net, inputs, own))
    line.sizes.clear()
    samples = rank.timing.sample(partial(_step, model, inputs), seconds=1.5, least=5, most=8, at_once=True)
    even = set(line.sizes) == {size * _MIB}
    rank.report.check("buckets", even)
    rank.report.measure("step", samples, size=size)


def _step(model: nn.Module, inputs: torch.Tensor) -> None:
    model(inputs).sum().backward()


def _are_means(rank: WorkerRank, net: nn.Module, inputs: torch.Tensor, found: list[torch.Tensor]) -> bool:
    """Whether *found* are the means of the gradients that each rank computes alone."""
    net.zero_grad()
    net(inputs).sum().backward()
    alone = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    for gradient in alone:
        dist.all_reduce(gradient)
    return all(
        torch.allclose(mean, total / rank.world, rtol=1e-4, atol=1e-6) for mean, total in zip(found, alone, strict=True)
    )


def _measure_ddp(rank: WorkerRank, size: int) -> None:
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

    def quiet() -> None:
        """The step, after which each rank has gradients of its own."""
        with model.no_sync():
            step()

    step()  # DDP rebuilds its buckets after it
    rank.report.check("gradients", _have_means(rank, net, step, quiet))
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


def _have_means(rank: WorkerRank, net: nn.Module, step: Callable[[], None], quiet: Callable[[], None]) -> bool:
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
