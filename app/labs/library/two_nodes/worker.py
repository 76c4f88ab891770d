"""A flat ring or a hierarchical all-reduce over two emulated nodes."""

from functools import partial

import torch

from app.labs.ranks.emulation import RankLink, run_hierarchical_all_reduce, run_ring_all_reduce
from app.labs.runner.rank import WorkerRank

_ELEMENT = 4
_SECONDS = 1.0


def main(rank: WorkerRank) -> None:
    """Check the sums, then time every size."""
    if rank.world % 2:
        raise ValueError(f"two equal nodes need an even number of ranks, not {rank.world}")
    node = rank.world // 2
    link = RankLink(rank, rank.number("latency"), rank.number("inside"), node=node, across=rank.number("across"))
    name = rank.word("algorithm")
    run = (
        partial(run_hierarchical_all_reduce, link, node=node)
        if name == "hierarchical"
        else partial(run_ring_all_reduce, link)
    )
    array = torch.arange(8.0 * rank.world) + rank.rank
    run(array)
    total = rank.world * torch.arange(8.0 * rank.world) + rank.world * (rank.world - 1) / 2
    rank.report.check("sums", bool(torch.equal(array, total)))
    for size in rank.numbers("sizes"):
        elements = int(size) // (_ELEMENT * rank.world) * rank.world
        held = torch.ones(elements)
        samples = rank.timing.sample(
            partial(run, held), seconds=_SECONDS, least=5, most=10, warmed_up=link.latest, at_once=True
        )
        late = max(rank.all_gather(link.latest()))
        rank.report.measure(name, samples, size=elements * _ELEMENT, late=late)
