"""A torus as a list of links, and the load of each when all chips send to all."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product

Chip = tuple[int, ...]
Link = tuple[Chip, int, int]  # from where, along which dimension, in which direction


def crossing_links(side: int, dimensions: int) -> int:
    """Links from chips in the lower half of the first dimension to chips in the upper half."""
    return sum(
        chip[0] < side // 2 <= (chip[0] + step) % side
        for chip in product(range(side), repeat=dimensions)
        for step in (1, -1)
    )


def loads(side: int, dimensions: int) -> Mapping[Link, float]:
    """What each link carries if every chip sends 1 in total, spread evenly over all chips.

    A message travels dimension by dimension, the shorter way round; half of it each way where both
    are equally long.
    """
    carried: dict[Link, float] = defaultdict(float)
    chips = [*product(range(side), repeat=dimensions)]
    for sender, receiver in product(chips, chips):
        at = sender
        for dimension in range(dimensions):
            for share, step, hops in _ways(sender[dimension], receiver[dimension], side):
                here = at
                for _ in range(hops):
                    carried[here, dimension, step] += share / len(chips)
                    here = _moved(here, dimension, (here[dimension] + step) % side)
            at = _moved(at, dimension, receiver[dimension])
    return carried


def _ways(start: int, end: int, side: int) -> Iterator[tuple[float, int, int]]:
    """The share, the direction and the hops of each way that a message takes round a ring."""
    ahead, behind = (end - start) % side, (start - end) % side
    if ahead <= behind:
        yield (0.5 if ahead == behind else 1.0), 1, ahead
    if behind <= ahead:
        yield (0.5 if ahead == behind else 1.0), -1, behind


def _moved(chip: Chip, dimension: int, place: int) -> Chip:
    return (*chip[:dimension], place, *chip[dimension + 1 :])
