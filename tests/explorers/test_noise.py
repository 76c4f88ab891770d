"""No text shows what is only the noise of sums: 3.47e-14 %, -0 %, nan."""

import itertools
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from app.charts.svg import to_svg
from app.explorers import EXPLORERS, Explored, Explorer, Slider, Values, read_controls
from tests.each import each

NOISE = re.compile(
    r"\d[eE]-(?:1[1-9]|[2-9]\d)\b|(?<![\d.,e^])-0(?:\.0*)?(?![\d.,])|\bnan\b|\binf\b"
)
ONE_OF_SEVERAL = re.compile(
    r"(?<![\d.,·×-])\b1 (GPUs|ranks|stages|micro-batches|nodes|groups|tokens|copies|sequences|steps|"
    r"experts|other groups|chunks|layers|data-parallel ranks|clean steps)\b"
)
POWER = re.compile(r"\de\+\d")  # 1e+03 days
# Numbers that are as small as this: FP32 near 1e-4 has one every 7.3e-12; a rate of 1e-6 over 1e5.
SMALL = {"formats", "learning-rate"}
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


def over_states(seconds: float) -> pytest.MarkDecorator:
    """A quick look, and the sweep of all, which takes that many *seconds*."""
    sweep = pytest.param(states, marks=[pytest.mark.slow(seconds), pytest.mark.sweep])
    return pytest.mark.parametrize("which", [edges, sweep])


WHICH = over_states(40)


def _corners(controls: dict[str, list[str]], most: int) -> Iterator[dict[str, str]]:
    """The combinations of all, or *most* drawn ones."""
    if math.prod(map(len, controls.values())) <= most:
        drawn: Iterable[Sequence[str]] = itertools.product(*controls.values())
    else:
        source = random.Random(1)
        drawn = ([source.choice(ends) for ends in controls.values()] for _ in range(most))
    yield from (dict(zip(controls, corner, strict=True)) for corner in drawn)


def texts(shown: Explored) -> Iterator[str]:
    yield shown.says
    for fact in shown.facts:
        yield f"{fact.label}: {fact.value}"
    for figure in shown.figures:
        yield from (cell for row in figure.table for cell in row)
        yield re.sub(
            r'<[^>]*?(?:aria-label="([^"]*)")?[^>]*>', r" \1 ", to_svg(figure, alone=False)
        )


@WHICH
@each("name", sorted(EXPLORERS))
def test_no_text_shows_the_noise_of_a_sum_one_of_several_or_a_power(
    which: States, name: str
) -> None:
    explorer, drew = EXPLORERS[name], 0
    for state in which(explorer):
        values, _ = read_controls(explorer.controls, state)
        try:
            shown = explorer.explore(Values(values))
        except ValueError:
            continue  # they do not go together
        drew += 1
        for text in texts(shown):
            found = NOISE.search(text)
            assert not found or name in SMALL, (state, found[0], text[:300])
            found = ONE_OF_SEVERAL.search(text) or POWER.search(text)
            assert not found, (state, found[0], text[:300])
    assert drew > len(explorer.controls)


@each("name", sorted(EXPLORERS))
def test_every_setting_is_tried_with_every_setting_of_every_other_control(name: str) -> None:
    found = ends(EXPLORERS[name])
    tried = {
        pair
        for state in states(EXPLORERS[name])
        for pair in itertools.combinations(state.items(), 2)
    }
    assert all(len(texts) > 1 for texts in found.values())
    for (one, first), (other, second) in itertools.combinations(found.items(), 2):
        assert {((one, a), (other, b)) for a in first for b in second} <= tried
