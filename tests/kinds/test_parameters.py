"""A choice of a chapter's numbers is a seed, and the seed is that choice again."""

import math

import pytest
from pydantic import TypeAdapter, ValidationError

from app.core.errors import InputError
from app.course.content.catalog import Catalog
from app.course.kinds.drawn_values import CHOSEN, ChapterParameters, corners, seed_choice, seed_of_choice, values
from tests.each import each

READ = TypeAdapter(ChapterParameters)
SMALL = READ.validate_python(
    {
        "gpu": {"says": "GPU", "among": {"one": {"peak": "1 TFLOP/s"}, "two": {"peak": "2 TFLOP/s"}}},
        "gpus": {"says": "GPUs", "least": 8, "most": 40, "by": 8, "default": 16},
        "budget": {"says": "Budget", "unit": "$", "least": 90, "most": 1200, "default": 100},
    }
)


def test_every_choice_has_a_seed_of_its_own() -> None:
    money = [*range(90, 100), *range(100, 1000, 10), 1000, 1100, 1200]  # by hand: two figures
    count = 2 * 5 * len(money)
    assert math.prod(one.count for one in SMALL.values()) == count
    seen = [seed_choice(SMALL, seed) for seed in range(CHOSEN, CHOSEN + count)]
    assert len({tuple(one.values()) for one in seen}) == count
    assert {int(one["budget"]) for one in seen} == set(money)
    assert [seed_of_choice(SMALL, one) for one in seen] == [*range(CHOSEN, CHOSEN + count)]


def test_seed_0_is_the_default_and_small_seeds_draw() -> None:
    default = {"peak": "1 TFLOP/s", "gpus": 16, "budget": "100 $"}
    assert values(SMALL, 0) == default
    assert values(SMALL, seed_of_choice(SMALL, {})) == default
    drawn = {str(values(SMALL, seed)) for seed in range(1, 60)}
    assert len(drawn) > 40
    assert values(SMALL, 2**31 - 1)["gpus"] in range(8, 41)


def test_corners_are_the_ends_and_the_middle() -> None:
    found = {tuple(seed_choice(SMALL, seed).values()) for seed in corners(SMALL)}
    assert len(found) == 2 * 3 * 3
    assert ("one", "8", "90") in found
    assert ("two", "40", "1200") in found


@each(
    ("given", "says"),
    [
        ({"gpus": "12"}, "GPUs: must be a multiple of 8 from 8 to 40, not '12'; the nearest is"),
        ({"gpus": "48"}, "GPUs: must be a multiple of 8 from 8 to 40, not '48'"),
        ({"gpus": "-8"}, "GPUs: must be a multiple of 8 from 8 to 40, not '-8'"),
        ({"budget": "123"}, "must be a number of two figures from $90 to $1,200, not '123'"),
        ({"gpus": "many"}, "GPUs: "),
        ({"gpus": "1e999"}, "GPUs: "),
        ({"gpu": "tow"}, "GPU: must be one of one, two, not 'tow'; did you mean 'two'?"),
        ({"bugdet": "90"}, "no parameter is called 'bugdet'; did you mean 'budget'?"),
    ],
)
def test_what_is_not_a_choice_is_told_with_the_nearest(given: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as error:
        seed_of_choice(SMALL, given)
    assert says in str(error.value)


def test_numbers_are_read_as_answers_are() -> None:
    wide = READ.validate_python({"b": {"says": "Budget", "unit": "$", "least": 1, "most": 90_000_000, "default": 10}})
    for text in ("2500000", "2,500,000", "2.5e6", "2500000 $", "2.5 million"):
        assert values(wide, seed_of_choice(wide, {"b": text})) == {"b": "2500000 $"}


@each(
    "wrong",
    [
        {"says": "GPUs", "least": 8, "most": 41, "by": 8, "default": 16},
        {"says": "GPUs", "least": 8, "most": 40, "by": 8, "default": 20},
        {"says": "GPUs", "least": 0, "most": 40, "by": 8, "default": 16},
        {"says": "GPUs", "least": 1, "most": 2**31, "by": 1, "default": 16},
        {"says": "GPUs", "among": {"one": {"a": 1}, "two": {"b": 2}}},
        {"says": "GPUs", "among": {"one": {"a": 1}}, "least": 2, "most": 3},
    ],
)
def test_parameters_that_do_not_fit_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        READ.validate_python({"gpus": wrong})


def test_a_learner_s_own_cluster_reaches_every_exercise(catalog: Catalog) -> None:
    topic = catalog.topic("your-cluster")
    own = {"gpu": "A100 SXM 80GB", "gpus": "64", "network": "200 Gbit/s", "budget": "350000"}
    seed = seed_of_choice(topic.parameters, own)
    by_id = {
        name: catalog.exercise(f"your-cluster/{name}") for name in ("how-long-the-money-lasts", "hide-the-weights")
    }
    right = by_id["how-long-the-money-lasts"].right_answer(seed)
    assert isinstance(right, dict)
    assert right["hours"].startswith("233333.33")  # 350,000 / 1.5
    assert "64 A100 SXM 80GB" in by_id["hide-the-weights"].variant(seed).prompt
    drawn = by_id["hide-the-weights"].right_answer(seed)
    assert isinstance(drawn, dict)
    assert float(drawn["tokens"]) == pytest.approx(0.4 * 312e12 * 63 / 64 / 25e9)
