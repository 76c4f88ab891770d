"""A ring all-reduce: each rank sends to the next one and receives from the one before."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.units import Bytes, BytesPerSecond, Count, Seconds

HeldChunks = list[list[frozenset[int]]]
"""For every rank and every chunk of the array, the ranks whose values are in the sum."""


@dataclass(frozen=True, slots=True)
class RingStep:
    """The state after a step: the chunk that each rank sent, what all hold, bytes and time."""

    sent: tuple[Count, ...]
    adding: bool
    held: HeldChunks
    sent_bytes: Bytes
    time: Seconds


def play_ring_all_reduce(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0
) -> Iterator[RingStep]:
    """A ring all-reduce before its first step and after each one."""
    now = RingStep((), True, [[frozenset({rank})] * ranks for rank in range(ranks)], 0.0, 0.0)
    yield now
    sending, chunk = tuple(range(ranks)), size / ranks
    for step in range(2 * (ranks - 1)):
        adding = step < ranks - 1
        held = [list(chunks) for chunks in now.held]
        for rank in range(ranks):
            sent = sending[rank - 1]
            arrived = now.held[rank - 1][sent]
            held[rank][sent] = held[rank][sent] | arrived if adding else arrived
        time = now.time + latency + chunk / bandwidth
        now = RingStep(sending, adding, held, now.sent_bytes + chunk, time)
        yield now
        sending = tuple(sending[rank - 1] for rank in range(ranks))
