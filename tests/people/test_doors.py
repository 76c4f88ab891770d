"""No page of another site signs a visitor in: what stands in its way, at each door.

| door | what another site's page lacks |
|---|---|
| `POST /sign-in`, a seat code | an Origin of ours |
| `POST /join/CODE`, a link of a class | an Origin of ours; its GET signs nobody in |
| `GET /sign-in/NAME`, the begin with a provider | the press of the button on our page |
| `GET /sign-in/back`, the answer of a provider | the cookie of the browser that began, with its state |
| `GET /sign-in/{provider}` | the press of the button on our page |
| `POST /sign-in/connect`, `/sign-in/name`, `/me/claim` | an Origin of ours |
| `POST /lti/launch` | the cookie of the browser that began, or what our page has asked for |
| `POST /lti/open`, a ticket | an Origin of ours |

The doors of LTI and of providers are tried in tests/federation, too.
"""

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException
from starlette.routing import Route

from app.main import create_app
from app.server.config import Settings
from app.site import Site
from app.site.web.frame.visitor import COOKIE, SESSION, from_here
from tests.client import Client
from tests.each import each
from tests.people.school import School
from tests.web.test_progress import words

# Platforms send these from their own pages; tests/federation/lti/test_doors.py says what holds them.
OF_PLATFORMS = ("/lti/login", "/lti/launch")
FOREIGN = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://testserver.evil.example"},
    {"Origin": "https://testserver@evil.example"},
    {"Origin": "http://testserver:81"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


@pytest.fixture
def school(site: Site) -> School:
    return School(site)


def taken(url: str, host: str, scheme: str = "http", **headers: str) -> bool:
    """Whether a site at *url* takes a form that a proxy passes on as for *scheme* and *host*."""
    app = FastAPI()
    app.state.site = _site_at(url)
    sent = [(b"host", host.encode())]
    sent += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "app": app, "headers": sent, "scheme": scheme, "path": "/"}
    coroutine = from_here(Request(scope))
    try:
        coroutine.send(None)
    except StopIteration:
        return True
    except HTTPException:
        return False
    raise AssertionError("it waits for something")


def _site_at(url: str) -> Site:
    """A site of which only its settings are there."""
    site = object.__new__(Site)
    object.__setattr__(site, "settings", Settings(url=url))
    return site


def test_an_origin_that_is_ours_is_enough_whatever_else_the_browser_says() -> None:
    """Safari, where our page is in a frame of another site."""
    for sender in ("cross-site", "same-site", "same-origin", "none"):
        ours = {"origin": "https://here.example", "sec_fetch_site": sender}
        assert taken("https://here.example", "here.example", "https", **ours)
        assert taken("https://here.example", "127.0.0.1:8000", **ours)
        assert taken("", "here.example", **ours)


@each(
    ("url", "host", "scheme", "origin"),
    [
        ("https://here.example", "here.example", "https", "http://here.example"),
        ("https://here.example", "here.example", "http", "http://here.example"),
        ("", "here.example", "https", "http://here.example"),
        ("https://here.example", "here.example", "https", "https://here.example:444"),
        ("https://here.example", "here.example", "https", "https://sub.here.example"),
        ("https://here.example", "here.example", "https", "null"),
        ("https://here.example", "here.example", "https", "https://["),
        ("", "", "http", "file://"),
    ],
)
def test_a_page_that_others_can_write_is_not_ours(url: str, host: str, scheme: str, origin: str) -> None:
    assert not taken(url, host, scheme, origin=origin)
    assert not taken(url, host, scheme, origin=origin, sec_fetch_site="same-origin")


def test_every_form_of_another_site_is_refused(client: TestClient, school: School) -> None:
    _, cookie, _ = school.member("Grace")
    assert isinstance(client.app, FastAPI)
    client.app.state.routes.install_all()
    routes = [r for r in client.app.routes if isinstance(r, Route) and "POST" in (r.methods or ())]
    paths = sorted({r.path for r in routes if not r.path.startswith("/api/")} - {*OF_PLATFORMS})
    assert len(paths) > 50
    for path in paths:
        for headers in FOREIGN:
            client.cookies.set(SESSION, cookie)
            address = re.sub(r"\{\w+(:\w+)?\}", "1", path)
            answer = client.post(address, data={"name": "x"}, headers=headers)
            assert answer.status_code == 403, (path, headers)
            assert "set-cookie" not in answer.headers, path


def test_a_seat_code_that_another_site_sends_signs_nobody_in(client: TestClient, school: School) -> None:
    _, _, code = school.member("Mallory")
    for headers in FOREIGN:
        sent = client.post("/sign-in", data={"code": code, "join": school.code}, headers=headers)
        assert (sent.status_code, SESSION in sent.cookies) == (403, False)
    assert client.post("/sign-in", data={"code": code}).status_code == 303


def test_a_link_of_a_class_joins_nobody_before_a_press_on_our_page(client: TestClient, school: School) -> None:
    for headers in FOREIGN:
        followed = client.get(f"/join/{school.code}", headers=headers)
        assert (followed.status_code, "set-cookie" in followed.headers) == (200, False)
        sent = client.post(f"/join/{school.code}", data={"name": "Victim"}, headers=headers)
        assert (sent.status_code, SESSION in sent.cookies) == (403, False)


def test_work_of_this_browser_becomes_nobodys_by_a_form_of_another_site(client: TestClient, school: School) -> None:
    address = "/exercises/collectives/ring-all-reduce-time"
    client.post(address, data={"answer": "1 s"})
    learner = client.cookies[COOKIE]
    school.student(client)
    client.cookies.set(COOKIE, learner)
    for headers in FOREIGN:
        sent = client.post("/me/claim", data={"mine": "yes"}, headers=headers)
        assert sent.status_code == 403
    assert "set-cookie" not in client.get("/me/claim", headers=FOREIGN[0]).headers


@pytest.fixture(scope="module")
def campus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(
        database=f"sqlite:///{tmp_path_factory.mktemp('doors') / 'w.db'}",
        sandbox_workers=1,
        url="http://testserver",
        oidc="Campus=https://idp.example,client,secret",
    )
    with Client(create_app(settings), follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize("sender", ["cross-site", "same-site"])
def test_a_page_of_another_site_begins_no_sign_in(campus: TestClient, sender: str) -> None:
    campus.cookies.clear()
    address = "/sign-in/campus?next=/progress&other=true"
    led = campus.get(address, headers={"Sec-Fetch-Site": sender})
    assert (led.status_code, "set-cookie" in led.headers, "location" in led.headers) == (400, False, False)
    assert "A page of another site has led you here" in words(led.text)
    assert f'href="{address.replace("&", "&amp;")}"' in led.text, "one press goes on"
