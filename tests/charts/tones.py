"""The tones of the parts of a figure, and their hues."""

import re
from collections.abc import Iterator
from itertools import pairwise

from app.core.charts.bars import Bars
from app.core.charts.svg import Figure
from app.core.charts.timeline import Timeline
from app.core.folders import ROOT

HUES = {
    "f": "forward", "b": "backward", "w": "weight-gradient", "c": "communication",
    "a": "activations", "i": "muted", "e": "line", "r": "failure",
}  # fmt: skip
LEAST = 3.0  # contrast of what is not text
TOKENS = (ROOT / "static/css/tokens.css").read_text(encoding="utf-8")
Tones = frozenset[tuple[str, str]]  # each with the name of its part
KINDS = {"F": "f", "B": "bs", "I": "bs", "W": "wd", "C": "c"}  # of the bars of a schedule


def neighbors(figure: Figure) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """The names and tones of each two parts that touch one another."""
    for stack in _stacks(figure):
        yield from pairwise(stack)


def named_tones(figure: Bars) -> Tones:
    """The tones and names in a figure of bars."""
    parts = [part for bar in figure.bars for part in bar.parts if part.name]
    return frozenset((str(part.color), part.name) for part in parts)


def _stacks(figure: Figure) -> Iterator[list[tuple[str, str]]]:
    """The names and tones of the parts that touch, one after the other."""
    if isinstance(figure, Bars):
        for bar in figure.bars:
            yield [(part.name or bar.name, str(part.color)) for part in bar.parts if part.value]
    if isinstance(figure, Timeline):
        for row in figure.rows:
            yield [(bar.kind, KINDS[bar.kind]) for bar in row.bars]


def themes() -> Iterator[dict[str, str]]:
    found = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", TOKENS)
    yield {name: light for name, light, _ in found}
    yield {name: dark for name, _, dark in found}


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
