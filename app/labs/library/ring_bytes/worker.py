"""A ring all-reduce over send and receive, counted."""

import torch

from app.labs.ranks.link import Link
from app.labs.ranks.rank import Rank
from app.labs.ranks.rings import ring_all_reduce

_ELEMENT = 4


def main(rank: Rank) -> None:
    """Add up numbers that tell the ranks apart, and count what was sent for it."""
    size = int(rank.number("size")) // (_ELEMENT * rank.world) * rank.world
    link = Link(rank)
    array = torch.arange(size, dtype=torch.float32) % 1000 + rank.rank
    wanted = (torch.arange(size, dtype=torch.float32) % 1000) * rank.world
    wanted += rank.world * (rank.world - 1) / 2
    ring_all_reduce(link, array)
    rank.check("sums", bool(torch.equal(array, wanted)))
    for name, count in (("bytes", link.sent_bytes), ("messages", link.messages)):
        rank.measure(name, [float(n) for n in rank.everywhere(count)], size=size * _ELEMENT)
