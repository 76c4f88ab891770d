"""A color means one thing on the whole site, and neighbors are told apart without a good eye for it."""

import re

from app.core.charts.axes import Tone
from app.core.folders import ROOT
from tests.charts.tones import HUES, KINDS, LEAST, contrast, themes
from tests.each import each

FIGURES = (ROOT / "static/figures.css").read_text(encoding="utf-8")
PATTERNS = (ROOT / "templates/figures/patterns.svg").read_text(encoding="utf-8")


def test_each_hue_stands_out_from_the_page_in_both_themes() -> None:
    for theme in themes():
        for letter, hue in HUES.items():
            if letter != "e":  # of what is idle or not lit
                assert contrast(theme[hue], theme["background"]) >= LEAST
        assert contrast(theme["muted"], theme["line"]) >= LEAST  # the edge of an idle bar


def test_labels_on_a_hue_can_be_read() -> None:
    for theme in themes():
        for hue in ("forward", "backward", "weight-gradient", "communication", "activations", "muted"):
            assert contrast(theme[hue], theme["background"]) >= 4.5


@each("tone", sorted(set(Tone)))
def test_every_tone_has_its_hue_and_its_pattern(tone: str) -> None:
    hue = HUES[tone[0]]
    (rule,) = re.findall(rf"^[^{{\n]*\.k-{tone}[ ,][^{{\n]*\{{ --tone: var\(--([\w-]+)\)", FIGURES, re.M)
    assert rule == hue
    if len(tone) > 1:
        assert f'pattern("{tone}", "{hue}", ' in PATTERNS
        assert f"rect.k-{tone}" in FIGURES
        assert f"url(#{tone}) var(--tone)" in FIGURES


def test_the_kinds_of_a_schedule_have_the_tones_of_what_they_are() -> None:
    for kind, tone in KINDS.items():
        (line,) = re.findall(rf"^[^{{\n]*\.p-{kind}[ ,][^{{\n]*\{{ --tone: var\(--([\w-]+)\)", FIGURES, re.M)
        assert line == HUES[tone[0]]
        if len(tone) > 1:
            assert re.search(rf"\.p-{kind}\b[^{{]*\{{ fill: url\(#{tone}\)", FIGURES)
    assert (Tone.COMPUTE, Tone.BACKWARD, Tone.WEIGHT_GRADIENT, Tone.COMMUNICATION) == ("f", "bs", "wd", "c")
