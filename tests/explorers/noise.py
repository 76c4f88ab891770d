"""What no text of an explorer shows: only the noise of sums (3.47e-14 %, -0 %, nan), 1 GPUs, 1e+03."""

import re
from collections.abc import Iterator

from app.core.charts.svg import Figure
from app.course.explorers.base import ExplorerOutput

NOISE = re.compile(r"\d[eE]-(?:1[1-9]|[2-9]\d)\b|(?<![\d.,e^])-0(?:\.0*)?(?![\d.,])|\bnan\b|\binf\b")
ONE_OF_SEVERAL = re.compile(
    r"(?<![\d.,·×-])\b1 (GPUs|ranks|stages|micro-batches|nodes|groups|tokens|copies|sequences|steps|"
    r"experts|other groups|chunks|layers|data-parallel ranks|clean steps)\b"
)
POWER = re.compile(r"\de\+\d")  # 1e+03 days
# Numbers that are as small as this: FP32 near 1e-4 has one every 7.3e-12; a rate of 1e-6 over 1e5.
SMALL = {"formats", "learning-rate"}


def texts_of(shown: ExplorerOutput) -> Iterator[str]:
    """The sentence and the key figures."""
    yield shown.says
    for fact in shown.facts:
        yield f"{fact.label}: {fact.value}"


def texts_in(figure: Figure, svg: str) -> Iterator[str]:
    """The table of a figure, and all that is written in it and said of it."""
    yield from (cell for row in figure.table for cell in row)
    yield re.sub(r'<[^>]*?(?:aria-label="([^"]*)")?[^>]*>', r" \1 ", svg)


def noise(name: str, text: str) -> Iterator[str]:
    """The first of each kind in a *text* of the explorer of that *name*."""
    patterns = [ONE_OF_SEVERAL, POWER] if name in SMALL else [NOISE, ONE_OF_SEVERAL, POWER]
    for found in (pattern.search(text) for pattern in patterns):
        if found:
            yield f"{found[0]!r} in {text[:300]!r}"
