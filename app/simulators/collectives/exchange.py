"""All-to-all: every rank has a piece for every other rank."""

from app.simulators.collectives.network import CollectiveResult, Message, Network
from app.units import Bytes, BytesPerSecond, Count, Seconds


def all_to_all(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0
) -> CollectiveResult:
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
