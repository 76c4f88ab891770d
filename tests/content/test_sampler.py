"""What the exercise about a sampler says of its listing and of its bugs, for every sample and rank."""

from collections.abc import Callable

import pytest

from app.course.content.catalog import Catalog
from app.course.kinds.code.buggy_line import BuggyLine

SIZES = ((10, 4), (7, 3), (16, 4), (23, 5), (23, 3))  # samples and ranks
EPOCHS = range(3)
# The promises of the prompt that each bug breaks at one of the sizes.
BROKEN = [
    {"another order"},
    {"every sample"},
    {"every sample"},
    {"equally many steps"},
    {"every sample"},
    {"every sample"},
]
Read = list[list[int]]  # the samples of each rank, in order


def broken(sample: Callable[..., int]) -> set[str]:
    found = set()
    for count, ranks in SIZES:
        epochs: list[Read] = []
        for epoch in EPOCHS:
            read = [[sample(count, ranks, r, s, epoch) for s in range(count)] for r in range(ranks)]
            epochs.append([[one for one in rank if one >= 0] for rank in read])
        if any(len({len(rank) for rank in read}) > 1 for read in epochs):
            found.add("equally many steps")
        if any({one for rank in read for one in rank} != set(range(count)) for read in epochs):
            found.add("every sample")
        if epochs[0] == epochs[1] == epochs[2]:
            found.add("another order")
    return found


def run(lines: list[str]) -> Callable[..., int]:
    names: dict[str, Callable[..., list[int]]] = {}
    exec("\n".join(lines), {}, names)
    return lambda *given: names["sample"](*given)[0]


@pytest.fixture
def exercise(catalog: Catalog) -> BuggyLine:
    found = catalog.exercise("kernels/a-sampler-that-repeats")
    assert isinstance(found, BuggyLine)
    return found


def test_the_right_sampler_keeps_all_promises(exercise: BuggyLine) -> None:
    assert broken(run(exercise.code.splitlines())) == set()


def test_each_bug_of_the_sampler_breaks_the_promises_of_its_symptom(exercise: BuggyLine) -> None:
    assert [broken(run(exercise.listing(bug))) for bug in exercise.bugs] == BROKEN
