"""What is true of every explorer in every state that is tried: each is drawn once for all of it."""

import itertools

import pytest

from app.core.charts.axes import Drawing
from app.core.charts.motion import Motion
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from tests.charts.tones import HUES, LEAST, contrast, themes
from tests.each import each
from tests.explorers.states import States, edges, ends, states
from tests.explorers.walk import impossible_shares, walked

# A quick look, and the sweep of all, which takes that many seconds.
SWEEP = pytest.param(states, marks=[pytest.mark.slow(150), pytest.mark.sweep])
WHICH = pytest.mark.parametrize("which", [edges, SWEEP])
NAMES = each("name", sorted(EXPLORERS))
DRAWN = ("fit", "formats", "ring", "routing", "run", "split")  # by themselves
MANY = 3  # faults of one kind that are named
# Names of one kind of thing, which may share a tone in a figure: kinds of communication, of computing
# and of waiting, each on a bar of its own.
ALIKE = (
    {"tensor", "context", "messages", "expert", "data", "all-to-all"},
    {"products", "attention", "element-wise", "head"},
    {"bubble", "launches", "skew"},
)


@WHICH
@NAMES
def test_no_text_shows_the_noise_of_a_sum_one_of_several_or_a_power(which: States, name: str) -> None:
    assert walked(which, name).states > len(EXPLORERS[name].controls)
    assert not walked(which, name).noise[:MANY]


@WHICH
@NAMES
def test_no_text_is_on_a_line_an_edge_or_another_text(which: States, name: str) -> None:
    assert not walked(which, name).crossings[:MANY]


@WHICH
@NAMES
def test_every_label_belongs_to_its_mark(which: States, name: str) -> None:
    assert not walked(which, name).misplaced[:MANY]


@WHICH
@NAMES
def test_no_share_is_less_than_nothing_or_more_than_all(which: States, name: str) -> None:
    assert not walked(which, name).shares[:MANY]


@each(
    ("text", "found"),
    [("wastes **163 %** of the time", 1), ("is idle for 75 % of that (300 % of the ideal 1 s)", 0), ("−5 % of it", 1),
     ("100 % of it, 6e-4 % of that", 0), ("MFU 102.5 %", 1), ("59.1 times the pass", 0)],
)  # fmt: skip
def test_an_impossible_share_is_seen(text: str, found: int) -> None:
    assert len(impossible_shares(text)) == found


@WHICH
@NAMES
def test_everything_drawn_is_on_the_paper(which: States, name: str) -> None:
    assert (walked(which, name).drawings > 2) == (name in DRAWN)
    assert not walked(which, name).outside[:MANY]


@WHICH
def test_neighbors_are_told_apart_by_lightness_or_by_a_pattern(which: States) -> None:
    touching = {(name, *pair) for name in EXPLORERS for pair in walked(which, name).touching}
    # Two micro-batches, one after the other, may look the same.
    different = [(name, one, other) for name, one, other in touching if one != other]
    assert len(different) > 20
    for theme in themes():
        for name, one, other in different:
            apart = contrast(theme[HUES[one[0]]], theme[HUES[other[0]]]) >= LEAST
            assert apart or one[1:] != other[1:], (name, one, other)


@WHICH
def test_a_name_has_one_tone_on_the_whole_site_and_a_tone_one_name_in_a_figure(which: States) -> None:
    tones: dict[str, set[str]] = {}
    named = [(name, *figure) for name in EXPLORERS for figure in walked(which, name).named]
    for name, title, found in named:
        here: dict[str, set[str]] = {}
        for tone, part in found:
            tones.setdefault(part, set()).add(tone)
            here.setdefault(tone, set()).add(part)
        for tone, names in here.items():
            alike = any(names <= group for group in ALIKE)
            assert len(names) == 1 or alike, (name, title, tone, names)
    assert {part: of for part, of in tones.items() if len(of) > 1} == {}
    assert {"weights", "activations", "bubble", "NVLink", "network"} <= set(tones)


def test_every_explorer_that_draws_by_itself_is_looked_at() -> None:
    found = set()
    for name in EXPLORERS:
        if any(isinstance(one, Drawing | Motion) for one in open_explorer(EXPLORERS, name).shown.figures):
            found.add(name)
    assert found == set(DRAWN)


@each("name", sorted(EXPLORERS))
def test_every_setting_is_tried_with_every_setting_of_every_other_control(name: str) -> None:
    found = ends(EXPLORERS[name])
    tried = {pair for state in states(EXPLORERS[name]) for pair in itertools.combinations(state.items(), 2)}
    assert all(len(texts) > 1 for texts in found.values())
    for (one, first), (other, second) in itertools.combinations(found.items(), 2):
        assert {((one, a), (other, b)) for a in first for b in second} <= tried
