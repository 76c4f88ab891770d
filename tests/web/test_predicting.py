"""A prediction is right within 2 %; a wrong one is told its mistake, as an exercise would tell it."""

import re
from dataclasses import replace
from html import unescape

import pytest
from fastapi.testclient import TestClient
from markupsafe import Markup

from app.core.units import BYTE, SECOND
from app.course.content.catalog import Catalog
from app.course.content.errata import mark
from app.course.explorers import EXPLORERS
from app.course.explorers.base import ExplainedMistakes, KeyFigure, Values, open_explorer, predicted_figure
from app.course.explorers.controls import read_controls
from app.course.explorers.words import remainder
from app.course.kinds.numeric import Numeric
from app.site.markdown import inline_html
from app.site.web.explore.prediction_check import PredictionVerdict, judge_prediction
from tests.each import each
from tests.explorers.test_guess import GUESSED, OTHER

TIME = KeyFigure.quantity("time", 0.07, SECOND)
SENT = KeyFigure.quantity("sent", 1.75e9, BYTE)
BUBBLE = KeyFigure.share("bubble", 0.2727)
STEPS = KeyFigure.plain("steps", 14)
WITH_EXERCISE = [name for name in GUESSED if EXPLORERS[name].foreseen.exercise]
NO_EXERCISES = Catalog((), {})


def guessed(fact: KeyFigure, text: str) -> PredictionVerdict:
    """The verdict where no mistake is foreseen."""
    found = open_explorer(EXPLORERS, "ring")
    return judge_prediction(
        NO_EXERCISES, replace(found.explorer, foreseen=ExplainedMistakes()), found.values, fact, text
    )


@each(
    ("fact", "text"),
    [
        (TIME, "70 ms"),
        (TIME, "70"),
        (TIME, "0.07 s"),
        (TIME, "71"),
        (TIME, " 69ms "),
        (TIME, "2 * 7 / 8 * 2 GB / (50 GB/s)"),
        (SENT, "2*(8-1)/8 * 1 GB"),
        (SENT, "1.75 GB"),
        (SENT, "1.75"),
        (SENT, "1750 MB"),
        (BUBBLE, "27.3 %"),
        (BUBBLE, "27.3"),
        (BUBBLE, "0.273"),
        (BUBBLE, "3/11"),
        (STEPS, "14"),
        (STEPS, "14.2"),
        (STEPS, "2 * 7"),
    ],
)
def test_a_prediction_within_two_percent_is_right(fact: KeyFigure, text: str) -> None:
    guess = guessed(fact, text)
    assert guess.near is True
    assert "Right" in guess.says
    assert guess.why == ""


@each(
    ("fact", "text", "apart"),
    [
        (TIME, "77.7 ms", "11 % too high"),
        (TIME, "35 ms", "is a factor of 2 missing?"),
        (TIME, "63.7 ms", "9 % too low"),
        (SENT, "14 GB", "were bits counted as bytes?"),
        (SENT, "7 GB", "too high by a factor of 4"),
        (SENT, "1.75 MB", "The number is right in GB, but your answer is in MB"),
        (STEPS, "3", "too low by a factor of 4.67"),
        (STEPS, "-5", "steps is 14."),
        (BUBBLE, "2.2 %", "too low by a factor of 12.4"),
        (BUBBLE, "0.41", "50 % too high"),
    ],
)
def test_another_is_told_its_mistake_or_by_how_much(fact: KeyFigure, text: str, apart: str) -> None:
    guess = guessed(fact, text)
    assert guess.near is False
    assert apart in f"{guess.says} {guess.why}"


@each("text", ["soon", "", "70 GB", "1 / 0", "2 *", "<b>"])
def test_what_cannot_be_read_is_neither_right_nor_wrong(text: str) -> None:
    assert guessed(TIME, text).near is None


def test_arithmetic_is_told_its_value() -> None:
    assert "(49 ms)" in guessed(TIME, "2 * 7 / 10 * 35 ms").says


def test_a_fact_without_a_number_cannot_be_predicted() -> None:
    with pytest.raises(ValueError, match="step"):
        guessed(KeyFigure(label="step", value="3 of 14"), "3")


def test_the_rest_of_a_sum_is_nothing_and_not_its_noise() -> None:
    assert remainder(0.1 + 0.2, 0.3) == 0
    assert remainder(10, 4) == 6


@each("name", WITH_EXERCISE)
@each("changed", [False, True], ids=["start", "other"])
def test_a_wrong_prediction_is_told_what_the_exercise_tells(catalog: Catalog, name: str, changed: bool) -> None:
    explorer, foreseen = EXPLORERS[name], EXPLORERS[name].foreseen
    values = Values(read_controls(explorer.controls, OTHER[name] if changed else {})[0])
    fact = predicted_figure(explorer, explorer.explore(values))
    exercise = catalog.exercise(foreseen.exercise)
    assert isinstance(exercise, Numeric)
    assert fact
    key = exercise.keys_at(foreseen.given(values))[foreseen.answer]
    if changed and key.right != pytest.approx(fact.exact, rel=1e-3):
        return  # in that state, the explorer asks for something else: another schedule, format
    assert key.right == pytest.approx(fact.exact, rel=1e-3)
    told = 0
    for value, says in key.mistakes:
        guess = judge_prediction(catalog, explorer, values, fact, f"{value!r} {fact.unit.symbol}".strip())
        if guess.near:
            continue  # in this state, the mistake is not one
        told += guess.why == mark(inline_html(says))
        assert guess.practice
        assert guess.practice.text == exercise.title
    assert told >= min(2, len(key.mistakes))


@each("name", GUESSED)
def test_every_explorer_foresees_a_mistake_and_names_each_apart(catalog: Catalog, name: str) -> None:
    explorer = EXPLORERS[name]
    found = open_explorer(EXPLORERS, name)
    fact = predicted_figure(explorer, found.shown)
    assert fact
    assert fact.exact
    others = list(explorer.foreseen.others(found.values))
    assert others or explorer.foreseen.exercise
    apart = [value for value, _ in others if abs(value / fact.exact - 1) > 0.02]
    for value, says in others:
        guess = judge_prediction(catalog, explorer, found.values, fact, f"{value!r} {fact.unit.symbol}".strip())
        if value in apart and apart.count(value) == 1 and not _close(value, apart):
            assert guess.near is False
            assert guess.why, (value, says)
    assert len({says for _, says in others}) == len(others)


def _close(value: float, others: list[float]) -> bool:
    near = [one for one in others if abs(one - value) <= 0.02 * abs(value)]
    return len(near) > 1


def test_the_page_tells_the_mistake_and_links_the_exercise(client: TestClient) -> None:
    page = client.get("/explore/ring?predict=1&guess=875+MB").text
    told = unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page)))
    assert "You predicted 875 MB; sent in total is 1.75 GB. That is one phase." in told
    assert "Practice: Bytes sent in a ring all-reduce." in told
    assert '<a href="/exercises/collectives/bytes-sent-by-a-ring">' in page
    half = client.get("/explore/ring?predict=1&guess=1.75+GB").text
    assert "Practice:" not in half


def test_what_a_visitor_types_is_text(client: TestClient) -> None:
    page = client.get("/explore/ring?predict=1&guess=3+%2A+%3Cb%3E").text
    assert "<b>" not in page.partition('id="explored"')[2]
    assert isinstance(guessed(TIME, "7").why, Markup)


def test_just_show_me_is_remembered_for_its_explorer_until_one_predicts_again(client: TestClient) -> None:
    def asks(path: str) -> bool:
        return "Just show me" in client.get(path).text

    link = re.search(r'href="(/explore/checkpoints\?[^"]*told=1)"', client.get("/explore/checkpoints").text)
    assert link
    assert not asks(unescape(link[1]))
    assert [asks("/explore/checkpoints"), asks("/explore/memory")] == [False, True]
    assert asks("/explore/checkpoints?predict=1")
    assert asks("/explore/checkpoints")
