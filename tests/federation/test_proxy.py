"""A visitor whom a proxy in front of the server has signed in."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi.testclient import TestClient
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.classes.federation.identities import Identities, ProxyHeader
from app.classes.people.classes import number_of
from app.classes.people.persons import new_person, open_browser
from app.main import create_app
from app.server.config import Settings
from app.server.db.session import open_session
from app.server.network.guard import GUARD, Connection, Guard, Limits
from app.site import Site
from tests.client import Client
from tests.each import each
from tests.sockets import HOST
from tests.waiting import HANGS

HEADER = "X-Remote-User"
PROXY = "192.0.2.7"


def header(proxies: str = f"127.0.0.1,{PROXY}", name: str = HEADER) -> ProxyHeader:
    return ProxyHeader(Settings(trusted_user_header=name, proxies=proxies))


def scope(*values: bytes, peer: str = PROXY, name: bytes = b"x-remote-user") -> dict[str, Any]:
    state = {"peer": peer} if peer else {}
    return {"headers": [(name, value) for value in values], "state": state}


@each(
    ("given", "subject"),
    [
        (scope(b"mina"), "mina"),
        (scope("zoë@example.org".encode()), "zoë@example.org"),
        (scope(b"mina", peer="127.0.0.1"), "mina"),
        (scope(b"mina", peer="192.0.2.8"), ""),
        (scope(b"mina", peer=""), ""),
        (scope(b"mina", peer="proxy"), ""),
        (scope(b"mina", b"ben"), ""),
        (scope(b"mina", b"mina"), ""),
        (scope(), ""),
        (scope(b" "), ""),
        (scope(b"\xff"), ""),
        (scope(b"a\x07b"), ""),
        (scope(b"x" * 256), ""),
        (scope(b"x" * 255), "x" * 255),
        (scope(b" mina\t"), "mina"),
        (scope(b"mina", name=b"x_remote_user"), ""),
    ],
)
def test_a_header_counts_from_a_proxy_alone_and_alone(given: dict[str, Any], subject: str) -> None:
    assert header().subject(given) == subject


def test_a_request_without_a_connection_is_from_no_proxy() -> None:
    assert header().subject({"headers": [(b"x-remote-user", b"mina")]}) == ""


def test_a_proxy_may_be_in_a_network() -> None:
    assert header("10.0.0.0/8").subject(scope(b"mina", peer="10.1.2.3")) == "mina"
    assert header("10.0.0.0/8").subject(scope(b"mina", peer="11.1.2.3")) == ""


def test_without_the_setting_no_header_counts() -> None:
    assert not header(name="")
    assert header(name="").subject(scope(b"mina")) == ""


@each("proxies", ["", "*", "127.0.0.1,*", "0.0.0.0/0", "::/0", "proxy.example"])
def test_a_header_that_any_visitor_could_send_is_refused_at_start(proxies: str) -> None:
    with pytest.raises(ValidationError, match="needs the addresses or networks of the proxies"):
        header(proxies)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, object]]:
    yield {GUARD: Guard(Limits(patience=5, each=9, all=9))}


async def who(request: Request) -> PlainTextResponse:
    assert request.client
    subject = header().subject(request.scope)
    return PlainTextResponse(f"{request.client.host} {request.scope['state']['peer']} {subject}")


def test_the_connection_of_a_proxy_is_known_behind_the_address_that_it_forwards() -> None:
    app = Starlette(routes=[Route("/", who)], lifespan=lifespan)
    config = uvicorn.Config(
        app, port=0, http=Connection, proxy_headers=True, forwarded_allow_ips="127.0.0.1", log_level="error"
    )
    server = uvicorn.Server(config)
    sent = {"X-Forwarded-For": "198.51.100.9", HEADER: "mina"}
    with socket.create_server((HOST, 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            url = f"http://{HOST}:{listening.getsockname()[1]}/"
            found = httpx2.get(url, headers=sent, timeout=HANGS).text
        finally:
            server.should_exit = True
            thread.join()
    assert found == "198.51.100.9 127.0.0.1 mina"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(
        database=f"sqlite:///{tmp_path_factory.mktemp('proxy') / 'w.db'}",
        sandbox_workers=1,
        trusted_user_header=HEADER,
        proxies=PROXY,
    )
    with Client(create_app(settings), follow_redirects=False) as client:
        yield client


@pytest.fixture
def browser(made: TestClient) -> TestClient:
    made.cookies.clear()
    made.app_state["peer"] = PROXY
    return made


def site_of(browser: TestClient) -> Site:
    found = browser.app.state.site  # type: ignore[attr-defined]
    assert isinstance(found, Site)
    return found


def test_the_one_whom_the_proxy_names_continues_with_a_press(browser: TestClient) -> None:
    named = {HEADER: "mina"}
    assert "Continue as mina" in browser.get("/sign-in", headers=named).text
    assert "session" not in browser.cookies  # nobody is signed in without a press
    page = browser.get("/sign-in/proxy?next=/progress", headers=named)
    assert page.headers["location"] == "/sign-in/name?next=%2Fprogress"
    browser.post("/sign-in/name", data={"name": "Mina"}, headers=named)
    assert "Mina" in browser.get("/me", headers=named).text


def test_another_connection_than_the_proxys_signs_in_nobody(browser: TestClient) -> None:
    browser.app_state["peer"] = "198.51.100.1"
    named = {HEADER: "mina"}
    assert "Continue as" not in browser.get("/sign-in", headers=named).text
    page = browser.get("/sign-in/proxy", headers=named)
    assert page.status_code == 404
    assert "session" not in browser.cookies


def test_a_session_ends_when_the_proxy_names_another_person(browser: TestClient) -> None:
    for name in ("ada", "ben"):
        browser.cookies.clear()
        browser.get("/sign-in/proxy", headers={HEADER: name})
    assert browser.get("/me", headers={HEADER: "ben"}).status_code == 200
    for path in ("/me", "/sign-in/name"):
        page = browser.get(path, headers={HEADER: "ada"})  # in the browser of ben
        assert page.status_code == 303
        assert page.headers["location"].startswith("/sign-in?")
    assert browser.get("/me").status_code == 200  # where the proxy says nothing, the session holds


def test_one_who_joined_by_a_link_may_connect_the_proxys_name(browser: TestClient) -> None:
    site = site_of(browser)
    with open_session(site.engine) as session:
        row = new_person(session, "Kim")
        cookie = open_browser(session, number_of(row))
        session.commit()
    browser.cookies.set("session", cookie)
    named = {HEADER: "kim.k"}
    assert browser.get("/me", headers=named).status_code == 200
    page = browser.get("/sign-in/proxy?next=/final", headers=named)
    assert page.headers["location"] == "/sign-in/connect"
    assert "kim.k" in browser.get("/sign-in/connect", headers=named).text
    page = browser.post("/sign-in/connect", data={"mine": "yes"}, headers=named)
    assert page.headers["location"] == "/final"
    assert Identities(site.engine).find("proxy", "kim.k") == row.id
