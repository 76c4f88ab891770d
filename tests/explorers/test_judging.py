"""A prediction is right within 2 %, and else told how far off it is."""

import pytest

from app.explorers import judged
from app.explorers.base import KeyFigure, left, plain, quantity, share
from app.units import BYTE, SECOND

TIME = quantity("time", 0.07, SECOND)
SENT = quantity("sent", 1.75e9, BYTE)
BUBBLE = share("bubble", 0.2727)
STEPS = plain("steps", 14)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (TIME, "70 ms"), (TIME, "70"), (TIME, "0.07 s"), (TIME, "71"), (TIME, " 69ms "),
        (SENT, "1.75 GB"), (SENT, "1.75"), (SENT, "1750 MB"),
        (BUBBLE, "27.3 %"), (BUBBLE, "27.3"), (BUBBLE, "0.273"),
        (STEPS, "14"), (STEPS, "14.2"),
    ],
)  # fmt: skip
def test_a_prediction_within_two_percent_is_right(fact: KeyFigure, text: str) -> None:
    assert judged(fact, text).near is True


@pytest.mark.parametrize(
    ("fact", "text", "apart"),
    [
        (TIME, "77 ms", "10 % too high"),
        (TIME, "35 ms", "too low by a factor of 2"),
        (TIME, "63 ms", "10 % too low"),
        (SENT, "14 GB", "too high by a factor of 8"),
        (STEPS, "7", "too low by a factor of 2"),
        (STEPS, "-7", "steps is 14."),
    ],
)
def test_another_is_told_by_how_much(fact: KeyFigure, text: str, apart: str) -> None:
    guess = judged(fact, text)
    assert guess.near is False
    assert apart in guess.says


@pytest.mark.parametrize("text", ["soon", "", "70 GB", "1 / 0", "2 * 7", "<b>"])
def test_what_cannot_be_read_is_neither_right_nor_wrong(text: str) -> None:
    assert judged(TIME, text).near is None


def test_a_fact_without_a_number_cannot_be_predicted() -> None:
    with pytest.raises(ValueError, match="step"):
        judged(KeyFigure(label="step", value="3 of 14"), "3")


def test_the_rest_of_a_sum_is_nothing_and_not_its_noise() -> None:
    assert left(0.1 + 0.2, 0.3) == 0
    assert left(10, 4) == 6
