"""Predictions in the text of a chapter."""

import re
from html import unescape

from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from app.course.kinds.base import EmbeddedFigures
from tests.each import each

RING = "/chapters/collectives"


def question(client: TestClient, number: int = 1, **typed: str) -> str:
    page = client.get(RING, params=typed).text
    found = re.search(rf'<section class="predict" id="question-{number}">.*?</section>', page, re.S)
    assert found
    return " ".join(unescape(re.sub(r"<(?!input)[^>]+>", " ", found[0])).split())


def test_a_question_says_nothing_before_it_is_answered(client: TestClient) -> None:
    shown = question(client)
    assert "Eight ranks add arrays of 4 GB in a ring." in shown
    assert "7 GB" not in shown
    assert "0.5 GB" not in shown


@each(
    ("typed", "says"),
    [
        ("7", "Right: 7 GB."),
        ("2*4*7/8 GB", "Right: 7 GB."),
        ("", "The answer is 7 GB."),
        ("3.5 GB", "That is one phase, the"),
        ("12 GB", "12 GB is too large. The answer is 7 GB."),
    ],
)
def test_a_prediction_is_judged_and_the_text_reads_on(client: TestClient, typed: str, says: str) -> None:
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
    assert page.index('class="side"') < page.index("The figure shows eight ranks")
    assert re.findall(r'data-frame="(\d+)"', page) == ["0", "7", "3", "14"]
    tensor = client.get("/chapters/tensor").text
    assert tensor.index("Sent by each GPU") < tensor.index("The figure counts what eight GPUs send")
    below = catalog.topic("networks")
    assert below.figures
    assert 'class="embedded"' in client.get("/chapters/networks").text


def test_what_a_text_says_of_its_figure_is_what_the_figure_shows(catalog: Catalog) -> None:
    topic = catalog.topic("overlap")
    (figure,) = topic.figures
    assert "8 layers take 5 ms each and their all-reduces 6 ms" in " ".join(topic.opening.split())
    assert "6 + 7 · 1 = 13 ms are exposed" in topic.opening
    assert isinstance(figure, EmbeddedFigures)
    found = open_explorer(EXPLORERS, figure.explorer, {n: str(v) for n, v in figure.state.items()})
    assert (found.values["layers"], found.values["compute"], found.values["reduce"]) == (8, 5e-3, 6e-3)
    assert "13 ms are exposed" in found.shown.says


@each(
    ("chapter", "says"),
    [
        ("hardware", "a ReLU and attention that writes its scores lie left of the ridge of an H100"),
        ("attention", "attention over 8,192 tokens waits for memory if its scores are written"),
    ],
)
def test_what_a_text_says_of_a_roofline_is_what_it_shows(catalog: Catalog, chapter: str, says: str) -> None:
    topic = catalog.topic(chapter)
    (figure,) = topic.figures
    assert says in " ".join(topic.opening.split())
    assert isinstance(figure, EmbeddedFigures)
    found = open_explorer(EXPLORERS, figure.explorer, {n: str(v) for n, v in figure.state.items()})
    assert found.shown.says.endswith("Memory-bound: ReLU, attention, unfused.")
    assert "H100" in str(found.values["gpu"])
    assert found.values["sequence"] == figure.state.get("sequence", 4096)


@each("chapter", ["sharding", "checkpoints", "overlap", "experts", "hardware", "attention"])
def test_questions_have_their_places_in_every_language(client: TestClient, catalog: Catalog, chapter: str) -> None:
    for code in ("en", "de", "zh"):
        page = client.get(f"/chapters/{chapter}", params={"lang": code, "q1": ""}).text
        assert page.count('<section class="predict" id="question-') == 2, code
        assert "{question" not in page
        assert "{figure" not in page
