"""No text shows what is only the noise of sums: 3.47e-14 %, -0 %, nan."""

import itertools
import math
import re
from collections.abc import Iterator

import pytest

from app.charts.svg import to_svg
from app.explorers import EXPLORERS, Explored, Explorer, Slider, Values, read_controls
from tests.each import each

pytestmark = pytest.mark.slow(10)

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
_OPTIONS = 12  # of a list at most: models differ in their numbers
_IN_PAIRS = 6  # together with each choice of another control


def ends(explorer: Explorer, most: int = _OPTIONS) -> Iterator[tuple[str, list[str]]]:
    for control in explorer.controls:
        if isinstance(control, Slider):
            yield control.name, [f"{end:g}" for end in (control.low, control.high)]
        else:
            options = list(control.options)
            yield control.name, options[:: -(-len(options) // most)]


def states(explorer: Explorer) -> Iterator[dict[str, str]]:
    """Each control at each of its ends, alone and with each choice, and some corners of all."""
    yield from edges(explorer)
    for (one, first), (other, second) in itertools.combinations(ends(explorer, _IN_PAIRS), 2):
        if len(first) > 2 or len(second) > 2:
            yield from ({one: a, other: b} for a, b in itertools.product(first, second))


def edges(explorer: Explorer) -> Iterator[dict[str, str]]:
    """Each control at each of its ends, and some corners of all."""
    controls = dict(ends(explorer))
    for name, texts in controls.items():
        yield from ({name: text} for text in texts)
    every = max(1, math.prod(map(len, controls.values())) // 24)
    for corner in itertools.islice(itertools.product(*controls.values()), 0, None, every):
        yield dict(zip(controls, corner, strict=True))


def texts(shown: Explored) -> Iterator[str]:
    yield shown.says
    for fact in shown.facts:
        yield f"{fact.label}: {fact.value}"
    for figure in shown.figures:
        yield from (cell for row in figure.table for cell in row)
        yield re.sub(
            r'<[^>]*?(?:aria-label="([^"]*)")?[^>]*>', r" \1 ", to_svg(figure, alone=False)
        )


@each("name", sorted(EXPLORERS))
def test_no_text_shows_the_noise_of_a_sum_one_of_several_or_a_power(name: str) -> None:
    explorer, drew = EXPLORERS[name], 0
    for state in states(explorer):
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
