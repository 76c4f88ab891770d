"""How a formula is asked and answers: texts and numbers in, a value in words or as JSON out."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.core.formulas import FORMULAS, formula_value, lookup, shown_default
from tests.each import each

RING, TREE = "collectives.ring_all_reduce_time", "networks.fat_tree"
STAGES, SCALES = "pipeline.layers_per_stage", "precision.loss_scale"


@each(
    ("name", "gives"),
    [
        (RING, "s"),
        (STAGES, "a list of whole numbers"),
        (TREE, "hosts, switches, each in whole numbers"),
        (SCALES, "a list of plain numbers"),
        ("layout.fits", "yes or no"),
        ("sharding.cheapest_plan", "words"),
    ],
)
def test_a_formula_says_what_it_gives(name: str, gives: str) -> None:
    assert str(lookup(name).gives) == gives


# The formula, its arguments as a person writes them, its value, as JSON and in words.
ASKED: Mapping[str, tuple[str, dict[str, Any], object, str]] = {
    "a number": (RING, {"size": "1 GB", "ranks": "4", "bandwidth": "50 GB/s"}, 0.03, "30 ms"),
    "with an option": (RING, {"size": 1e9, "ranks": 4, "bandwidth": 50e9, "latency": "1 ms"}, 0.036, "36 ms"),
    "parts": (TREE, {"ports": 4}, {"hosts": 16, "switches": 20}, "hosts 16, switches 20"),
    "a list": (STAGES, {"layers": "32", "stages": 3.0}, [11, 11, 10], "11, 11, 10"),
    "of a list in brackets": (
        SCALES,
        {"overflows": "[yes, no,false]", "initial": 8, "growth_interval": "2"},
        [8, 4, 4, 8],
        "8, 4, 4, 8",
    ),
    "of a list": (SCALES, {"overflows": [True], "initial": 8, "growth_interval": 2, "backoff": 0.25}, [8, 2], "8, 2"),
}


@each("what", ASKED)
def test_a_value_is_the_same_for_texts_and_numbers_and_has_its_form_in_json_and_words(what: str) -> None:
    name, given, plain, text = ASKED[what]
    formula = lookup(name)
    value = formula_value(formula, given)
    assert formula.plain(value) == (pytest.approx(plain) if isinstance(plain, float) else plain)
    assert formula.text(value) == text
    assert formula.shown_parts(value) == ((("hosts", "16"), ("switches", "20")) if what == "parts" else ())


@each(
    ("name", "given", "says"),
    [
        (RING, {"size": 1e9}, f"{RING} also needs ranks, bandwidth"),
        (RING, {"sise": 1e9}, f"{RING} takes size, ranks, bandwidth, latency, not 'sise'; did you mean 'size'?"),
        (RING, {"size": "1 s", "ranks": 4, "bandwidth": 50e9}, "size: cannot read '1 s': s given, B expected"),
        (SCALES, {"overflows": "maybe", "initial": 8, "growth_interval": 2}, "overflows must be one of true, false"),
        (
            "layout.fits",
            {"model": "Lllama", "cluster": "8 H100", "layout": "data=8"},
            "model: no model shape is called",
        ),
        ("collectives.ring_allreduce_time", {}, f"did you mean '{RING}'?"),
        ("cost.training_cost", {}, "no formula is called"),
        (RING, {"size": 1e30, "ranks": 2, "bandwidth": 1e-30}, ""),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_nearest_right_thing(
    name: str, given: dict[str, Any], says: str
) -> None:
    if not says:
        assert formula_value(lookup(name), given) == pytest.approx(1e60)
        return
    with pytest.raises(ValueError, match=r".") as refused:
        formula_value(lookup(name), given)
    assert says in str(refused.value)


def test_lists_are_read_and_results_shown_up_to_a_limit() -> None:
    three: dict[str, Any] = {"overflows": "no, no, no", "initial": 8, "growth_interval": 9}
    assert formula_value(lookup(SCALES), three, most=4) == (8, 8, 8, 8)
    with pytest.raises(ValueError, match="the result has 4 parts; at most 3 are shown"):
        formula_value(lookup(SCALES), three, most=3)
    for overflows in ("no, no, no", [False] * 3):
        with pytest.raises(ValueError, match="overflows has 3 items; at most 2 are read"):
            formula_value(lookup(SCALES), {**three, "overflows": overflows}, most=2)


def test_a_default_is_shown_as_a_person_writes_it_and_where_there_is_one() -> None:
    assert shown_default(lookup(RING).inputs["size"]) == ""
    assert shown_default(lookup(RING).inputs["latency"]) == "0 s"
    assert shown_default(lookup(TREE).inputs["levels"]) == "3"
    assert shown_default(lookup("layout.fits").inputs["recipe"]) == "Megatron"


def test_a_rate_of_a_gpu_may_be_the_name_of_the_gpu() -> None:
    named = [(one, key) for one in FORMULAS.values() for key in ("peak", "memory_bandwidth") if key in one.inputs]
    assert named
    for formula, key in named:
        taken = formula.inputs[key]
        assert taken.read("H100") == taken.read("h100")
        assert isinstance(taken.read("H100"), float)


def test_its_first_sentence_says_what_comes_back_and_its_chapter_is_in_its_name() -> None:
    formula = lookup(TREE)
    assert formula.module == "networks"
    assert formula.says == "Hosts that a fat tree of equal switches connects, and the switches that it takes."
    assert "ValueError: an argument is outside its domain." in lookup(RING).doc
