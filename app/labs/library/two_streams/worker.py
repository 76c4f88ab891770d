"""A matrix product and an all-reduce, alone and at the same time."""

import statistics

import torch
import torch.distributed as dist

from app.labs.ranks import formats
from app.labs.ranks.rank import WorkerRank

_COUNTED = 256  # ranks that add a one: in BF16, one more than that is as much


def main(rank: WorkerRank) -> None:
    """Check both results, then time each alone and both together."""
    kind = formats.use("bf16" if rank.on_gpu else "fp32")
    side = int(rank.number("side"))
    one, product = (torch.ones(side, side, device=rank.device, dtype=kind) for _ in range(2))
    count, own = int(rank.number("size")) // kind.itemsize, float(rank.rank < _COUNTED)
    array = torch.full((count,), own, device=rank.device, dtype=kind)
    dist.all_reduce(array)
    total = min(rank.world, _COUNTED)
    rank.check("sum", bool(torch.equal(array, torch.full_like(array, total))))
    torch.mm(one, one, out=product)
    rank.check("product", bool(torch.equal(product, torch.full_like(product, side))))
    reduction = _fill(rank, one, array)

    def reduce() -> None:
        dist.all_reduce(array, op=reduction)

    def multiply() -> None:
        torch.mm(one, one, out=product)

    def both() -> None:
        work = dist.all_reduce(array, op=reduction, async_op=True)
        multiply()
        work.wait()

    alone = rank.timed(multiply, seconds=1.0)
    rank.measure("product", alone)
    rank.measure("reduce", rank.timed(reduce, seconds=1.0))
    together = rank.timed(both, seconds=1.0)
    rank.measure("both", together)
    exposed = statistics.median(together) - statistics.median(alone)
    rank.measure("exposed", [max(0.0, exposed)])


def _fill(rank: WorkerRank, one: torch.Tensor, array: torch.Tensor) -> dist.ReduceOp:
    """Numbers that stay finite under the reduction that is returned.

    On GPUs they are random, as in training: a product of ones takes less power, and so lets the
    clock rise.
    """
    if rank.on_gpu:
        one.normal_()
        array.normal_()
        return dist.ReduceOp.AVG
    array.zero_()
    return dist.ReduceOp.SUM
