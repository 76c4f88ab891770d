"""All-reduce algorithms over an emulated link."""

from functools import partial

import torch

from app.labs.ranks.emulation import RankLink, run_naive_all_reduce, run_ring_all_reduce, run_tree_all_reduce
from app.labs.runner.rank import WorkerRank

_ELEMENT = 4
_ALGORITHMS = {"ring": run_ring_all_reduce, "tree": run_tree_all_reduce, "naive": run_naive_all_reduce}
_SECONDS = 1.0


def main(rank: WorkerRank) -> None:
    """Check the sums, then time every size."""
    link = RankLink(rank, rank.number("latency"), rank.number("bandwidth"))
    run = _ALGORITHMS[rank.word("algorithm")]
    array = torch.arange(8.0 * rank.world) + rank.rank
    run(link, array)
    total = rank.world * torch.arange(8.0 * rank.world) + rank.world * (rank.world - 1) / 2
    rank.report.check("sums", bool(torch.equal(array, total)))
    for size in rank.numbers("sizes"):
        elements = int(size) // (_ELEMENT * rank.world) * rank.world
        held = torch.ones(elements)
        samples = rank.timing.sample(
            partial(run, link, held), seconds=_SECONDS, least=5, most=10, warmed_up=link.latest, at_once=True
        )
        late = max(rank.all_gather(link.latest()))
        rank.report.measure("time", samples, size=elements * _ELEMENT, late=late)
