"""Ranks that communicate less, played out: rounds of local steps, lists that travel, workers that do not wait."""

import heapq
import random


def shares_of_rounds(synchronization: float, step: float, local_steps: int, rounds: int = 7) -> float:
    """The share of the time that a clock shows between the steps of *rounds*."""
    clock = waited = 0.0
    for _ in range(rounds):
        for _ in range(local_steps):
            clock += step
        clock += synchronization
        waited += synchronization
    return waited / clock


def carried_lists(lists: list[set[int]], value: float, index: float) -> list[float]:
    """Bytes that each rank sends until every rank of a ring has the list of every other one."""
    held = [{rank} for rank in range(len(lists))]
    newest = list(range(len(lists)))
    sent = [0.0] * len(lists)
    while any(len(one) < len(lists) for one in held):
        for rank, carried in enumerate(newest):
            sent[rank] += len(lists[carried]) * (value + index)
        newest = [newest[rank - 1] for rank in range(len(lists))]
        for rank, carried in enumerate(newest):
            held[rank].add(carried)
    return sent


def seen_staleness(workers: int, updates: int, jitter: float) -> float:
    """Updates that others made between reading and updating, on average over *updates*."""
    source = random.Random(workers)
    read, total = [0] * workers, 0
    ends = [(1 + source.uniform(-jitter, jitter), worker) for worker in range(workers)]
    heapq.heapify(ends)
    for version in range(updates):
        time, worker = heapq.heappop(ends)
        total += version - read[worker]
        read[worker] = version + 1
        heapq.heappush(ends, (time + 1 + source.uniform(-jitter, jitter), worker))
    return total / updates
