"""The home page, its parts, and what search engines may read, without a server."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from starlette.requests import Request

from app.core.errors import NotFoundError
from app.course.content.catalog import Catalog
from app.server.db.history import PastAnswer, Standing
from app.site import Site
from app.site.web.home.page import HomePage, home_page, start_route
from app.site.web.home.sitemap import public_paths, robots, sitemap
from app.site.web.standing.chapter_choice import kept_seed, seed_here
from app.site.web.standing.next_steps import chapter_ticks, known_route, route_links, section_cards, topics_on
from app.site.web.standing.view import LearnerHistory
from tests.each import each

TODAY = date(2026, 3, 10)
ALONE = Standing(tried=1, solved=True, unaided=True)


def page(catalog: Catalog, past: LearnerHistory | None = None) -> HomePage:
    return home_page(catalog, past or LearnerHistory(), TODAY)


def test_a_new_visitor_gets_the_first_chapter_and_a_figure_to_try(catalog: Catalog) -> None:
    found = page(catalog)
    first = catalog.topics[0]
    assert found.first
    assert (found.first.href, found.first.text, found.reading) == (f"/chapters/{first.id}", first.title, first.reading)
    assert found.figure
    assert (found.route, found.heading, found.onward.begun) == (None, "", False)
    assert [link.href for link in found.routes] == ["/route?route=train", "/route?route=serve", "/route?route=cluster"]


def test_one_who_has_answered_gets_the_way_on(catalog: Catalog) -> None:
    exercise = catalog.topics[0].path[0]
    answer = PastAnswer(exercise.id, datetime(2026, 3, 9, tzinfo=UTC), True, True)
    past = LearnerHistory({exercise.id: ALONE}, (answer,), route="serve")
    found = page(catalog, past)
    assert (found.figure, found.onward.begun) == (None, True)
    assert found.route
    assert found.route.total == len(topics_on(catalog, "serve"))


def test_a_course_pack_has_its_own_words(catalog: Catalog) -> None:
    assert page(replace(catalog, front=("Mine", "*Words*"))).heading == "Mine"
    assert "<em>Words</em>" in page(replace(catalog, front=("Mine", "*Words*"))).opening


def test_chapters_stand_in_the_parts_of_the_course_with_their_numbers_and_marks(catalog: Catalog) -> None:
    topic = catalog.topics[3]
    past = LearnerHistory({one.id: ALONE for one in topic.path[:2]}, chapters=frozenset({catalog.topics[0].id}))
    sections = list(section_cards(catalog, past))
    numbers = [number for section in sections for number, _ in section.cards]
    assert sorted(numbers) == list(range(1, len(catalog.topics) + 1))
    cards = {card.href: (number, card) for section in sections for number, card in section.cards}
    number, card = cards[f"/chapters/{topic.id}"]
    assert (number, card.path.solved, card.is_known) == (4, 2, False)
    assert cards[f"/chapters/{catalog.topics[0].id}"][1].is_known
    assert sum(section.solved for section in sections) == 2
    assert sum(section.total for section in sections) == sum(len(one.path) for one in catalog.topics)
    assert all(section.title for section in sections)
    ticks = [tick for section in chapter_ticks(catalog, [topic.id]) for tick in section.ticks]
    assert [name for name, _, is_known in ticks if is_known] == [topic.id]
    assert [section.title for section in chapter_ticks(catalog, [])] == [section.title for section in sections]


def test_a_route_is_one_of_three_and_none_is_all_chapters(catalog: Catalog) -> None:
    assert topics_on(catalog, "") == catalog.topics
    for name in ("train", "serve", "cluster"):
        assert {topic.id for topic in topics_on(catalog, name)} == {t.id for t in catalog.topics if name in t.routes}
    with pytest.raises(NotFoundError, match="no route is called 'trains'; did you mean 'train'"):
        topics_on(catalog, "trains")
    assert [known_route(name) for name in ("train", "trains", "")] == ["train", "", ""]
    only = replace(catalog, topics=tuple(topic for topic in catalog.topics if "serve" not in topic.routes))
    assert [link.href for link in route_links(only, "/x")] == ["/x?route=train", "/x?route=cluster"]


def cookies(text: str = "", query: str = "") -> Request:
    headers = [(b"cookie", text.encode())] if text else []
    return Request({"type": "http", "method": "GET", "headers": headers, "query_string": query.encode()})


@each(
    ("cookie", "query", "seed"),
    [
        ("", "", 0),
        ("chapter-your-cluster=7", "", 7),
        ("chapter-your-cluster=x", "", 0),
        ("chapter-your-cluster=-1", "", 0),
        ("chapter-other=7", "", 0),
        ("chapter-your-cluster=7", "seed=9", 9),
        ("chapter-your-cluster=7", "seed=", 7),
    ],
)
def test_the_seed_of_a_chapter_is_in_the_address_or_kept(catalog: Catalog, cookie: str, query: str, seed: int) -> None:
    topic = catalog.topic("your-cluster")
    assert seed_here(topic, cookies(cookie, query)) == seed
    assert seed_here(catalog.topics[0], cookies(cookie, query)) == 0, "it has no numbers to set"
    if not query:
        assert kept_seed(cookies(cookie), "your-cluster") == seed


def test_a_seed_in_the_address_that_is_none_is_not_found(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        seed_here(catalog.topic("your-cluster"), cookies("", "seed=x"))


def test_a_route_is_started_or_left() -> None:
    for route, kept in (("serve", "route=serve"), ("none", 'route=""'), ("", 'route=""')):
        response = asyncio.run(start_route(_asked(), route))
        assert (response.status_code, response.headers["location"]) == (303, "/")
        assert response.headers["set-cookie"].startswith(kept)


def _asked() -> Request:
    return Request({"type": "http", "method": "GET", "headers": [], "scheme": "http", "server": ("a", 80), "path": "/"})


def text_of(site: Site, url: str, prefix: str = "") -> str:
    settings = site.settings.model_copy(update={"url": url, "root_path": prefix})
    return bytes(asyncio.run(robots(replace(site, settings=settings))).body).decode()


def test_robots_are_told_what_is_private_and_where_the_list_is(site: Site) -> None:
    lines = text_of(site, "https://example.org/w").splitlines()
    assert lines[0] == "User-agent: *"
    assert {"Disallow: /w/me/", "Disallow: /w/me$", "Disallow: /w/api/v1/", "Disallow: /w/classes"} <= set(lines)
    assert lines[-1] == "Sitemap: https://example.org/w/sitemap.xml"
    assert "Sitemap" not in text_of(site, "")
    assert "Disallow: /v/search" in text_of(site, "", "/v").splitlines()


def test_a_list_of_pages_has_whole_addresses_of_all_that_is_the_same_for_everyone(site: Site) -> None:
    settings = site.settings.model_copy(update={"url": "https://example.org/w"})
    text = bytes(asyncio.run(sitemap(replace(site, settings=settings))).body).decode()
    paths = list(public_paths(site))
    assert text.count("<loc>https://example.org/w/") == len(paths) == len(set(paths))
    assert {"/", "/chapters/collectives", "/exercises/collectives/ring-all-reduce-time", "/labs/all-reduce"} <= set(
        paths
    )
    assert not any(path.startswith(("/me/", "/classes", "/search")) for path in paths)
    with pytest.raises(NotFoundError, match="set WALLCLOCK_URL"):
        asyncio.run(sitemap(replace(site, settings=site.settings.model_copy(update={"url": ""}))))
