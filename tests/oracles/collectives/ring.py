"""Ring collectives: each rank sends to the next one and receives from the one before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.units import Bytes, BytesPerSecond, Count, Seconds
from tests.oracles.collectives.network import CollectiveResult, Contributors, Message, Network, added

HeldChunks = list[list[Contributors]]
"""For every rank and every chunk of the array, the ranks whose values are in the sum."""


@dataclass(frozen=True, slots=True)
class Ring:
    """The ranks of a ring, and the chunks that are sent together: one part per rank."""

    members: Sequence[int]
    parts: Sequence[Sequence[int]]

    def hops(self) -> Iterator[tuple[int, int, int]]:
        """Every position with its rank and the rank to its right."""
        for position, rank in enumerate(self.members):
            yield position, rank, self.members[(position + 1) % len(self.members)]

    def sums(self, held: HeldChunks) -> list[list[Contributors]]:
        """The complete sum of each chunk of each part."""
        return [
            [frozenset().union(*(held[rank][chunk] for rank in self.members)) for chunk in part] for part in self.parts
        ]

    def complete(self, held: HeldChunks, sums: list[list[Contributors]], rank: int) -> list[int]:
        """The parts of which *rank* holds the complete sums."""
        return [
            index
            for index, (part, wanted) in enumerate(zip(self.parts, sums, strict=True))
            if [held[rank][chunk] for chunk in part] == wanted
        ]


def reduce_scatter(network: Network, held: HeldChunks, rings: Sequence[Ring], chunk: Bytes) -> list[int]:
    """Move partial sums around all *rings* at once until each rank owns the sum of one part.

    Returns the part that each position owns, the same in every ring.
    """
    sums = [ring.sums(held) for ring in rings]
    sending = list(range(len(rings[0].members)))
    while not all(
        ring.complete(held, wanted, rank) for ring, wanted in zip(rings, sums, strict=True) for rank in ring.members
    ):
        _pass_on(network, held, rings, sending, chunk, adding=True)
        sending = [sending[position - 1] for position in range(len(sending))]
    first = rings[0]
    return [first.complete(held, sums[0], rank)[0] for rank in first.members]


def all_gather(network: Network, held: HeldChunks, rings: Sequence[Ring], chunk: Bytes, owned: Sequence[int]) -> None:
    """Move the owned parts around all *rings* at once until every rank has all of them."""
    sums = [ring.sums(held) for ring in rings]
    sending = list(owned)
    while not all(
        len(ring.complete(held, wanted, rank)) == len(ring.parts)
        for ring, wanted in zip(rings, sums, strict=True)
        for rank in ring.members
    ):
        _pass_on(network, held, rings, sending, chunk, adding=False)
        sending = [sending[position - 1] for position in range(len(sending))]


def _pass_on(
    network: Network, held: HeldChunks, rings: Sequence[Ring], sending: Sequence[int], chunk: Bytes, adding: bool
) -> None:
    messages, arriving = [], []
    for ring in rings:
        for position, sender, receiver in ring.hops():
            part = ring.parts[sending[position]]
            messages.append(Message(sender, receiver, chunk * len(part)))
            arriving += [(receiver, at, held[sender][at]) for at in part]
    network.step(messages)
    for receiver, at, share in arriving:
        held[receiver][at] = added(held[receiver][at], share) if adding else share


def ring_reduce_scatter(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0
) -> CollectiveResult:
    """Move partial sums around the ring until every rank owns the complete sum of one chunk."""
    network = Network(bandwidth, latency)
    reduce_scatter(network, contributions(ranks), [single_ring(ranks)], size / ranks)
    return network.played()


def ring_all_gather(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> CollectiveResult:
    """Move chunks around the ring until every rank holds those of all ranks."""
    network = Network(bandwidth, latency)
    held = own_chunks(ranks)
    all_gather(network, held, [single_ring(ranks)], size / ranks, owned=range(ranks))
    return network.played()


def ring_all_reduce(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> CollectiveResult:
    """Move partial sums around the ring until each is complete somewhere, then move the sums."""
    network, held, ring = Network(bandwidth, latency), contributions(ranks), single_ring(ranks)
    owned = reduce_scatter(network, held, [ring], size / ranks)
    all_gather(network, held, [ring], size / ranks, owned)
    return network.played()


def contributions(ranks: int) -> HeldChunks:
    """What *ranks* ranks hold of as many chunks before anything is sent: their own values."""
    return [[frozenset({rank})] * ranks for rank in range(ranks)]


def own_chunks(ranks: int) -> HeldChunks:
    """What *ranks* ranks hold of as many chunks if each has only the chunk of its number."""
    return [[frozenset({chunk}) if chunk == rank else frozenset() for chunk in range(ranks)] for rank in range(ranks)]


def single_ring(ranks: int) -> Ring:
    """One ring of all *ranks* ranks, with one chunk per rank."""
    return Ring(range(ranks), [[chunk] for chunk in range(ranks)])
