"""Kernels that count every number they read and write."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counted:
    """Numbers read and written, and operations."""

    read: int = 0
    written: int = 0
    operations: int = 0

    @property
    def moved(self) -> int:
        """Numbers read or written."""
        return self.read + self.written


def multiply(m: int, n: int, k: int) -> Counted:
    """A product with everything on the chip: each number is read or written once."""
    counted = Counted(read=len([(i, j) for i in range(m) for j in range(k)]))
    counted.read += len([(i, j) for i in range(k) for j in range(n)])
    for _row in range(m):
        for _column in range(n):
            for _ in range(k):
                counted.operations += 2
            counted.written += 1
    return counted


def unfused_attention(sequence: int, width: int) -> Counted:
    """Three kernels, each of which reads its inputs and writes its result."""
    counted = Counted()
    scores, rows = sequence * sequence, sequence * width
    for read, written in ((2 * rows, scores), (scores, scores), (scores + rows, rows)):
        counted.read += read
        counted.written += written
    return counted


def fused_attention(sequence: int, width: int, room: int) -> Counted:
    """Blocks of keys and values stay; queries and partial results are streamed row by row."""
    counted = Counted()
    block = (room + 4 * width - 1) // (4 * width)
    first = 0
    while first < sequence:
        held = min(block, sequence - first)
        counted.read += 2 * held * width
        for _query in range(sequence):
            counted.read += width + width + 2  # the query, its result so far, maximum and sum
            counted.written += width + 2
        first += held
    return counted


def reached_share(bandwidth: float, latency: float, in_flight: float, requests: int = 64) -> float:
    """Share of *bandwidth* that so many bytes in flight reach, as *requests* that are each asked for again at once."""
    each = in_flight / requests
    asked, free, moved, until = [0.0] * requests, 0.0, 0.0, 400 * latency
    while True:
        turn = min(range(requests), key=asked.__getitem__)
        if asked[turn] > until:
            return moved / until / bandwidth
        free = max(free, asked[turn]) + each / bandwidth  # the memory sends one after the other
        asked[turn] = max(asked[turn] + latency, free)
        moved += each
