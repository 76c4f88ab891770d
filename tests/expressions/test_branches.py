import pytest

from app.core.expressions import ExpressionError, Quantity, blank_slots, fill, slots
from tests.each import each

THREE = "It {when a > b}reads {a}{or when a == b}does both{otherwise}writes {b}{end}."


def names(a: float, b: float) -> dict[str, Quantity]:
    return {"a": Quantity(a), "b": Quantity(b)}


@each(("a", "b", "shown"), [(3, 2, "It reads 3."), (2, 2, "It does both."), (2, 5, "It writes 5.")])
def test_a_text_shows_the_first_piece_whose_condition_holds(a: float, b: float, shown: str) -> None:
    assert fill(THREE, names(a, b), {}) == shown


def test_a_condition_may_have_no_other_piece() -> None:
    text = "Yes.{when a > b} And {a} is more.{end}"
    assert fill(text, names(3, 2), {}) == "Yes. And 3 is more."
    assert fill(text, names(1, 2), {}) == "Yes."


def test_a_slot_of_a_piece_that_is_not_shown_need_not_have_a_value() -> None:
    assert fill("{when a > b}{1 / (a - b)}{otherwise}none{end}", names(2, 2), {}) == "none"


def test_a_tag_on_its_own_line_leaves_no_line() -> None:
    text = "One.\n{when a > b}\nTwo.\n{otherwise}\nThree.\n{end}\nFour."
    assert fill(text, names(3, 2), {}) == "One.\nTwo.\nFour."
    assert fill(text, names(1, 2), {}) == "One.\nThree.\nFour."


@each(
    "text",
    [
        "{when a > b}More.",
        "More.{end}",
        "{otherwise}Less.{end}",
        "{or when a > b}More.{end}",
        "{when a > b}More.{otherwise}Less.{or when a == b}As much.{end}",
        "{when a > b}More {when a > 2}even{end}.{end}",
        "{when a > b}{otherwise}{otherwise}{end}",
        "{when a > c}More.{end}",
        "{when a + b}More.{end}",
    ],
)
def test_an_incomplete_group_or_condition_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        fill(text, names(3, 2), {})


def test_the_names_of_a_text_are_in_its_conditions_too() -> None:
    assert slots("{when a > b}It is {c}.{end}") == ["a > b", "c"]


def test_the_prose_of_a_text_has_its_pieces_and_no_tag() -> None:
    assert blank_slots(THREE) == "It reads ◊does bothwrites ◊."
