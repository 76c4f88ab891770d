"""The first exercise of the course: its page does not give it away, and knows the natural slips."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.numeric import Numeric

# Of 8 ranks with 1 GB each, of which each sends 1.75 GB; typed by people who read a chapter fast.
SLIPS = "1 GB, 2 GB, 7 GB, 8 GB, 14 GB, 16 GB, 0.125 GB, 0.25 GB, 0.875 GB, 1.75 Gbit, 1.75 MB"


@pytest.fixture
def first(catalog: Catalog) -> Exercise:
    return catalog.topics[0].path[0]


def _verdict(client: TestClient, exercise: Exercise, answer: str) -> str:
    page = client.post(f"/exercises/{exercise.id}", data={"answer": answer}).text
    found = re.search(r'<div class="feedback (\w+)">(.*?)</div>', page, re.DOTALL)
    assert found
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[2])).split())


def test_each_natural_slip_of_the_first_exercise_has_a_diagnosis(client: TestClient, first: Exercise) -> None:
    for answer in SLIPS.split(", "):
        says = _verdict(client, first, answer)
        assert says.startswith("Not yet"), answer
        assert not re.search(r"is too (small|large)\.$", says), answer
        assert len(says.split()) > 8, answer


def test_nothing_on_the_first_page_says_how_many_steps_or_how_much(client: TestClient, first: Exercise) -> None:
    page = client.get(f"/exercises/{first.id}").text
    main = page.partition("<main")[2].partition("</main>")[0]
    assert 'href="/glossary#ring"' not in main
    for spoiler in ("2(N − 1)", "2 S", "1.75", "almost twice", "(N − 1)/N"):
        assert spoiler not in unescape(main), spoiler


def test_the_glossary_says_what_a_rank_is(client: TestClient) -> None:
    page = client.get("/glossary").text
    assert 'id="rank"' in page
    assert "Ranks send and receive; GPUs have memory" in " ".join(page.split())


def test_the_first_exercise_has_one_word_for_a_rank(catalog: Catalog, first: Exercise) -> None:
    assert isinstance(first, Numeric)
    variant = first.variant(0)
    for text in (variant.prompt, *variant.hints, variant.solution, *(one.says for one in first.wrong.values())):
        assert not re.search(r"\b(worker|GPU)s?\b", text), text


def test_the_box_shows_how_a_number_is_written_in_its_unit(client: TestClient, first: Exercise) -> None:
    page = client.get(f"/exercises/{first.id}").text
    assert 'placeholder="such as 3 GB or 2*3/4"' in page
