"""Messages on links: the chunks of a ring all-reduce, and gradients and weights of layers beside their computation."""

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


Span = tuple[float, float]
"""Start and end."""


def buckets(layers: int, size: int, compute: float, message: float, latency: float) -> list[Span]:
    """The span of each bucket of *size* layers' gradients on the link, in a backward pass."""
    spans: list[Span] = []
    free = done = 0.0
    while done < layers:
        held = min(size, layers - done)
        done += held
        start = max(free, done * compute)
        free = start + latency + held * message
        spans.append((start, free))
    return spans


def gathers(layers: int, ahead: int, compute: float, gather: float) -> tuple[list[Span], list[Span]]:
    """The spans of each layer's weights on the link and of its computation, in a forward pass.

    A layer's weights are sent when the layer *ahead* places before it starts, or with *ahead* 0
    when the previous layer has ended; those of the first *ahead* layers are sent immediately.
    """
    fetched: list[Span] = []
    worked: list[Span] = []
    for layer in range(layers):
        link = fetched[-1][1] if fetched else 0.0
        if ahead == 0:
            allowed = worked[-1][1] if worked else 0.0
        else:
            allowed = worked[layer - ahead][0] if layer >= ahead else 0.0
        start = max(link, allowed)
        fetched.append((start, start + gather))
        begun = max(fetched[-1][1], worked[-1][1] if worked else 0.0)
        worked.append((begun, begun + compute))
    return fetched, worked
