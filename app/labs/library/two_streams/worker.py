"""A matrix product and an all-reduce, alone and at the same time."""

import statistics

import torch
import torch.distributed as dist

from app.labs.ranks.rank import Rank

_ELEMENT = 4  # bytes of a number


def main(rank: Rank) -> None:
    """Check both results, then time each alone and both together."""
    side = int(rank.number("side"))
    one = torch.ones(side, side, device=rank.device)
    array = torch.ones(int(rank.number("size")) // _ELEMENT, device=rank.device)
    dist.all_reduce(array)
    rank.check("sum", bool((array == rank.world).all()))
    rank.check("product", bool(((one @ one) == side).all()))
    array.zero_()  # repeated sums must stay finite

    def both() -> None:
        work = dist.all_reduce(array, async_op=True)
        torch.mm(one, one)
        work.wait()

    product = rank.timed(lambda: torch.mm(one, one), seconds=1.0)
    rank.measure("product", product)
    rank.measure("reduce", rank.timed(lambda: dist.all_reduce(array), seconds=1.0))
    together = rank.timed(both, seconds=1.0)
    rank.measure("both", together)
    exposed = statistics.median(together) - statistics.median(product)
    rank.measure("exposed", [max(0.0, exposed)])
