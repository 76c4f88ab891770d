"""Controls read any text: what can be drawn as it is, what cannot with a sentence that says so."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.course.explorers import EXPLORERS
from app.course.explorers.base import Values, open_explorer
from app.course.explorers.controls import (
    Select,
    Slider,
    address_text,
    group_controls,
    read_controls,
    shown_text,
    slider_place,
)
from tests.each import each

RANKS = Slider(name="ranks", label="Ranks", ends=(2, 12), default=8)
SIZE = Slider(name="size", label="Size", ends=(1, 1000), default=64, unit="MB", log=True, whole=False)
GPUS = Slider(name="gpus", label="GPUs", ends=(8, 16384), default=64, doubles=True)
SHARE = Slider(name="share", label="Share", ends=(0, 1), default=0.5, whole=False)
WAY = Select(name="way", label="Algorithm", options={"ring": "a ring", "tree": "a tree"})


@each(("text", "value"), [("3", 3), ("12", 12), ("2", 2), ("3.4", 3), ("1", 2), ("-7", 2), ("99", 12), ("1e300", 12)])
def test_a_whole_number_is_kept_between_its_ends(text: str, value: float) -> None:
    found, says = RANKS.read(text)
    assert found == value
    assert bool(says) == (text not in {"3", "12", "2"})


@each("text", ["many", "nan", "inf", "-inf", "1 parsec", "<b>", ""])
def test_what_is_not_a_number_leaves_the_start(text: str) -> None:
    found, says = RANKS.read(text)
    assert found == 8
    assert says.startswith("Ranks: ")


@each(("text", "value"), [("64", 64e6), ("64 MB", 64e6), ("0.5 GB", 500e6), ("1,000", 1e9), ("1 MiB", 1048576)])
def test_a_bare_number_is_in_the_unit_of_its_slider(text: str, value: float) -> None:
    assert SIZE.read(text) == (value, "")


@given(st.text(max_size=40))
def test_any_text_is_read_as_something_that_can_be_drawn(text: str) -> None:
    for slider in (RANKS, SIZE, GPUS, SHARE):
        value, _ = slider.read(text)
        assert slider.low <= value / slider.scale.factor <= slider.high
    word, says = WAY.read(text)
    assert word in WAY.options
    assert bool(says) == (text not in WAY.options)


@given(st.sampled_from([RANKS, SIZE, GPUS, SHARE]), st.floats(0, 1))
def test_what_a_slider_writes_it_reads_again(slider: Slider, part: float) -> None:
    value = (slider.low + part * (slider.high - slider.low)) * slider.scale.factor
    value = slider.read(f"{value / slider.scale.factor:.4g}")[0]
    again, says = slider.read(address_text(slider, value))
    assert again == pytest.approx(value, rel=1e-5)
    assert says == ""


@each("slider", [RANKS, SIZE, GPUS, SHARE], ids=lambda slider: slider.name)
def test_a_slider_runs_from_its_least_to_its_largest(slider: Slider) -> None:
    factor = slider.scale.factor
    low, high, at_low, _ = slider_place(slider, slider.low * factor)
    *_, at_high, step = slider_place(slider, slider.high * factor)
    assert [at_low, at_high] == pytest.approx([low, high])
    assert float(step) > 0
    assert low < slider_place(slider, slider.default * factor)[2] < high


def test_a_slider_that_doubles_has_powers_of_two_at_its_places() -> None:
    assert slider_place(GPUS, 64)[:3] == (3, 14, 6)


def test_halfway_on_a_logarithmic_slider_is_the_geometric_mean() -> None:
    assert slider_place(SIZE, math.sqrt(1 * 1000) * 1e6)[2] == pytest.approx(100)


def test_the_address_of_a_number_has_no_commas_and_its_sentence_has_the_unit() -> None:
    assert address_text(GPUS, 16384.0) == "16384"
    assert shown_text(SIZE, 250e6) == "250 MB"
    assert (address_text(WAY, "tree"), shown_text(WAY, "tree")) == ("tree", "a tree")


def test_without_an_address_every_control_is_as_it_starts() -> None:
    values, corrections = read_controls((RANKS, SIZE, WAY), {})
    assert values == {"ranks": 8, "size": 64e6, "way": "ring"}
    assert corrections == ()


def test_each_correction_is_told_and_the_other_controls_are_read() -> None:
    values, corrections = read_controls((RANKS, SIZE, WAY), {"ranks": "99", "size": "2", "way": "x"})
    assert values == {"ranks": 12, "size": 2e6, "way": "ring"}
    assert len(corrections) == 2


def test_values_are_numbers_or_words_and_not_both() -> None:
    values = Values({"ranks": 7.6, "way": "ring"})
    assert (values.number("ranks"), values.count("ranks"), values.word("way")) == (7.6, 8, "ring")
    with pytest.raises(TypeError, match="way"):
        values.number("way")


@each(
    ("name", "state", "says"),
    [
        ("rings", {}, "did you mean 'ring'"),
        ("ring", {"rank": "3"}, "did you mean 'ranks'"),
        ("ring", {"ranks": "0"}, "Ranks"),
        ("pipeline", {"schedule": "1f1bb"}, "1f1b"),
    ],
)
def test_who_embeds_an_explorer_must_be_right(name: str, state: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        open_explorer(EXPLORERS, name, state)


@each("name", EXPLORERS)
def test_more_than_eight_settings_are_in_groups(name: str) -> None:
    controls = EXPLORERS[name].controls
    groups = group_controls(controls)
    assert sum(groups.values(), []) == list(controls)  # a state is read and shown in one order
    assert ("" in groups) == (len(controls) <= 8)
    assert max(map(len, groups.values())) <= 8


@each("name", EXPLORERS)
def test_names_of_controls_and_facts_are_used_once(name: str) -> None:
    explorer = EXPLORERS[name]
    names = [control.name for control in explorer.controls]
    labels = [fact.label for fact in open_explorer(EXPLORERS, name).shown.facts]
    assert len(set(names)) == len(names)
    assert len(set(labels)) == len(labels)
    assert explorer.predicts in {"", *labels}
    for figure in open_explorer(EXPLORERS, name).shown.figures:
        assert all(figure.table[0]), figure.title  # a column without a heading is not heard
