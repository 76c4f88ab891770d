"""A wrong number that comes from a number of the question, or from another answer, is told so."""

import pytest

from app.core.expressions import Quantity
from app.core.units import BYTE
from app.course.content.catalog import Catalog
from app.course.kinds.answer_key import AnswerKey, AskedQuantity, Sort, keys_of
from app.course.kinds.common_mistakes import QuestionNumbers
from app.course.kinds.numeric import Numeric, question_numbers, visible_values
from tests.each import each
from tests.kinds.small import small

RANKS = QuestionNumbers(frozenset({8, 50}), (Quantity(8.0), Quantity(3e9, BYTE.dimension)))


def key_of(right: str, unit: str, quantity: Sort = "", numbers: QuestionNumbers = RANKS) -> AnswerKey:
    asked = AskedQuantity(answer=right, unit=unit, quantity=quantity)
    return keys_of({"it": asked}, {}, lambda text, _: text, numbers)["it"]


@each(
    ("right", "unit", "quantity", "typed", "says"),
    [
        ("7 s", "s", "", "56", "8 times the right one: is a factor of 8"), ("7 s", "s", "", "0.875", "1/8 of the right one"),
        ("7 GB", "GB", "", "56 GB", "for all 8 instead of one"), ("40 ms", "ms", "", "2 s", "50 times the right one"),
        ("7 GB", "GB", "", "8 GB", "8/7 of the right one: do all 8 count here"), ("8 s", "s", "", "7", "7/8 of the right one"),
        ("49 s", "s", "", "50", "50/49 of the right one"), ("7", "", "count", "56", "8 times the right one"),
        ("7", "", "factor", "56", "8 times the right one"), ("70 %", "%", "", "8.75", "1/8 of the right one"),
        ("17 GB", "GB", "", "3 GB", "3 GB is given in the question"), ("1.7", "", "", "8", "8 is given in the question"),
        ("1.7", "", "", "50", "50 is given in the question"),
        ("2.7", "", "", "0.37", "the inverse of the right one"), ("70 %", "%", "", "143 %", "the inverse of the right one"),
        ("72 %", "%", "", "28 %", "add up to 100 %"), ("2.7", "", "factor", "1.7", "differ by exactly 1"),
        ("2.7", "", "factor", "3.7", "differ by exactly 1"), ("3", "", "factor", "2", "differ by exactly 1"),
    ],
)  # fmt: skip
def test_a_number_of_the_question_explains_a_wrong_one(
    right: str, unit: str, quantity: Sort, typed: str, says: str
) -> None:
    key = key_of(right, unit, quantity)
    assert says in key.blame(key.asked.read(typed))


@each(
    ("right", "unit", "typed"),
    [
        ("7 s", "s", "57"), ("7 s", "s", "9.7"), ("7 GB", "GB", "8.1 GB"), ("9 s", "s", "6.1"), ("17 GB", "GB", "3.1 GB"),
        ("17 s", "s", "3"), ("2.7", "", "1.6"), ("27", "", "26"), ("72 %", "%", "29 %"), ("17 GB", "GB", "0"),
        ("9 s", "s", "6"), ("9 s", "s", "12"), ("12 GB", "GB", "4 GB"),  # no 3 is in the question
    ],
)  # fmt: skip
def test_what_no_number_of_the_question_explains_is_only_too_small_or_large(right: str, unit: str, typed: str) -> None:
    key = key_of(right, unit)
    assert key.blame(key.asked.read(typed)).endswith(("too small.", "too large."))


@each("quantity", ["", "count", "share", "probability", "number"])
def test_what_is_no_factor_is_not_told_how_much_more_it_is(quantity: Sort) -> None:
    key = key_of("2.7", "", quantity)
    assert key.blame(key.asked.read("3.7")) == "3.7 is too large."


@each("quantity", ["", "probability", "number"])
def test_what_has_no_parts_is_not_told_that_it_is_multiplied(quantity: Sort) -> None:
    key = key_of("0.07", "", quantity)
    assert key.blame(key.asked.read("0.56")) == "0.56 is too large."


@each(("right", "typed"), [("1", "8"), ("1", "2"), ("1", "0.125"), ("0", "1"), ("8", "1"), ("2", "1"), ("0.125", "1")])
def test_nothing_is_told_of_a_ratio_to_a_plain_0_or_1(right: str, typed: str) -> None:
    key = key_of(right, "", "factor", QuestionNumbers(frozenset({3})))
    assert "right one" not in key.blame(key.asked.read(typed)).replace("right one differ by exactly 1", "")


def test_the_answer_to_another_part_is_told_its_place(catalog: Catalog) -> None:
    exercise = catalog.exercise("sharding/flat-traffic")
    assert isinstance(exercise, Numeric)
    keys = exercise.keys(0)
    typed = keys["one"].asked.read(keys["one"].asked.typed(keys["node"].right))
    title = exercise.title_of("node", 0)
    mistaken = keys["one"].asked.model_copy(update={"mistakes": {}})
    bare = keys_of({**exercise.asked, "one": mistaken}, exercise.draw(0).names, lambda text, _: text)["one"]
    assert bare.blame(typed) == f"That is the answer to another part: *{title}*."


@pytest.mark.parametrize(
    ("name", "counts", "absent"),
    [
        ("sharding/flat-traffic", {64, 8, 16, 50, 14}, {3, 450}),  # "nodes of 8", "all 8 cards"
        ("rates/warm-up", {1000, 256, 2048, 100_000}, {8}),
        ("collectives/ring-all-reduce-time", {8, 50}, {1, 2}),
    ],
)
def test_the_numbers_of_a_question_are_those_that_it_draws_or_writes(
    catalog: Catalog, name: str, counts: set[int], absent: set[int]
) -> None:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Numeric)
    for key in exercise.keys(0).values():
        assert key.numbers
        assert counts <= key.numbers.counts
        assert not absent & key.numbers.counts


def test_only_what_a_question_shows_is_given_in_it(catalog: Catalog) -> None:
    shown = catalog.exercise("collectives/ring-all-reduce-time")
    assert isinstance(shown, Numeric)
    numbers = shown.keys(0)["answer"].numbers
    assert numbers
    values = {quantity.value for quantity in numbers.given}
    assert values == {8, 2e9, 50e9}


def test_a_format_and_a_value_that_is_not_shown_are_not_in_the_question(catalog: Catalog) -> None:
    exercise = catalog.exercise("serve-what-you-trained/replicas-for-the-load")
    assert isinstance(exercise, Numeric)
    assert "{time | ms 4}" in exercise.prompt
    key = next(one for one in exercise.keys(9257).values() if one.right == 5)
    assert "given in the question" not in key.blame(key.asked.read("4"))


@each(
    ("prompt", "counts"),
    [
        ("Three groups of four, five, six, seven or eight, nine, ten.", {3, 4, 5, 6, 7, 8, 9, 10}),
        ("Two of 2 GPUs, one of 3, and 10,000,000 tokens.", {3, 10_000_000}),
        ("10,000,001 tokens, 1.5 of 2.25, and 1,5.", set()),
        ("A tent of seventy, and 12,345 or 1,234,567.", {12_345, 1_234_567}),
        ("Version 4.", {4}),
        ("{ranks} ranks; {hidden_} is not drawn.", {16}),
    ],
)
def test_the_counts_of_a_question_are_whole_numbers_from_three_on(prompt: str, counts: set[int]) -> None:
    prompt = prompt.replace("{hidden_}", "it")
    exercise = small(
        "numeric", prompt=prompt, answer="ranks * size", unit="GB", given={"ranks": [16], "size": ["5 GB"]}
    )
    assert isinstance(exercise, Numeric)
    numbers = question_numbers(exercise, exercise.draw(0))
    assert numbers.counts == counts
    assert [one.value for one in numbers.given] == ([16.0] if "{ranks}" in prompt else [])
    assert numbers.has_eight == (8 in counts)


@each(
    ("prompt", "measured"),
    [
        ("3 billion parameters at 50 GB/s, 600 ns for 7 heads.", {3, 50, 600}),
        ("At $12/h, $10^{21}$ FLOP, 40 % of 16 bytes.", {12, 10, 21, 40, 16}),
        ("8 GB on each of 8 GPUs, 4 hosts, 5 steps/s.", {5}),  # 8 GPUs, too
        ("Eight nodes, 8 GB.", set()),
        ("1,024 tokens/s, 2,048 tokens.", {1024}),
    ],
)
def test_a_number_with_a_unit_counts_no_things(prompt: str, measured: set[int]) -> None:
    exercise = small("numeric", prompt=prompt, answer="7 * n", given={"n": [99]})
    assert isinstance(exercise, Numeric)
    assert question_numbers(exercise, exercise.draw(0)).measured == measured


def test_what_a_hint_says_is_no_number_of_the_question() -> None:
    exercise = small("numeric", prompt="How many?", hints=["It is 12.", "Or 13."], answer="7 * n", given={"n": [99]})
    assert isinstance(exercise, Numeric)
    assert question_numbers(exercise, exercise.draw(0)) == QuestionNumbers()
    assert visible_values(exercise, 0) == {}
    shown = small("numeric", prompt="How many of {n}?", answer="7 * n", given={"n": [99], "m": [5]})
    assert visible_values(shown, 0) == {"n": "99"}
