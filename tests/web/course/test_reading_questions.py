"""Predictions in the text of a chapter."""

import re
from html import unescape

from fastapi.testclient import TestClient

from app.content.catalog import Catalog
from tests.each import each

RING = "/chapters/collectives"


def question(client: TestClient, number: int = 1, **typed: str) -> str:
    page = client.get(RING, params=typed).text
    found = re.search(rf'<section class="predict" id="question-{number}">.*?</section>', page, re.S)
    assert found
    return " ".join(unescape(re.sub(r"<(?!input)[^>]+>", " ", found[0])).split())


def test_a_question_says_nothing_before_it_is_answered(client: TestClient) -> None:
    shown = question(client)
    assert "Eight GPUs add arrays of 4 GB in a ring." in shown
    assert "7 GB" not in shown
    assert "0.5 GB" not in shown


@each(
    ("typed", "says"),
    [
        ("7", "Right: 7 GB."), ("2*4*7/8 GB", "Right: 7 GB."), ("", "The answer is 7 GB."),
        ("3.5 GB", "That is one phase, the"), ("12 GB", "12 GB is too large. The answer is 7 GB."),
    ],
)  # fmt: skip
def test_a_prediction_is_judged_and_the_text_reads_on(
    client: TestClient, typed: str, says: str
) -> None:
    shown = question(client, q1=typed)
    assert says in shown
    assert "There are 2 · 7 steps" in shown


@each("typed", ["GB", "seven", "50 %", "<b>7"])
def test_what_is_no_number_reveals_nothing(client: TestClient, typed: str) -> None:
    shown = question(client, q1=typed)
    assert "There are 2 · 7 steps" not in shown
    assert "The answer is" not in shown


def test_the_answer_to_one_question_stays_while_another_is_answered(client: TestClient) -> None:
    shown = question(client, 1, q1="3.5 GB", q2="140.28 µs")
    assert "That is one phase" in shown
    assert '<input type="hidden" name="q2" value="140.28 µs">' in shown
    assert "Right: 140.3 µs." in question(client, 2, q1="3.5 GB", q2="140.28 µs")


def test_a_share_may_be_typed_as_a_fraction(client: TestClient) -> None:
    page = client.get("/chapters/pipelines", params={"q1": "3/7"}).text
    assert "Right: 42.86 %." in page


def test_figures_stand_in_the_text_or_below_it(client: TestClient, catalog: Catalog) -> None:
    page = client.get(RING).text
    assert page.index("Held by each rank") < page.index("The figure shows eight ranks")
    below = catalog.topic("networks")
    assert below.figures
    assert 'class="embedded"' in client.get("/chapters/networks").text
