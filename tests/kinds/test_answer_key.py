"""Numbers that are nearly right: how near, and what is said where two sentences could be."""

import pytest
from pydantic import ValidationError

from app.core.expressions import Quantity
from app.core.units import RATIO, Reading, scale_of
from app.course.kinds.answer_key import AskedQuantity, ScoredMistake, worth_sentence
from app.course.kinds.common_mistakes import (
    QuestionNumbers,
    nearest_mistake,
    no_factor,
    not_whole,
    told_by_the_question,
    too_coarse,
)
from tests.each import each

PLAIN, PERCENT, SECONDS = scale_of(""), scale_of("%"), scale_of("s")


def asked(answer: str = "x", unit: str = "", tolerance: str = "1 %") -> AskedQuantity:
    return AskedQuantity(answer=answer, unit=unit, tolerance=tolerance)


def typed(text: str, unit: str = "") -> Reading:
    return asked(unit=unit).read(text)


@each(
    ("right", "unit", "text", "is_coarse"),
    [
        (7.3, "s", "7", True),
        (7.5, "s", "7", False),  # more than 5 % off
        (9.5, "s", "9", False),
        (9.4, "s", "9", True),
        (7.02, "s", "7.0", True),
        (7.06, "s", "7.0", False),  # it would be rounded to 7.1
        (0.9712, "%", "97 %", True),
        (0.973, "%", "97 %", False),  # more than 5 % of what is left is off
        (0.998, "%", "100 %", False),  # what is left is 0.2 %
        (1.01, "", "1", False),  # no change is a wrong idea of its own
        (2.04, "", "2", False),
        (3.05, "", "3", True),
        (1.02, "s", "1", True),
        (-7.3, "s", "-7", True),
    ],
)
def test_a_number_with_too_few_digits_is_told_so_where_it_is_the_right_one(
    right: float, unit: str, text: str, is_coarse: bool
) -> None:
    says = too_coarse(typed(text, unit), right, "1 %", scale_of(unit))
    assert says == (
        "Right as far as it goes, but the answer must be within 1 %: give at least one more digit." if is_coarse else ""
    )


def test_an_exact_answer_asks_for_a_digit_more() -> None:
    assert "must be exact" in too_coarse(typed("7", "s"), 7.3, "exact", SECONDS)


@each(
    ("right", "text", "says"),
    [
        (886.0, "885.14", "round 885.14 up."),
        (885.0, "885.14", "round 885.14 down."),
        (886.0, "885", ""),  # whole, and wrong
        (886.0, "885.0", ""),
        (886.0, "884.9", ""),  # one off
        (886.5, "886.2", ""),  # the right one is not whole
        (1.0, "0.6", ""),
        (0.0, "0.6", ""),
        (2.0, "1.6", "round 1.6 up."),
        (-1.0, "-1.5", "round -1.5 up."),
    ],
)
def test_where_a_count_is_asked_for_a_fraction_is_rounded(right: float, text: str, says: str) -> None:
    told = not_whole(typed(text), right, PLAIN).replace("−", "-")
    assert told == (f"The answer must be a whole number: {says}" if says else "")


def test_only_a_plain_number_is_a_count() -> None:
    assert not_whole(typed("885.14", "s"), 886.0, SECONDS) == ""


@each(
    ("right", "unit", "text", "says"),
    [
        (1.33, "", "33 %", "33 % more is the right idea, but the answer is the factor: 1 + 33 %."),
        (1.34, "", "33 %", "33 % more is the right idea, but the answer is the factor: 1 + 33 %."),  # to its slack
        (1.36, "", "33 %", "33 % is a share, but the question asks for a number."),
        (2.5, "", "40 %", "40 % is a share, but the question asks for a number."),
        (2.5, "", "120 %", ""),
        (0.9, "", "40 %", ""),
        (2.5, "", "0.4", ""),
        (1.33, "%", "33 %", ""),
    ],
)
def test_a_share_where_a_factor_is_asked_for(right: float, unit: str, text: str, says: str) -> None:
    assert no_factor(typed(text, unit), right, scale_of(unit), 0.01 * right, "factor") == says


@each(
    ("right", "text", "unit", "says"),
    [
        (7.0, "56.1", "s", "8 times the right one"),  # 0.2 % off
        (7.0, "56.2", "s", ""),
        (7.02, "0.88", "s", "1/8 of the right one"),  # rounded to two figures: 0.5 % at most
        (7.0, "0.9", "s", ""),
        (7.0, "24", "s", "24/7"),
        (7.0, "28", "s", ""),
        (8.0, "2", "s", ""),
        (6.0, "4", "s", ""),
        (4.0, "6", "s", ""),
        (4.0, "3", "s", ""),
        (3.0, "9", "s", ""),
        (3.0, "4", "s", ""),
        (7.0, "12.5", "s", "12.5 s is given in the question"),
        (7.0, "12.52", "s", ""),  # more than 0.1 % off
        (7.0, "0", "s", ""),
        (0.0, "8", "s", ""),
        (0.3, "0.7", "", ""),  # of a number, what is left is no part
    ],
)
def test_how_near_a_number_of_the_question_must_be(right: float, text: str, unit: str, says: str) -> None:
    numbers = QuestionNumbers(frozenset({8}), (Quantity(12.5, SECONDS.unit.dimension), Quantity(0.0)))
    told = told_by_the_question(typed(text, unit), right, scale_of(unit), numbers, "count")
    assert (says in told) if says and says != "24/7" else told == ""


def test_beside_next_to_nothing_what_is_near_all_is_no_rest() -> None:
    told = told_by_the_question(typed("99.99 %", "%"), 1.1e-6, scale_of("%"), QuestionNumbers(), "share")
    assert told == ""


@each(
    ("right", "text", "says"),
    [
        (7.0, "350", "Your number is 50 times the right one: is a factor of 50 used wrongly?"),
        (7.0, "0.14", "Your number is 1/50 of the right one: is a factor of 50 left out?"),
        (49.0, "50.0001", ""),  # 50/49
        (
            7.0,
            "56",
            "Your number is 8 times the right one: is a factor of 8 used where it should not be, or is it for ",
        ),
        (7.0, "8.0001", "Your number is 8/7 of the right one"),
    ],
)
def test_of_what_is_measured_there_is_no_one_fewer_and_no_one_of_all(right: float, text: str, says: str) -> None:
    numbers = QuestionNumbers(frozenset({8, 50}), measured=frozenset({50}))
    told = told_by_the_question(typed(text, "s"), right, scale_of("s"), numbers, "count")
    assert told.startswith(says) if says else told == ""


def test_a_count_that_is_given_back_is_said_without_a_unit() -> None:
    numbers = QuestionNumbers(frozenset({32}))
    told = told_by_the_question(typed("32", "tokens"), 442.0, scale_of("tokens"), numbers, "count")
    assert told.startswith("32 is given in the question.")  # 32 sequences


@each(
    ("right", "unit", "text", "says"),
    [
        (0.72, "%", "28 %", "add up to 100 %"),
        (0.0151, "%", "98.5 %", "add up to 100 %"),
        (0.068, "%", "93 %", "add up to 100 %"),
        (0.004, "%", "99.5 %", ""),
        (14.009, "", "13", "differ by exactly 1"),
        (14.03, "", "13", ""),
        (2.933, "", "1.93", "differ by exactly 1"),
        (2.96, "", "1.93", ""),
        (0.72, "", "0.28", ""),
        (2.7, "", "1.7", "differ by exactly 1"),
        (2.7, "", "3.7", "differ by exactly 1"),
        (5.0, "", "4", "differ by exactly 1"),
        (2.5, "", "0.4", "the inverse of the right one"),
        (2.5, "s", "0.4", ""),
    ],
)
def test_a_plain_number_may_be_the_inverse_the_rest_or_one_off(right: float, unit: str, text: str, says: str) -> None:
    told = told_by_the_question(typed(text, unit), right, scale_of(unit), QuestionNumbers(), "factor")
    assert (says in told) if says else told == ""


@each(
    ("answer", "unit", "tolerance", "is_count"),
    [
        ("ceil(x)", "", "exact", True),
        ("round(x / 3)", "", "exact", True),
        ("ceil(x)", "", "1 %", False),
        ("ceil(x)", "s", "exact", False),
        ("x", "", "exact", False),
        ("my_floor(x)", "", "exact", False),
    ],
)
def test_a_count_is_exact_plain_and_rounded(answer: str, unit: str, tolerance: str, is_count: bool) -> None:
    assert asked(answer, unit, tolerance).is_count is is_count


@each(
    ("quantity", "value", "wrong", "step", "is_it"),
    [
        (asked(), 101.0, 100.0, 0.0, True),
        (asked(), 101.1, 100.0, 0.0, False),
        (asked(tolerance="20 %"), 110.0, 100.0, 0.0, True),
        (asked(tolerance="20 %"), 111.0, 100.0, 0.0, False),  # farther off is another mistake
        (asked(tolerance="0.1 %"), 100.9, 100.0, 2.0, True),  # rounded
        (asked(tolerance="0.1 %"), 101.1, 100.0, 9.0, False),  # 1 % at most
        (asked(tolerance="0.1 %"), 100.5, 100.0, 0.8, False),
        (asked("ceil(x)", tolerance="exact"), 4.0, 2.2, 0.0, False),
        (asked("ceil(x)", tolerance="exact"), 2.5, 2.2, 0.0, False),
        (asked(tolerance="exact"), 3.0, 2.2, 0.0, False),
    ],
)
def test_a_value_is_a_mistake_within_its_tolerance(
    quantity: AskedQuantity, value: float, wrong: float, step: float, is_it: bool
) -> None:
    found = nearest_mistake(value, [quantity.band_of(wrong, "it")], step)
    assert (found is not None) is is_it


def test_of_two_mistakes_the_nearer_one_is_meant() -> None:
    mistakes = [(100.0, "far"), (100.8, "near"), (90.0, "none")]
    assert asked().foreseen(100.5, mistakes) == "near"
    assert asked().foreseen(100.3, mistakes) == "far"
    assert asked().foreseen(95.0, mistakes) == ""


@each(
    ("tolerance", "right", "slack"),
    [("1 %", 200.0, 2.0), ("0.5 %", -200.0, 1.0), ("0.3 points", 0.5, 0.003), ("exact", 200.0, 2e-7)],
)
def test_the_tolerance_is_of_the_right_value_or_in_points(tolerance: str, right: float, slack: float) -> None:
    assert asked(tolerance=tolerance).slack(right) == pytest.approx(slack, rel=1e-8)
    assert asked(tolerance=tolerance).slack(right) >= slack


@each(("tolerance", "is_one"), [("0 %", False), ("50 %", False), ("49 %", True), ("0.01 %", True), ("exact", True)])
def test_a_tolerance_is_between_nothing_and_a_half(tolerance: str, is_one: bool) -> None:
    if is_one:
        assert asked(tolerance=tolerance).tolerance == tolerance
    else:
        with pytest.raises(ValidationError, match="is not between 0 and 50 %"):
            asked(tolerance=tolerance)


@each(("score", "is_one"), [(0.0, True), (0.99, True), (1.0, False), (-0.1, False)])
def test_a_mistake_is_worth_less_than_all(score: float, is_one: bool) -> None:
    if is_one:
        assert ScoredMistake(says="No.", score=score).score == score
    else:
        with pytest.raises(ValidationError):
            ScoredMistake(says="No.", score=score)


def test_what_a_wrong_answer_is_worth_is_said_in_percent() -> None:
    assert worth_sentence(0.0) == ""
    assert worth_sentence(1 / 3) == "This is worth 33.3 % of the points."
    assert PERCENT.unit is RATIO


@each(
    ("answer", "unit", "sort"),
    [
        ("collectives.ring_all_reduce_steps", "", "count"),
        ("collectives.ring_all_reduce_steps(ranks)", "", "count"),
        ("2 * collectives.ring_all_reduce_steps(ranks)", "", ""),
        ("memory.zero_smallest_ranks", "", "count"),
        ("pipeline.bubble_fraction", "", ""),
        ("x", "", ""),
        ("x", "s", "amount"),
        ("x", "%", "share"),
        ("x", "×", "factor"),
        ("x", "million", "count"),
    ],
)
def test_what_a_number_is_follows_from_its_unit_or_its_formula(answer: str, unit: str, sort: str) -> None:
    assert asked(answer, unit, "1 %").sort == sort
