"""What search engines find: a sitemap, canonical addresses, and chapters and exercises described."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from tests.pages import EVERY

ROOT = "http://testserver"  # the address in the settings of these tests
EXERCISE = "/exercises/collectives/ring-all-reduce-time"
NOT_FOR_ALL = ("/search", "/sign-in", "/classes", "/progress", "/lti", "/nothing", "/placement/", "/final/")


class Microdata(HTMLParser):
    """The items of a page, each with its properties, as a reader of the HTML standard builds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.items: list[dict[str, list[object]]] = []
        self._open: list[tuple[str, dict[str, list[object]] | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in given}
        item: dict[str, list[object]] | None = None
        if "itemscope" in attributes:
            item = {"type": [attributes["itemtype"]]}
        if name := attributes.get("itemprop"):
            value = item if item is not None else attributes.get("content", attributes.get("href"))
            self._inner().setdefault(name, []).append(value)
        elif item is not None:
            self.items.append(item)
        if tag not in ("meta", "link", "input", "img", "br", "hr", "wbr", "source"):
            self._open.append((tag, item))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def _inner(self) -> dict[str, list[object]]:
        return next(item for _, item in reversed(self._open) if item is not None)


def described(client: TestClient, path: str) -> dict[str, list[object]]:
    found = Microdata(client.get(path).text).items
    assert len(found) == 1
    return found[0]


def test_an_exercise_is_a_learning_resource_in_its_chapter(client: TestClient, catalog: Catalog) -> None:
    item = described(client, f"{EXERCISE}?seed=7")
    assert item["type"] == ["https://schema.org/LearningResource"]
    assert item["name"] == [catalog.exercise("collectives/ring-all-reduce-time").title]
    assert item["url"] == [ROOT + EXERCISE], "without the seed: one page for search engines"
    assert item["learningResourceType"] == ["exercise"]
    assert item["isAccessibleForFree"] == ["true"]
    chapter = item["isPartOf"][0]
    assert isinstance(chapter, dict)
    assert chapter["url"] == [f"{ROOT}/chapters/collectives"]
    assert chapter["name"] == [catalog.topic("collectives").title]


def test_a_chapter_is_a_learning_resource_with_its_exercises(client: TestClient, catalog: Catalog) -> None:
    item = described(client, "/chapters/collectives")
    topic = catalog.topic("collectives")
    assert item["learningResourceType"] == ["chapter"]
    assert item["description"] == [topic.summary]
    parts = [part for part in item["hasPart"] if isinstance(part, dict)]
    assert [part["name"][0] for part in parts] == [one.title for one in topic.exercises]
    assert client.get(urlsplit(str(parts[-1]["url"][0])).path).status_code == 200


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (f"{EXERCISE}?seed=7", EXERCISE),
        ("/explore/ring?ranks=16", "/explore/ring"),
        ("/errata?chapter=pipelines", "/errata"),
    ],
)
def test_the_canonical_address_has_no_state(client: TestClient, address: str, path: str) -> None:
    found = re.findall(r'<link rel="canonical" href="([^"]+)">', client.get(address).text)
    assert found == [ROOT + path]


def listed(client: TestClient) -> list[str]:
    answer = client.get("/sitemap.xml")
    assert answer.headers["content-type"] == "application/xml"
    places = [place.text or "" for place in ElementTree.fromstring(answer.content).iter() if place.tag.endswith("}loc")]
    assert all(place.startswith(f"{ROOT}/") for place in places)
    return [place.removeprefix(ROOT) for place in places]


def test_the_sitemap_lists_every_page_that_is_the_same_for_everyone(client: TestClient, catalog: Catalog) -> None:
    paths = listed(client)
    assert len(paths) == len(set(paths))
    assert {f"/exercises/{exercise.id}" for exercise in catalog.exercises} <= set(paths)
    pages = {urlsplit(page).path for page in EVERY}
    missing = {
        page
        for page in pages - set(paths)
        if not page.startswith(NOT_FOR_ALL) and not re.match(r"/labs/[^/]+/|/exercises/.*/schedule$", page)
    }
    assert missing == set()


def test_what_the_sitemap_lists_is_there_and_may_be_read(client: TestClient) -> None:
    robots = RobotFileParser()
    lines = client.get("/robots.txt").text.splitlines()
    # The parser of the standard library does not know * and $ in paths.
    robots.parse([line for line in lines if "*" not in line.partition(":")[2].strip("* ") and "$" not in line])
    paths = listed(client)
    assert [path for path in paths if not robots.can_fetch("any", ROOT + path)] == []
    for path in paths[:: len(paths) // 20]:
        assert client.head(path).status_code == 200, path


@pytest.mark.parametrize("path", ["/classes/7", "/me/", "/join/abc", "/sign-in", "/api/v1/check"])
def test_what_is_of_one_visitor_is_not_for_search_engines(client: TestClient, path: str) -> None:
    rules = re.findall(r"^Disallow: (.+)$", client.get("/robots.txt").text, re.MULTILINE)
    assert [rule for rule in rules if path.startswith(rule)]
    assert f"Sitemap: {ROOT}/sitemap.xml" in client.get("/robots.txt").text


def test_names_are_text_in_the_description(client: TestClient) -> None:
    page = client.get("/chapters/collectives").text
    names = re.findall(r'itemprop="name" content="([^"]*)"', page)
    assert len(names) > 10
    assert all("<" not in unescape(name) for name in names)
