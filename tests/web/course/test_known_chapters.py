"""The routes through the course, and the chapters that a learner knows."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.server.db.assessments import known_chapters
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.session import open_session
from app.server.db.tables import Attempt
from app.server.db.writer import store
from app.site import Site
from app.site.web.frame.visitor import COOKIE
from app.site.web.standing.next_steps import ROUTES


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture
def learner(client: TestClient, site: Site) -> str:
    made = new_learner()
    client.cookies.set(COOKIE, sign(made, site.secret))
    return made


def test_the_home_page_has_the_routes_of_the_course(client: TestClient) -> None:
    page = client.get("/").text
    assert re.findall(r'href="(/route[^"]*)"', page) == [f"/route?route={name}" for name in ROUTES]
    missing = client.get("/placement/begin?route=serving")
    assert missing.status_code == 404
    assert "did you mean 'serve'?" in words(missing.text)


def test_a_visitor_without_a_cookie_gets_none(client: TestClient) -> None:
    assert "set-cookie" not in client.get("/progress").headers
    answer = client.post("/progress/known", data={}, follow_redirects=False)
    assert answer.status_code == 303
    assert "set-cookie" not in answer.headers


def test_chapters_are_known_until_they_are_not_ticked(client: TestClient, site: Site, learner: str) -> None:
    def ticked() -> list[str]:
        form = client.get("/progress").text.partition('action="/progress/known"')[2]
        return re.findall(r'name="chapter" value="([^"]+)" checked', form)

    for names in (["hardware"], ["memory", "tensor"], []):
        client.post("/progress/known", data={"chapter": [*names, "no-such-chapter"]})
        assert sorted(ticked()) == names
        with open_session(site.engine) as session:
            assert known_chapters(session, learner) == set(names)


def test_a_known_chapter_is_suggested_last_and_can_be_taken_back(
    client: TestClient, catalog: Catalog, learner: str
) -> None:
    first, second = catalog.topics[:2]

    def suggested(address: str) -> str:
        found = re.search(r'class="button primary" href="/exercises/([^/]+)/', client.get(address).text)
        return found[1] if found else ""

    assert suggested("/") == first.id
    saved = client.post("/progress/known", data={"chapter": [first.id]}, follow_redirects=True)
    assert "Saved" in words(saved.text)
    assert suggested("/") == second.id
    assert suggested(f"/chapters/{first.id}") == first.id  # who opens it goes on in it
    assert "you know this chapter" in words(client.get("/").text)
    client.post("/progress/known", data={})
    assert suggested("/") == first.id


def test_nobody_elsewhere_ticks_for_a_learner(client: TestClient, learner: str, site: Site) -> None:
    headers = {"sec-fetch-site": "cross-site", "origin": "https://elsewhere.example"}
    refused = client.post("/progress/known", data={"chapter": "memory"}, headers=headers)
    assert refused.status_code == 403
    with open_session(site.engine) as session:
        assert known_chapters(session, learner) == frozenset()


def primary(page: str) -> str:
    found = re.search(r'<a class="button primary" href="([^"]+)"', page)
    assert found
    return found[1].partition("?")[0]


def test_a_route_that_was_started_leads_on_until_it_is_left(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    on = [topic for topic in catalog.topics if "serve" in topic.routes]
    first, second = on[:2]
    client.get("/route?route=serve")
    home = client.get("/").text
    assert f"Route: I serve , 0 of {len(on)} chapters" in words(home)
    rows = [
        Attempt(learner=learner, exercise=one.id, seed=0, answer="1", correct=True, score=1, digest="", drawn="{}")
        for topic in (first, second)
        for one in topic.path
    ]
    store(site.engine, rows)
    later = client.get("/").text
    assert f"Route: I serve , 2 of {len(on)} chapters" in words(later)
    assert primary(later) == f"/exercises/{on[2].path[0].id}"
    assert primary(client.get("/progress").text) == f"/exercises/{on[2].path[0].id}"
    assert re.findall(r'href="(/route[^"]*)"', later) == ["/route"]
    client.get("/route")
    left = client.get("/").text
    assert "Route:" not in words(left)
    following = catalog.topics[catalog.topics.index(second) + 1]
    assert following not in on
    assert primary(left) == f"/exercises/{following.path[0].id}"


@pytest.mark.parametrize("route", ["", "elsewhere", "serve,train", "x" * 5000])
def test_a_route_that_does_not_exist_is_not_started(
    client: TestClient, site: Site, catalog: Catalog, learner: str, route: str
) -> None:
    answer = client.get("/route", params={"route": route}, follow_redirects=False)
    assert (answer.headers["location"], client.cookies.get("route")) == ("/", None)
    client.cookies.set("route", "elsewhere")
    first, second = catalog.topics[3].path[:2]
    row = Attempt(learner=learner, exercise=first.id, seed=0, answer="1", correct=True, score=1, digest="", drawn="{}")
    store(site.engine, [row])
    home = client.get("/").text
    assert "Route:" not in words(home)
    assert primary(home) == f"/exercises/{second.id}"  # it goes on in the chapter of the last answer


def test_a_chapter_off_the_route_goes_on_in_itself(client: TestClient, catalog: Catalog, learner: str) -> None:
    client.get("/route?route=serve")
    off = next(topic for topic in catalog.topics if "serve" not in topic.routes)
    assert primary(client.get(f"/chapters/{off.id}").text) == f"/exercises/{off.path[0].id}"
