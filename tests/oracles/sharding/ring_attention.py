"""Ring attention: blocks of keys and values that move around a ring."""

from dataclasses import dataclass


@dataclass(slots=True)
class Passed:
    """Blocks that each rank has seen, numbers it sent, and time it waited for the next block."""

    seen: list[set[int]]
    sent: list[int]
    waited: float


def pass_blocks(ranks: int, numbers: int, attend: float = 1.0, transfer: float = 0.0) -> Passed:
    """Attend to one block while the next one arrives, until every rank has seen every block."""
    seen = [{rank} for rank in range(ranks)]
    held = list(range(ranks))
    sent = [0] * ranks
    waited = 0.0
    while any(len(blocks) < ranks for blocks in seen):
        held = [held[rank - 1] for rank in range(ranks)]
        for rank in range(ranks):
            sent[rank] += numbers
            seen[rank].add(held[rank])
        waited += max(0.0, transfer - attend)
    return Passed(seen, sent, waited)
