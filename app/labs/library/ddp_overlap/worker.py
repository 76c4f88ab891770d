"""DDP with layers that sleep and an emulated link for its all-reduces; on GPUs, see `computing`."""

import queue
import threading
import time
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from app.labs.library.ddp_overlap.computation import measure_ddp
from app.labs.ranks.sleep_layers import SleepingLayer, sleep_until
from app.labs.runner.rank import WorkerRank

_LAYERS, _WIDTH, _BATCH = 8, 512, 4
_MIB = 2**20  # bytes of a layer's gradients


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
        measure_ddp(rank, size)
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
