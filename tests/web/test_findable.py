"""What search engines find: a sitemap and canonical addresses."""

import re
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
