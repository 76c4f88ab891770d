"""A flat all-to-all, and one in two stages, over emulated nodes."""

from collections.abc import Sequence
from functools import partial

import torch

from app.labs.ranks.link import RankLink
from app.labs.ranks.rank import WorkerRank

_ELEMENT = 4
_SECONDS = 1.0


def main(rank: WorkerRank) -> None:
    """Check what arrives, then time every size."""
    node, world = int(rank.number("node")), rank.world
    if world % node:
        raise ValueError(f"nodes of {node} ranks need a multiple of {node} ranks, not {world}")
    link = RankLink(rank, rank.number("latency"), rank.number("inside"), node=node, across=rank.number("across"))
    numbers = torch.arange(float(world)).view(world, 1)
    for name, run in ALGORITHMS.items():
        found = run(link, numbers + world * rank.rank, node)
        rank.check(f"{name} pieces", bool(torch.equal(found, world * numbers + rank.rank)))
        for size in rank.numbers("sizes"):
            pieces = torch.ones(world, int(size) // (_ELEMENT * world))
            samples = rank.timed(
                partial(run, link, pieces, node), _SECONDS, least=3, most=5, warmed=link.latest, warm=1, at_once=True
            )
            late = max(rank.everywhere(link.latest()))
            rank.measure(name, samples, size=pieces.numel() * _ELEMENT, late=late)


def flat(link: RankLink, pieces: torch.Tensor, node: int) -> torch.Tensor:
    """What each rank has for this one, in their order; row r of *pieces* is for rank r.

    In every round, all messages stay inside the nodes, or all leave them.
    """
    found = torch.empty_like(pieces)
    found[link.rank] = pieces[link.rank]
    nodes, (own, place) = link.world // node, divmod(link.rank, node)
    for far in range(nodes):
        for near in range(node):
            to = (own + far) % nodes * node + (place + near) % node
            source = (own - far) % nodes * node + (place - near) % node
            if to != link.rank:
                link.exchange(pieces[to], to, found[source], source)
    return found


def staged(link: RankLink, pieces: torch.Tensor, node: int) -> torch.Tensor:
    """The same as `flat`: ranks of a node collect for their places, then places exchange."""
    nodes, (own, place) = link.world // node, divmod(link.rank, node)
    inside = [own * node + other for other in range(node)]
    across = [other * node + place for other in range(nodes)]
    by_place = pieces.view(nodes, node, -1).transpose(0, 1).contiguous()
    collected = _exchanged(link, by_place, inside)  # from each rank of the node, for each node
    by_node = collected.transpose(0, 1).contiguous()
    return _exchanged(link, by_node, across).reshape(pieces.shape)


def _exchanged(link: RankLink, pieces: torch.Tensor, members: Sequence[int]) -> torch.Tensor:
    """What each of *members* has for this rank; row i of *pieces* is for the member i."""
    found = torch.empty_like(pieces)
    count, place = len(members), members.index(link.rank)
    found[place] = pieces[place]
    for step in range(1, count):
        to, source = (place + step) % count, (place - step) % count
        link.exchange(pieces[to], members[to], found[source], members[source])
    return found


ALGORITHMS = {"flat": flat, "staged": staged}
