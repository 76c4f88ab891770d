"""Every page that was written is served, and served once."""

from importlib import import_module
from pkgutil import walk_packages
from urllib.parse import urlsplit

from fastapi.routing import APIRoute

from app.site import web
from app.site.web import PARTS
from app.site.web.frame.static import FORMER
from tests.pages import EVERY

# What a browser downloads, or is sent on from.
FILES = (
    *FORMER,
    "/exercises/{topic}/{slug}/another", "/exercises/{topic}/{slug}/schedule.svg", "/explore/{name}/{number}.{form}",
    "/labs/{name}/{run}/samples.json", "/labs/{name}/{run}/{number}.{form}", "/progress/export", "/static/{name:path}",
    "/trust/{number}.{form}", "/measured/{name}/{number}.{form}", "/robots.txt", "/sitemap.xml", "/favicon.ico",
    "/images/{chapter}/{name}", "/chapters/{name}/practice",
    "/route",
    "/lti/canvas.json", "/lti/jwks", "/lti/login",
)  # fmt: skip
# Pages of a class open for its members only: tests of their own walk them.
OF_A_CLASS = ("/classes/", "/assignments/", "/me", "/join/")
# Pages that need a link of a platform, or a session: tests/federation/lti opens them.
LINKED = ("/lti/register", "/classes/{class_id}/platform")
# Steps of a sign-in, each of which needs the one before it.
SIGN_IN = ("/sign-in/back", "/sign-in/proxy", "/sign-in/name", "/sign-in/connect", "/sign-in/{provider}")
# Addresses that lead on, and results, which tests/web/course opens.
OF_ASSESSMENTS = tuple(
    f"/{one}{rest}" for one in ("placement", "final") for rest in ("/begin", "/{draw}", "/{draw}/next")
)


def test_every_module_with_a_router_is_a_part_of_the_site_once() -> None:
    modules = (import_module(found.name) for found in walk_packages(web.__path__, "app.site.web."))
    written = sorted(module.__name__ for module in modules if hasattr(module, "router"))
    assert sorted(part.name for part in PARTS) == written


def test_no_address_is_registered_twice() -> None:
    routes = [
        (method, route.path)
        for part in PARTS
        for route in part.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]
    assert len(routes) > 20
    assert sorted(set(routes)) == sorted(routes)


def test_every_page_is_on_the_list_that_tests_look_at() -> None:
    paths = [urlsplit(address).path for address in EVERY]
    routes = [r for part in PARTS for r in part.router.routes if isinstance(r, APIRoute)]
    known = (*FILES, *LINKED, *SIGN_IN, *OF_ASSESSMENTS)
    pages = [r for r in routes if "GET" in (r.methods or ()) and r.path not in known]
    pages = [r for r in pages if not r.path.startswith(OF_A_CLASS)]
    assert len(pages) > 15
    assert [r.path for r in pages if not any(r.path_regex.match(path) for path in paths)] == []


def test_a_link_of_an_exercise_may_lead_to_every_page_with_one_address() -> None:
    assert {"/", "/explore", "/api/docs", "/docs", "/docs/settings"} <= web.fixed_addresses()
    assert not [address for address in web.fixed_addresses() if "{" in address]
