"""The states in which explorers are tried: the ends of their controls, alone and together."""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.course.explorers.base import Explorer, ExplorerOutput, Values
from app.course.explorers.controls import Slider, read_controls

States = Callable[[Explorer], Iterator[dict[str, str]]]  # the settings that are tried
_CORNERS = 24  # of an explorer with many controls
_PRODUCT = 512  # combinations of all settings of an explorer that are tried in full


def ends(explorer: Explorer) -> dict[str, list[str]]:
    """Each control's options, or both ends of its range."""
    return {
        control.name: [f"{end:g}" for end in (control.low, control.high)]
        if isinstance(control, Slider)
        else list(control.options)
        for control in explorer.controls
    }


def edges(explorer: Explorer) -> Iterator[dict[str, str]]:
    """Each control at each of its ends, and some corners of all."""
    controls = ends(explorer)
    for name, texts in controls.items():
        yield from ({name: text} for text in texts)
    yield from _corners(controls, _CORNERS)


def states(explorer: Explorer) -> Iterator[dict[str, str]]:
    """Each end of each control, alone and with each end of each other one; all together where they are few.

    Of four explorers all combinations would be up to 15 millions: there, some are drawn.
    """
    yield from edges(explorer)
    controls = ends(explorer)
    for (one, first), (other, second) in itertools.combinations(controls.items(), 2):
        yield from ({one: a, other: b} for a, b in itertools.product(first, second))
    yield from _corners(controls, _PRODUCT)


def explored_states(explorer: Explorer, which: States) -> Iterator[tuple[str, ExplorerOutput]]:
    """Each state that is tried and exists, in words, and what is shown there."""
    for state in which(explorer):
        values, _ = read_controls(explorer.controls, state)
        try:
            yield str(state), explorer.explore(Values(values))
        except ValueError:
            continue  # they do not go together


def _corners(controls: dict[str, list[str]], most: int) -> Iterator[dict[str, str]]:
    """The combinations of all, or *most* drawn ones."""
    if math.prod(map(len, controls.values())) <= most:
        drawn: Iterable[Sequence[str]] = itertools.product(*controls.values())
    else:
        source = random.Random(1)
        drawn = ([source.choice(ends) for ends in controls.values()] for _ in range(most))
    yield from (dict(zip(controls, corner, strict=True)) for corner in drawn)
