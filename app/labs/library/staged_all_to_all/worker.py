"""A flat all-to-all, and one in two stages, over emulated nodes."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from app.labs.ranks.emulation import RankLink
from app.labs.runner.proof import DataProof, Difference, Pattern, first_difference
from app.labs.runner.rank import WorkerRank

_ELEMENT = 4
_SECONDS = 1.0


def main(rank: WorkerRank) -> None:
    """Time every size, and prove what arrives."""
    node, world = int(rank.number("node")), rank.world
    if world % node:
        raise ValueError(f"nodes of {node} ranks need a multiple of {node} ranks, not {world}")
    link = RankLink(rank, rank.number("latency"), rank.number("inside"), node=node, across=rank.number("across"))
    pattern = Pattern(world, torch.float32, rank.device)
    for name, run in ALGORITHMS.items():
        for size in rank.numbers("sizes"):
            pieces = torch.ones(world, int(size) // (_ELEMENT * world))
            call = partial(run, link, pieces, node)
            samples = rank.timing.sample(call, _SECONDS, least=3, most=5, warmed_up=link.latest, warm=1, at_once=True)
            late = max(rank.all_gather(link.latest()))
            rank.prove(DataProof(f"{name} pieces", partial(_difference, rank.rank, pattern, call, pieces)))
            rank.report.measure(name, samples, size=pieces.numel() * _ELEMENT, late=late)


def _difference(
    rank: int, pattern: Pattern, call: Callable[[], torch.Tensor], pieces: torch.Tensor, turn: int
) -> Difference | None:
    """What is wrong in the pieces that this *rank* gets from every other one."""
    world = len(pieces)
    pattern.begin(turn)
    for place, piece in enumerate(pieces):
        pattern.fill(piece, rank * world + place)
    return first_difference([pattern.difference(piece, place * world + rank) for place, piece in enumerate(call())])


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
