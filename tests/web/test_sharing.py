"""What stands where the address of a page is shared: its title, its words, the site's picture, and no answer."""

import re
from html import unescape

from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer, predicted_figure
from tests.each import each
from tests.pages import RUN

GIVEN = "size=1+GB&ranks=8&bandwidth=50+GB%2Fs"
FORMULA = "/formulas/collectives.ring_all_reduce_time"
PAGES = (
    "/explore/ring?ranks=12",
    "/errata/E-01",
    FORMULA,
    "/chapters/collectives",
    "/labs/algorithms",
    RUN,
    "/exercises/collectives/ring-all-reduce-time?seed=3",
)


def meta(client: TestClient, page: str, name: str) -> str:
    (content,) = re.findall(rf'<meta (?:name|property)="{name}" content="([^"]*)">', client.get(page).text)
    return unescape(content)


def test_every_page_has_the_picture_of_the_site_and_words_of_its_own(client: TestClient) -> None:
    pictures = {meta(client, page, "og:image") for page in PAGES}
    assert len(pictures) == 1
    drawn = client.get(pictures.pop().removeprefix("http://testserver"))
    assert drawn.headers["content-type"] == "image/png"
    assert len({meta(client, page, "og:description") for page in PAGES if page != RUN}) == len(PAGES) - 1


def test_what_is_shared_has_the_title_and_the_address_of_its_state(client: TestClient) -> None:
    assert meta(client, "/explore/ring?ranks=12", "og:title") == "What moves in an all-reduce? · Ranks 12"
    assert meta(client, "/explore/ring?ranks=12", "og:url").startswith("http://testserver/explore/ring?ranks=12")


@each(("query", "shared"), [(GIVEN, f"?{GIVEN}"), (f"{GIVEN}&junk=1", f"?{GIVEN}"), ("ranks=no", ""), ("junk=1", "")])
def test_a_calculation_is_shared_with_its_arguments_if_it_has_a_result(
    client: TestClient, query: str, shared: str
) -> None:
    assert meta(client, f"{FORMULA}?{query}", "og:url") == f"http://testserver{FORMULA}{shared}"


@each("name", [name for name in EXPLORERS if name != "fit"])  # which asks nothing
def test_the_words_of_a_question_do_not_answer_it(client: TestClient, name: str) -> None:
    found = open_explorer(EXPLORERS, name)
    fact = predicted_figure(found.explorer, found.shown)
    assert fact
    if not found.explorer.part_of:
        assert fact.value not in meta(client, f"/explore/{name}?predict=1", "og:description")


def test_the_words_of_an_exercise_say_no_more_than_its_question(client: TestClient, catalog: Catalog) -> None:
    for exercise in catalog.exercises[::9]:
        said = meta(client, f"/exercises/{exercise.id}?seed=3", "description")
        asked, words = (set(re.sub(r"[`*\[\]]", "", text).split()) for text in (exercise.variant(3).prompt, said))
        assert words <= asked or "$" in exercise.variant(3).prompt, exercise.id


def test_only_a_visitor_from_elsewhere_is_welcomed(client: TestClient) -> None:
    welcome = "Start here</a></p></aside>"
    for page in PAGES:
        assert welcome in client.get(page).text
    inside = {"Sec-Fetch-Site": "same-origin"}
    assert welcome not in client.get("/errata/E-01", headers=inside).text
    assert welcome not in client.get("/").text
    client.post("/exercises/collectives/ring-all-reduce-time", data={"answer": "35 ms"})
    assert welcome not in client.get("/errata/E-01").text
