"""What a visitor reads on a page in German or Chinese: no English but where the page says so."""

import re
from html.parser import HTMLParser

import pytest
from fastapi.testclient import TestClient

from app.core.measurements.exhibits import exhibits
from app.core.translation import speaking
from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS
from app.course.explorers.base import ExplorerOutput, KeyFigure, open_explorer, translate_explored
from tests.translation.test_terms import WHOLE

ENGLISH = re.compile(r"\b(the|of|each|and|are|with|this|that|which|when|its|takes?|holds?|measured)\b")
VOID = {"br", "circle", "hr", "img", "input", "line", "link", "meta", "path", "rect", "use", "wbr"}
QUIET = {"script", "style", "code", "pre", "math", "kbd"}
READ = ("aria-label", "title", "placeholder", "data-says")
NAMES = {"Mixture of Experts"}  # what Germans call it, too
PAGES = (
    "/labs",
    "/labs/algorithms",
    "/labs/all-reduce",
    "/explore",
    *(f"/explore/{name}?show=1" for name in EXPLORERS if name != "fit"),  # it quotes sources
    "/explore/pipeline?against=zb_h1",
    "/explore/ring?step=9&show=1",
)


class Reader(HTMLParser):
    """The words of a page outside of what says that it is English."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        english = self.open[-1][1] if self.open else False
        if given.get("lang"):
            english = given["lang"] == "en"
        english = english or tag in QUIET
        if tag not in VOID:
            self.open.append((tag, english))
        is_term = tag == "a" and "data-says" in given  # an entry of the glossary
        if not english and not is_term:
            self.said += [text for name in READ if (text := given.get(name))]

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not (self.open and self.open[-1][1]):
            self.said.append(" ".join(data.split()))


def english(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    return [text for text in reader.said if ENGLISH.search(text) and text not in NAMES]


def test_the_reader_finds_english_where_it_does_not_say_so() -> None:
    assert english('<p>the sum of all</p><p lang="en">the sum</p><b title="each of them">x</b>') == [
        "the sum of all",
        "each of them",
    ]


@pytest.mark.parametrize("code", ["de", "zh"])
def test_pages_are_in_one_language(client: TestClient, code: str) -> None:
    found = {
        path: said for path in PAGES if (said := english(client.get(path, headers={"Accept-Language": code}).text))
    }
    assert found == {}


@pytest.mark.parametrize("code", ["de", "zh"])
@pytest.mark.parametrize("chapter", WHOLE)
def test_an_exercise_of_a_whole_chapter_is_in_one_language(
    client: TestClient, catalog: Catalog, code: str, chapter: str
) -> None:
    """Its page, its hints and its solution."""
    headers = {"Accept-Language": code}
    found = {chapter: english(client.get(f"/chapters/{chapter}", headers=headers).text)}
    for exercise in catalog.topic(chapter).path:
        path = f"/exercises/{exercise.id}"
        pages = [client.get(path, headers=headers)]
        for action in ("hint", "solution"):
            pages.append(client.post(path, data={"action": action}, headers=headers))
        assert {page.status_code for page in pages} == {200}
        said = [text for page in pages for text in english(page.text)]
        # What was measured is quoted as the readers wrote it, in any language.
        quoted = " ".join(f"{one.text} {one.hardware} Source:" for one in exhibits().values())
        found[exercise.id] = [
            text
            for text in said
            if not text.startswith(("def ", "from ")) and text.replace(". Source:", "") not in quoted
        ]
    assert {where: said for where, said in found.items() if said} == {}


@pytest.mark.parametrize(("code", "rows", "unit"), [("de", "4 224", "Zeilen"), ("zh", "4,224", "行")])
def test_a_figure_of_an_exercise_has_words_and_numbers_of_the_language(
    client: TestClient, code: str, rows: str, unit: str
) -> None:
    reader = Reader()
    path = "/exercises/kernels/one-tile-too-many"
    reader.feed(client.get(path, headers={"Accept-Language": code}).text)
    assert reader.said[reader.said.index(unit) - 1] == rows
    roofline = client.get("/explore/machine?show=1", headers={"Accept-Language": code}).text
    assert {"de": "4\u202f096³-Produkt", "zh": "4,096³"}[code] in roofline


def test_a_drawing_that_is_kept_is_kept_for_each_language(client: TestClient) -> None:
    path = "/exercises/collectives/count-the-ring"
    german = client.get(path, headers={"Accept-Language": "de"}).text
    english_page = client.get(path).text
    assert "4 Ranks in einem Ring" in german
    assert "4 ranks in a ring" in english_page
    assert "4 Ranks in einem Ring" in client.get(path, headers={"Accept-Language": "de"}).text


def test_names_that_constants_hold_are_told_and_those_to_compare_are_kept() -> None:
    shown = ExplorerOutput("", (KeyFigure("network", "nothing"),), ())
    assert translate_explored(shown) is shown
    with speaking("de"):
        (fact,) = translate_explored(shown).facts
        assert (fact.label, fact.value) == ("network", "nichts")
        first = open_explorer(EXPLORERS, "memory").shown.figures[0]
        assert first.title == "Trainingszustand auf jeder GPU"
        assert "ZeRO-Stufe 3" in {row[0] for row in first.table}
