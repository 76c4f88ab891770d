"""All-reduce through a root: everything to one rank and back, or up and down a binomial tree."""

from app.core.units import Bytes, BytesPerSecond, Count, Seconds
from tests.oracles.collectives.network import CollectiveResult, Message, Network, added

ROOT = 0


def naive_all_reduce(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> CollectiveResult:
    """Send every array to the root in turn, then the sum back to every rank in turn."""
    network = Network(bandwidth, latency)
    everyone = frozenset(range(ranks))
    held = [frozenset({rank}) for rank in range(ranks)]
    while held[ROOT] != everyone:
        sender = min(everyone - held[ROOT])
        network.step([Message(sender, ROOT, size)])
        held[ROOT] = added(held[ROOT], held[sender])
    while any(share != everyone for share in held):
        receiver = next(rank for rank in range(ranks) if held[rank] != everyone)
        network.step([Message(ROOT, receiver, size)])
        held[receiver] = held[ROOT]
    return network.played()


def tree_all_reduce(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> CollectiveResult:
    """Reduce in pairs until one rank holds the sum, then broadcast: each holder informs another."""
    network = Network(bandwidth, latency)
    _reduce(network, size, ranks)
    _broadcast(network, size, ranks)
    return network.played()


def _reduce(network: Network, size: Bytes, ranks: int) -> None:
    held = [frozenset({rank}) for rank in range(ranks)]
    left = list(range(ranks))
    while held[ROOT] != frozenset(range(ranks)):
        pairs = list(zip(left[::2], left[1::2], strict=False))
        network.step(Message(sender, receiver, size) for receiver, sender in pairs)
        for receiver, sender in pairs:
            held[receiver] = added(held[receiver], held[sender])
        left = left[::2]


def _broadcast(network: Network, size: Bytes, ranks: int) -> None:
    informed, waiting = [ROOT], [rank for rank in range(ranks) if rank != ROOT]
    while waiting:
        told = waiting[: len(informed)]
        network.step(Message(sender, receiver, size) for sender, receiver in zip(informed, told, strict=False))
        informed, waiting = informed + told, waiting[len(told) :]
