"""What a seed draws: the first of each at 0, and whatever meets the condition after it."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from app.core.errors import InputError
from app.core.expressions import ExpressionError, Quantity
from app.core.units import BYTE
from app.course.kinds.drawn_values import (
    CHOSEN,
    ChapterParameter,
    ChapterParameters,
    DrawError,
    draw,
    mixed_kinds,
    places,
    redraw,
    refuse_others,
    shuffle_things,
)
from tests.each import each

GIVEN: dict[str, list[int | float | str]] = {"n": [1, 2, 3], "size": ["1 GB", "4 GB"]}


def test_seed_0_draws_the_first_of_each_and_others_draw_every_pair() -> None:
    first = draw(0, GIVEN, (), {}, "")
    assert dict(first.shown) == {"n": "1", "size": "1 GB"}
    assert first.names == {"n": Quantity(1.0), "size": Quantity(1e9, BYTE.dimension)}
    drawn = {tuple(draw(seed, GIVEN, (), {}, "").shown.values()) for seed in range(1, 60)}
    assert len(drawn) == 6
    assert draw(7, GIVEN, (), {}, "") == draw(7, GIVEN, (), {}, "")
    assert first.as_json == '{"n": "1", "size": "1 GB"}'


def test_a_row_of_cases_is_drawn_as_a_whole() -> None:
    cases: list[dict[str, int | float | str]] = [{"a": 1, "b": "ring"}, {"a": 2, "b": "tree"}]
    assert dict(draw(0, {}, cases, {}, "").shown) == {"a": "1", "b": "ring"}
    drawn = {tuple(draw(seed, GIVEN, cases, {}, "").shown.values())[:2] for seed in range(1, 30)}
    assert drawn == {("1", "ring"), ("2", "tree")}
    assert set(draw(0, {}, cases, {}, "").names) == {"a"}, "a word is no quantity"


def test_only_what_meets_the_condition_is_drawn() -> None:
    assert {draw(seed, GIVEN, (), {}, "n < 3").shown["n"] for seed in range(30)} == {"1", "2"}
    for where, says in (("n > 1", "variant 0 does not meet 'n > 1'"), ("m > 1", "'m'")):
        with pytest.raises(DrawError, match=says) as caught:
            draw(0, GIVEN, (), {}, where)
        assert caught.value.where == ("where",)
    with pytest.raises(DrawError, match="no drawing meets 'n > 3'"):
        draw(1, GIVEN, (), {}, "n > 3")


@each(
    ("given", "let", "where"),
    [
        ({"n": ["1 XB"]}, {}, ("given", "n")),
        ({"n": [1]}, {"half": "m / 2"}, ("let", "half")),
        ({"n": [1]}, {"half": "n / 2", "bad": "half + 1 s"}, ("let", "bad")),
    ],
)
def test_what_cannot_be_drawn_is_told_with_its_place(
    given: dict[str, Any], let: dict[str, Any], where: tuple[str, ...]
) -> None:
    with pytest.raises(DrawError) as caught:
        draw(0, given, (), let, "")
    assert caught.value.where == where
    with pytest.raises(DrawError) as caught:
        draw(0, {}, [{"n": "1 XB"}], {}, "")
    assert caught.value.where == ("cases",)


def test_what_follows_is_worked_out_in_order_and_again_from_other_values() -> None:
    let = {"twice": "2 * n", "four": "2 * twice"}
    drawn = draw(0, GIVEN, (), let, "")
    assert drawn.names["four"] == Quantity(4.0)
    assert "four" not in drawn.shown
    again = redraw(drawn, {"n": 5.0}, let)
    assert (again.names["four"], again.names["size"]) == (Quantity(20.0), drawn.names["size"])
    assert dict(again.shown) == {"size": "1 GB"}


@each(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.1234567, "0.123457"),
        (0.5, "0.5"),
        ("405e9", "405 billion"),
        ("7.5e6", "7.5 million"),
        ("2e12", "2 trillion"),
        ("2e10", "2e10"),
        ("1024 MiB", "1,024 MiB"),
        ("Llama 3", "Llama 3"),
    ],
)
def test_a_value_is_shown_as_a_person_writes_it(value: float | str, text: str) -> None:
    assert draw(0, {"x": [value]}, (), {}, "").shown["x"] == text


@each(
    ("choices", "says"),
    [
        (["1 GB", "4 MB"], []),
        (["1 GB", "4 s"], ["has values of different kinds: 1 GB and 4 s"]),
        ([0, "4 s"], []),
        ([1, "4 s"], ["has values of different kinds: 1 and 4 s"]),
        (["10 %", 0.1], ["has values of different kinds: 10 % and 0.1"]),
        (["10 %", "20 %"], []),
        (["0 %", 1], ["has values of different kinds: 0 % and 1"]),
        (["ring", "tree"], []),
        (["ring", 2], ["has values of different kinds: ring and 2"]),
    ],
)
def test_values_of_several_kinds_are_found(choices: list[int | float | str], says: list[str]) -> None:
    assert list(mixed_kinds({"x": choices})) == [("x", one) for one in says]


def test_an_order_belongs_to_its_seed_and_loses_nothing() -> None:
    orders = {tuple(shuffle_things(seed, "abcd")) for seed in range(200)}
    assert len(orders) == 24
    assert shuffle_things(3, "abcd") == shuffle_things(3, "abcd")
    assert shuffle_things(3, ["a", "a", "b"]).count("a") == 2


def number(**fields: object) -> ChapterParameter:
    return ChapterParameter.model_validate({"says": "Number", **fields})


@each(
    ("by", "least", "most", "text", "value"),
    [
        (8, 8, 40, "40", 40),
        (8, 8, 40, "8", 8),
        (1, 1, 9, "9", 9),
        (0, 90, 1200, "99", 99),
        (0, 90, 1200, "110", 110),
        (0, 90, 1200, "1.1e3", 1100),
        (0, 1, 9, "7", 7),
    ],
)
def test_a_number_of_the_grid_is_a_choice(by: int, least: int, most: int, text: str, value: int) -> None:
    made = number(by=by, least=least, most=most, default=least)
    place = made.place("n", f" {text} ")
    assert made.values("n", place) == {"n": value}
    assert (made.text(0), made.text(made.count - 1)) == (str(least), str(most))
    assert made.names("n") == ["n"]


@each(
    ("by", "text", "says"),
    [
        (8, "12", "n: must be a multiple of 8 from 8 to 40, not '12'; the nearest is "),
        (8, "41", "not '41'"),
        (8, "7", "not '7'"),
        (1, "8.5", "n: must be a whole number from 8 to 40, not '8.5'; the nearest is 8"),
        (0, "123", "n: must be a number of two figures from 8 to 40, not '123'"),
        (0, "12.4", "two figures from 8 to 40, not '12.4'; the nearest is 12"),
    ],
)
def test_a_number_beside_the_grid_is_none(by: int, text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        number(by=by, least=8, most=40, default=16).place("n", text)
    assert says in str(caught.value)
    assert ("nearest" in str(caught.value)) == ("nearest" in says)


@each(
    "fields",
    [
        {"least": 8, "most": 8, "by": 8, "default": 8},
        {"least": 8, "most": 40, "by": 8},
        {"least": 8, "most": 40, "by": 8, "default": 48},
        {"least": 101, "most": 200, "default": 110},
        {"among": {"one": {}}},
        {"among": {"one": {"a": 1}}, "unit": "$"},
        {"among": {"one": {"a": 1}}, "default": 1},
        {"least": 8, "most": 40, "by": 8, "default": 16, "unit": "parsec"},
    ],
)
def test_a_parameter_without_a_choice_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        number(**fields)


def test_there_may_be_as_many_choices_as_seeds_above_the_drawn_ones() -> None:
    reads = TypeAdapter[dict[str, ChapterParameter]](ChapterParameters)
    one = {"says": "One", "least": 1, "by": 1, "default": 1}
    assert reads.validate_python({"n": {**one, "most": CHOSEN}})["n"].count == CHOSEN
    with pytest.raises(ValidationError, match="choices are more than 1,073,741,824"):
        reads.validate_python({"n": {**one, "most": CHOSEN + 1}})
    with pytest.raises(ValidationError, match="two of the parameters give a value of the same name"):
        reads.validate_python({"n": {**one, "most": 9}, "m": {"says": "Row", "among": {"a": {"n": 1}}}})


def test_seeds_below_the_choices_draw_and_those_above_count() -> None:
    parameters = {"a": number(by=1, least=1, most=3, default=2), "b": number(by=1, least=1, most=5, default=5)}
    assert places(parameters, 0) == [1, 4]
    assert [places(parameters, CHOSEN + seed) for seed in (0, 1, 2, 3, 14)] == [[0, 0], [1, 0], [2, 0], [0, 1], [2, 4]]
    drawn = {tuple(places(parameters, seed)) for seed in range(1, 200)}
    assert len(drawn) == 15


@each(
    ("named", "where", "says"),
    [
        (["n"], "", ""),
        (["m"], "", "topic.yaml has no parameter 'm'"),
        (["n"], "n > 1", "`where` may refuse what a learner sets"),
        ([], "n > 1", ""),
    ],
)
def test_an_exercise_takes_what_its_chapter_has(named: list[str], where: str, says: str) -> None:
    parameters = {"n": number(by=1, least=1, most=3, default=2)}
    if says:
        with pytest.raises(ValueError, match=says):
            refuse_others(named, parameters, where)
    else:
        refuse_others(named, parameters, where)


def test_a_value_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ExpressionError, match="x: '1 XB'"):
        list(mixed_kinds({"x": ["1 XB"]}))
