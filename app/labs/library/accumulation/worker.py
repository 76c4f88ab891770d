"""DDP over several micro-batches, with the bytes of its buckets counted."""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from app.labs.runner.rank import WorkerRank

_BATCH = 4


def _counted(sizes: list[int], bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    buffer = bucket.buffer()
    sizes.append(buffer.numel() * buffer.element_size())
    work = dist.all_reduce(buffer, async_op=True)
    world = dist.get_world_size()
    return work.get_future().then(lambda done: done.value()[0].div_(world))


def main(rank: WorkerRank) -> None:
    """Count a step with and without no_sync; the gradients must be the same."""
    width, layers, micro = (int(rank.number(name)) for name in ("width", "layers", "micro"))
    inputs = torch.randn(micro, _BATCH, width)
    found = {}
    for name in ("without", "with"):
        torch.manual_seed(0)
        net = nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(layers)))
        model = DistributedDataParallel(net)
        sizes: list[int] = []  # bytes of the buckets that were all-reduced
        model.register_comm_hook(sizes, _counted)
        for place, batch in enumerate(inputs):
            quiet = name == "with" and place < micro - 1
            with model.no_sync() if quiet else nullcontext():
                model(batch).square().mean().backward()
        found[name] = torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None])
        rank.report.measure(name, rank.all_gather(sum(sizes)))
    same = bool(torch.allclose(found["with"], found["without"], atol=1e-6))
    rank.report.check("gradients", same)
