"""All-to-all: every rank has a piece for every other rank."""

from app.core.translation import say
from app.core.units import Bytes, BytesPerSecond, Count, Seconds
from tests.oracles.collectives.network import CollectiveResult, Message, Network


def all_to_all(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> CollectiveResult:
    """Send to ever more distant ranks until every rank has a piece from every other."""
    network = Network(bandwidth, latency)
    arrived = [{rank} for rank in range(ranks)]
    distance = 0
    while any(len(senders) < ranks for senders in arrived):
        distance += 1
        messages = [Message(rank, (rank + distance) % ranks, size / ranks) for rank in range(ranks)]
        network.step(messages)
        for message in messages:
            arrived[message.receiver].add(message.sender)
    return network.played()


def hierarchical_all_to_all(
    size: Bytes,
    nodes: Count,
    gpus_per_node: Count,
    intra: tuple[BytesPerSecond, Seconds],
    inter: tuple[BytesPerSecond, Seconds],
) -> CollectiveResult:
    """Join the pieces for all GPUs i on GPU i of each node, then send them on to their nodes.

    *intra* and *inter* are the bandwidth and the latency inside a node and between nodes. Each
    piece is followed from its sender to its receiver.
    """
    ranks = nodes * gpus_per_node
    held = [{(rank, to) for to in range(ranks)} for rank in range(ranks)]
    inside, between = Network(*intra), Network(*inter)
    for distance in range(1, gpus_per_node):
        pairs = []
        for rank in range(ranks):
            node, place = divmod(rank, gpus_per_node)
            pairs.append((rank, node * gpus_per_node + (place + distance) % gpus_per_node))
        moved = [
            {piece for piece in held[one] if piece[0] == one and piece[1] % gpus_per_node == place}
            for one, other in pairs
            for place in [other % gpus_per_node]
        ]
        _pass_on(inside, held, pairs, moved, size / ranks)
    for distance in range(1, nodes):
        pairs = [(rank, (rank + distance * gpus_per_node) % ranks) for rank in range(ranks)]
        moved = [{piece for piece in held[one] if piece[1] == other} for one, other in pairs]
        _pass_on(between, held, pairs, moved, size / ranks)
    for rank in range(ranks):
        if held[rank] != {(sender, rank) for sender in range(ranks)}:
            raise ValueError(say("rank {rank} holds {held}", rank=rank, held=sorted(held[rank])))
    return inside.played().then(between.played())


def _pass_on(
    network: Network,
    held: list[set[tuple[int, int]]],
    pairs: list[tuple[int, int]],
    moved: list[set[tuple[int, int]]],
    piece: Bytes,
) -> None:
    """Send the pieces *moved* from one rank to the other of each pair, in one step."""
    network.step(Message(*pair, len(pieces) * piece) for pair, pieces in zip(pairs, moved, strict=True))
    for (sender, receiver), pieces in zip(pairs, moved, strict=True):
        held[sender] -= pieces
        held[receiver] |= pieces
