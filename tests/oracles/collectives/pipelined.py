"""Collectives that stream many small chunks, each on its way while the next one is sent.

Latency delays a chunk; it does not keep the link busy.
"""

from app.core.units import Bytes, BytesPerSecond, Count, Seconds
from tests.oracles.collectives.network import CollectiveResult

ROOT = 0


def broadcast(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0, chunks: Count = 64
) -> CollectiveResult:
    """Forward chunks from rank to rank until the last rank has the last chunk."""
    sending = size / chunks / bandwidth
    arrived = [0.0] * chunks  # at the root, which has them all
    links = {}
    for rank in range(1, ranks):
        free = 0.0
        for chunk, there in enumerate(arrived):
            free = max(there, free) + sending
            arrived[chunk] = free + latency
        links[rank - 1, rank] = size
    return CollectiveResult(max(arrived), (ranks - 1) * chunks, links)


def in_network_all_reduce(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0, chunks: Count = 64
) -> CollectiveResult:
    """Stream chunks up to a switch, which sends each sum down once it has it from all ranks.

    The switch is the node behind the last rank.
    """
    sending = size / chunks / bandwidth
    heard = [[0.0] * chunks for _ in range(ranks)]
    for rank in range(ranks):
        for chunk in range(chunks):
            started = chunk * sending
            heard[rank][chunk] = started + sending + latency
    done = free = 0.0
    for chunk in range(chunks):
        free = max(free, *(times[chunk] for times in heard)) + sending
        done = free + latency
    links = {(rank, ranks): size for rank in range(ranks)}
    return CollectiveResult(done, 2 * chunks, links | {(ranks, rank): size for rank in range(ranks)})
