"""A ring all-reduce over send and receive, with its bytes and messages counted."""

import torch

from app.labs.ranks.emulation import RankLink, run_ring_all_reduce
from app.labs.runner.rank import WorkerRank

_ELEMENT = 4


def main(rank: WorkerRank) -> None:
    """Add numbers that tell the ranks apart, and count what that sends."""
    size = int(rank.number("size")) // (_ELEMENT * rank.world) * rank.world
    link = RankLink(rank)
    array = torch.arange(size, dtype=torch.float32) % 1000 + rank.rank
    expected = (torch.arange(size, dtype=torch.float32) % 1000) * rank.world
    expected += rank.world * (rank.world - 1) / 2
    run_ring_all_reduce(link, array)
    rank.report.check("sums", bool(torch.equal(array, expected)))
    for name, count in (("bytes", link.sent_bytes), ("messages", link.messages)):
        rank.report.measure(name, [float(n) for n in rank.all_gather(count)], size=size * _ELEMENT)
