"""A matrix product and an all-reduce, alone and at the same time."""

import statistics

import torch
import torch.distributed as dist

from app.labs.ranks import formats
from app.labs.runner.proof import DataProof, Difference, Pattern
from app.labs.runner.rank import WorkerRank


def main(rank: WorkerRank) -> None:
    """Time each alone and both together, and prove that both results are right."""
    kind = formats.use("bf16" if rank.on_gpu else "fp32")
    side = int(rank.number("side"))
    one, product = (torch.ones(side, side, device=rank.device, dtype=kind) for _ in range(2))
    array = torch.zeros(int(rank.number("size")) // kind.itemsize, device=rank.device, dtype=kind)
    torch.mm(one, one, out=product)
    rank.report.check("product", bool(torch.equal(product, torch.full_like(product, side))))
    reduction, pattern = _fill(rank, one, array), Pattern(rank.world, kind, rank.device)

    def reduce(reduction: dist.ReduceOp = reduction) -> None:
        dist.all_reduce(array, op=reduction)

    def multiply() -> None:
        torch.mm(one, one, out=product)

    def both(reduction: dist.ReduceOp = reduction) -> None:
        work = dist.all_reduce(array, op=reduction, async_op=True)
        multiply()
        work.wait()

    def difference(turn: int) -> Difference | None:
        """What is wrong in the sums, alone and beside a product of ones."""
        pattern.begin(turn)
        found = []
        for call in (reduce, both):  # both in any case, as on the other ranks
            pattern.fill(array, 0, pattern.weight(rank.rank))
            call(dist.ReduceOp.SUM)
            found.append(pattern.difference(array, 0, pattern.total))
        return found[0] or found[1]

    alone = rank.timing.sample(multiply, seconds=1.0)
    apart = rank.timing.sample(reduce, seconds=1.0)
    together = rank.timing.sample(both, seconds=1.0)
    one.fill_(1.0)
    rank.prove(DataProof("sum", difference))
    rank.report.check("product", bool(torch.equal(product, torch.full_like(product, side))))
    rank.report.measure("product", alone)
    rank.report.measure("reduce", apart)
    rank.report.measure("both", together)
    exposed = statistics.median(together) - statistics.median(alone)
    rank.report.measure("exposed", [max(0.0, exposed)])


def _fill(rank: WorkerRank, one: torch.Tensor, array: torch.Tensor) -> dist.ReduceOp:
    """Numbers that stay finite under the reduction that is returned.

    On GPUs they are random, as in training: a product of ones takes less power, and so lets the clock rise.
    """
    if rank.on_gpu:
        one.normal_()
        array.normal_()
        return dist.ReduceOp.AVG
    return dist.ReduceOp.SUM
