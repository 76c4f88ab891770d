"""A color means one thing on the whole site, and neighbors are told apart without a good eye for it."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from app.charts.bars import Bars
from app.charts.color import Tone
from app.charts.timeline import Timeline
from app.config import ROOT
from app.explorers import EXPLORERS, Explored, Values, read_controls
from tests.each import each
from tests.explorers.test_noise import WHICH, States

TOKENS = (ROOT / "static/css/tokens.css").read_text(encoding="utf-8")
FIGURES = (ROOT / "static/figures.css").read_text(encoding="utf-8")
PATTERNS = (ROOT / "templates/figures/patterns.svg").read_text(encoding="utf-8")
HUES = {
    "f": "forward", "b": "backward", "w": "weight-gradient", "c": "communication",
    "a": "activations", "i": "muted", "e": "line", "r": "failure",
}  # fmt: skip
KINDS = {"F": "f", "B": "bs", "I": "bs", "W": "wd", "C": "c"}  # of the bars of a schedule
LEAST = 3.0  # contrast of what is not text
# Names of one kind of thing, which may share a tone in a figure: kinds of communication, of computing
# and of waiting, each on a bar of its own.
ALIKE = (
    {"tensor", "context", "messages", "expert", "data", "all-to-all"},
    {"products", "attention", "element-wise", "head"},
    {"bubble", "launches", "skew"},
)


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


def drawn(which: States) -> Iterator[tuple[str, Explored]]:
    for name, explorer in EXPLORERS.items():
        for state in which(explorer):
            values, _ = read_controls(explorer.controls, state)
            try:
                yield name, explorer.explore(Values(values))
            except ValueError:
                continue  # they do not go together


def stacks(shown: Explored) -> Iterator[list[tuple[str, str]]]:
    """The names and tones of the parts that touch one another."""
    for figure in shown.figures:
        if isinstance(figure, Bars):
            for bar in figure.bars:
                yield [(part.name or bar.name, str(part.color)) for part in bar.parts if part.value]
        if isinstance(figure, Timeline):
            for row in figure.rows:
                yield [(bar.kind, KINDS[bar.kind]) for bar in row.bars]


def test_each_hue_stands_out_from_the_page_in_both_themes() -> None:
    for theme in themes():
        for letter, hue in HUES.items():
            if letter != "e":  # of what is idle or not lit
                assert contrast(theme[hue], theme["background"]) >= LEAST
        assert contrast(theme["muted"], theme["line"]) >= LEAST  # the edge of an idle bar


def test_labels_on_a_hue_can_be_read() -> None:
    for theme in themes():
        for hue in (
            "forward",
            "backward",
            "weight-gradient",
            "communication",
            "activations",
            "muted",
        ):
            assert contrast(theme[hue], theme["background"]) >= 4.5


@each("tone", sorted(set(Tone)))
def test_every_tone_has_its_hue_and_its_pattern(tone: str) -> None:
    hue = HUES[tone[0]]
    (rule,) = re.findall(
        rf"^[^{{\n]*\.k-{tone}[ ,][^{{\n]*\{{ --tone: var\(--([\w-]+)\)", FIGURES, re.M
    )
    assert rule == hue
    if len(tone) > 1:
        assert f'pattern("{tone}", "{hue}", ' in PATTERNS
        assert f"rect.k-{tone}" in FIGURES
        assert f"url(#{tone}) var(--tone)" in FIGURES


@cache
def seen(
    which: States,
) -> tuple[set[tuple[str, str, str]], set[tuple[str, str, frozenset[tuple[str, str]]]]]:
    """In each explorer: tones that touch, and the tones and names in a figure of bars."""
    touching, named = set(), set()
    for name, shown in drawn(which):
        for stack in stacks(shown):
            touching |= {(name, one, other) for (_, one), (_, other) in pairwise(stack)}
        for figure in shown.figures:
            if isinstance(figure, Bars):
                parts = [part for bar in figure.bars for part in bar.parts if part.name]
                tones = frozenset((str(part.color), part.name) for part in parts)
                named.add((name, figure.title, tones))
    return touching, named


@WHICH
def test_neighbors_are_told_apart_by_lightness_or_by_a_pattern(which: States) -> None:
    touching, _ = seen(which)
    # Two micro-batches, one after the other, may look the same.
    different = [(name, one, other) for name, one, other in touching if one != other]
    assert len(different) > 20
    for theme in themes():
        for name, one, other in different:
            apart = contrast(theme[HUES[one[0]]], theme[HUES[other[0]]]) >= LEAST
            assert apart or one[1:] != other[1:], (name, one, other)


@WHICH
def test_a_name_has_one_tone_on_the_whole_site_and_a_tone_one_name_in_a_figure(
    which: States,
) -> None:
    tones: dict[str, set[str]] = {}
    for name, title, found in seen(which)[1]:
        here: dict[str, set[str]] = {}
        for tone, part in found:
            tones.setdefault(part, set()).add(tone)
            here.setdefault(tone, set()).add(part)
        for tone, names in here.items():
            alike = any(names <= group for group in ALIKE)
            assert len(names) == 1 or alike, (name, title, tone, names)
    assert {part: of for part, of in tones.items() if len(of) > 1} == {}
    assert {"weights", "activations", "bubble", "NVLink", "network"} <= set(tones)


def test_the_kinds_of_a_schedule_have_the_tones_of_what_they_are() -> None:
    for kind, tone in KINDS.items():
        (line,) = re.findall(
            rf"^[^{{\n]*\.p-{kind}[ ,][^{{\n]*\{{ --tone: var\(--([\w-]+)\)", FIGURES, re.M
        )
        assert line == HUES[tone[0]]
        if len(tone) > 1:
            assert re.search(rf"\.p-{kind}\b[^{{]*\{{ fill: url\(#{tone}\)", FIGURES)
    assert (Tone.COMPUTE, Tone.BACKWARD, Tone.WEIGHT_GRADIENT, Tone.COMMUNICATION) == (
        "f", "bs", "wd", "c",
    )  # fmt: skip
