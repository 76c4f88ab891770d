"""The numbers of pools where exercises come and go: those that are left are 1 and so on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.classes.people.assignments import Assignment, AssignmentEntry

Pooled = tuple[Sequence[AssignmentEntry], Sequence[int]]  # entries, and draws of their pools


def number_pools(entries: Iterable[AssignmentEntry], draws: Mapping[int, int]) -> Pooled:
    """*entries* with their pools numbered from 1 on, and how many are drawn of each.

    A pool without *draws* draws one exercise.
    """
    left = list(entries)
    pools = sorted({one.pool for one in left} - {0})
    numbers = {0: 0} | {pool: number for number, pool in enumerate(pools, 1)}
    return [replace(one, pool=numbers[one.pool]) for one in left], [draws.get(pool, 1) for pool in pools]


def entries_left(one: Assignment, left: Iterable[AssignmentEntry]) -> Pooled:
    """The entries of *one* that are *left*; a pool draws no more than it then has."""
    those = list(left)
    sizes = Counter(entry.pool for entry in those)
    return number_pools(those, {number: min(draw, sizes[number]) for number, draw in enumerate(one.draws, 1)})


def entries_in_pools(entries: Iterable[AssignmentEntry], stored: Assignment) -> Pooled:
    """*entries*, each in the pool that it has in the assignment as *stored*."""
    pools = {one.exercise: one.pool for one in stored.entries}
    placed = [replace(one, pool=pools.get(one.exercise, 0)) for one in entries]
    return number_pools(placed, dict(enumerate(stored.draws, 1)))
