"""The map of the course: its routes, its marks, and the chapters that a learner knows."""

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


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def node(page: str, chapter: str) -> str:
    found = re.search(rf'<div class="node[^>]*data-chapter="{chapter}">.*?</div>', page, re.DOTALL)
    assert found, chapter
    return found[0]


@pytest.fixture
def learner(client: TestClient, site: Site) -> str:
    made = new_learner()
    client.cookies.set(COOKIE, sign(made, site.secret))
    return made


def test_the_map_has_every_chapter_and_a_line_for_every_need(client: TestClient, catalog: Catalog) -> None:
    page = client.get("/map").text
    for topic in catalog.topics:
        found = words(node(page, topic.id))
        assert f"{topic.title} {topic.minutes} min" in found
        for need in topic.needs:
            assert f'data-before="{need}" data-after="{topic.id}"' in page
            assert catalog.topic(need).title in found  # for those who do not see the lines
    assert page.count("data-before=") == sum(len(topic.needs) for topic in catalog.topics)


def test_a_route_has_its_chapters_alone(client: TestClient, catalog: Catalog) -> None:
    page = client.get("/map?route=serve").text
    shown = set(re.findall(r'data-chapter="([^"]+)"', page))
    assert shown == {topic.id for topic in catalog.topics if "serve" in topic.routes}
    assert re.search(r'route=serve" aria-current="page"', page)
    missing = client.get("/map?route=serving")
    assert missing.status_code == 404
    assert "did you mean 'serve'?" in words(missing.text)


def test_a_visitor_without_a_cookie_gets_none(client: TestClient) -> None:
    assert "set-cookie" not in client.get("/map").headers
    answer = client.post("/map/known", data={}, follow_redirects=False)
    assert answer.status_code == 303
    assert "set-cookie" not in answer.headers


def test_marks_follow_what_is_solved_and_what_is_known(
    client: TestClient, site: Site, catalog: Catalog, learner: str
) -> None:
    def solve(name: str) -> Attempt:
        return Attempt(
            learner=learner, exercise=name, seed=0, answer="1", correct=True, score=1.0, digest="d", drawn="{}"
        )

    path = [exercise.id for exercise in catalog.topic("tensor").path]
    store(site.engine, [*map(solve, path), solve(catalog.topic("memory").path[0].id)])
    client.post("/map/known", data={"chapter": ["hardware", "no-such-chapter"]})
    page = client.get("/map").text
    assert 'class="node finished"' in node(page, "tensor")
    assert "finished" in words(node(page, "tensor"))
    assert f"1 of {len(catalog.topic('memory').path)} solved" in words(node(page, "memory"))
    assert 'class="node known"' in node(page, "hardware")
    with open_session(site.engine) as session:
        assert known_chapters(session, learner) == {"hardware"}


def test_a_known_chapter_is_suggested_last_and_can_be_taken_back(
    client: TestClient, catalog: Catalog, learner: str
) -> None:
    first, second = catalog.topics[:2]

    def suggested(address: str) -> str:
        found = re.search(r'class="button primary" href="/exercises/([^/]+)/', client.get(address).text)
        return found[1] if found else ""

    assert suggested("/") == first.id
    saved = client.post("/map/known", data={"chapter": [first.id]}, follow_redirects=True)
    assert "Saved" in words(saved.text)
    assert suggested("/") == second.id
    assert suggested(f"/chapters/{first.id}") == first.id  # who opens it goes on in it
    assert "you know this chapter" in words(client.get("/").text)
    client.post("/map/known", data={})
    assert suggested("/") == first.id


def test_nobody_elsewhere_ticks_for_a_learner(client: TestClient, learner: str, site: Site) -> None:
    headers = {"sec-fetch-site": "cross-site", "origin": "https://elsewhere.example"}
    refused = client.post("/map/known", data={"chapter": "memory"}, headers=headers)
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
    page = client.get("/map?route=serve").text
    assert 'href="/map/start?route=serve"' in page
    client.get("/map/start?route=serve")
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
    assert "You are on this route" in words(client.get("/map?route=serve").text)
    client.get("/map/start")
    left = client.get("/").text
    assert "Route:" not in words(left)
    following = catalog.topics[catalog.topics.index(second) + 1]
    assert following not in on
    assert primary(left) == f"/exercises/{following.path[0].id}"


@pytest.mark.parametrize("route", ["", "elsewhere", "serve,train", "x" * 5000])
def test_a_route_that_does_not_exist_is_not_started(client: TestClient, route: str) -> None:
    answer = client.get("/map/start", params={"route": route}, follow_redirects=False)
    assert answer.headers["location"] == "/map"
    client.cookies.set("route", "elsewhere")
    assert "Route:" not in words(client.get("/").text)


def test_a_chapter_off_the_route_goes_on_in_itself(client: TestClient, catalog: Catalog, learner: str) -> None:
    client.get("/map/start?route=serve")
    off = next(topic for topic in catalog.topics if "serve" not in topic.routes)
    assert primary(client.get(f"/chapters/{off.id}").text) == f"/exercises/{off.path[0].id}"


def test_the_form_of_known_chapters_on_a_route_keeps_the_others(
    client: TestClient, catalog: Catalog, learner: str
) -> None:
    client.post("/map/known", data={"chapter": ["overlap", "memory"]})
    page = client.get("/map?route=serve").text
    form = page.partition('action="/map/known"')[2]
    assert '<input type="hidden" name="chapter" value="overlap">' in form
    ticks = re.findall(r'type="checkbox" name="chapter" value="([^"]+)"', form)
    assert ticks == [topic.id for topic in catalog.topics if "serve" in topic.routes]
