"""Textbook all-reduce algorithms, written with sends and receives."""

from collections.abc import Sequence

import torch

from app.labs.ranks.link import RankLink


def run_ring_all_reduce(link: RankLink, array: torch.Tensor) -> None:
    """Send partial sums once around the ring, then the sums; the ranks divide the array."""
    members = range(link.world)
    _ring_all_gather(link, array, members, _ring_reduce_scatter(link, array, members))


def run_hierarchical_all_reduce(link: RankLink, array: torch.Tensor, node: int) -> None:
    """Reduce-scatter inside the nodes, all-reduce between them, all-gather inside."""
    first = link.rank // node * node
    inside = range(first, first + node)
    across = range(link.rank % node, link.world, node)
    own = _ring_reduce_scatter(link, array, inside)
    piece = array.chunk(node)[own]
    _ring_all_gather(link, piece, across, _ring_reduce_scatter(link, piece, across))
    _ring_all_gather(link, array, inside, own)


def _ring_reduce_scatter(link: RankLink, array: torch.Tensor, members: Sequence[int]) -> int:
    """Leave this rank with the sum of one chunk; the number of the chunk."""
    count, place = len(members), members.index(link.rank)
    right, left = members[(place + 1) % count], members[place - 1]
    chunks = array.chunk(count)
    arrived = torch.empty_like(chunks[0])
    for step in range(count - 1):
        link.exchange(chunks[(place - step) % count], right, arrived, left)
        chunks[(place - step - 1) % count].add_(arrived)
    return (place + 1) % count


def _ring_all_gather(link: RankLink, array: torch.Tensor, members: Sequence[int], own: int) -> None:
    """Pass the chunks around until every rank has all; this rank starts with the chunk *own*."""
    count, place = len(members), members.index(link.rank)
    right, left = members[(place + 1) % count], members[place - 1]
    chunks = array.chunk(count)
    for step in range(count - 1):
        link.exchange(chunks[(own - step) % count], right, chunks[(own - step - 1) % count], left)


def run_tree_all_reduce(link: RankLink, array: torch.Tensor) -> None:
    """Send sums up a binary tree to rank 0, and down again."""
    world, rank = link.world, link.rank
    arrived = torch.empty_like(array)
    distance = 1
    while distance < world:
        if rank % (2 * distance) == distance:
            link.send(array, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < world:
            link.receive(arrived, rank + distance)
            array.add_(arrived)
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == 0 and rank + distance < world:
            link.send(array, rank + distance)
        elif rank % (2 * distance) == distance:
            link.receive(array, rank - distance)


def run_naive_all_reduce(link: RankLink, array: torch.Tensor) -> None:
    """Send every array to rank 0, one at a time; it adds them and sends the sum to each rank."""
    if link.rank:
        link.send(array, 0)
        link.receive(array, 0)
        return
    arrived = torch.empty_like(array)
    for source in range(1, link.world):
        link.receive(arrived, source)
        array.add_(arrived)
    for target in range(1, link.world):
        link.send(array, target)
