"""Sign-in with a provider that does less: no PKCE, and no issuer in its answers."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.server.config import Settings
from tests.client import Client
from tests.federation.provider import signed_in_there, simple_provider

HERE = "http://testserver"
BACK = f"{HERE}/sign-in/back"
pytestmark = pytest.mark.slow(4)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with simple_provider() as issuer:
        settings = Settings(
            database=f"sqlite:///{tmp_path_factory.mktemp('simple') / 'w.db'}",
            sandbox_workers=1,
            address=HERE,
            oidc=f"Small Campus={issuer},any,any",
            private_hosts=frozenset({"localhost"}),
        )
        with Client(create_app(settings), follow_redirects=False) as client:
            yield client


def there(browser: TestClient, login: str, *, cancel: bool = False) -> str:
    begun = browser.get("/sign-in/small-campus")
    assert begun.status_code == 303, begun.text
    came = signed_in_there(begun.headers["location"], BACK, login, cancel=cancel)
    return came.removeprefix(HERE)


def test_a_sign_in_is_the_same_person_each_time_and_a_replay_nobody(browser: TestClient) -> None:
    path = there(browser, "mina")
    flight = browser.cookies["flight"]
    assert browser.get(path).headers["location"] == "/sign-in/name"
    browser.post("/sign-in/name", data={"name": "Mina"})
    browser.cookies.clear()
    assert browser.get(there(browser, "mina")).headers["location"] == "/me"
    assert "Mina" in browser.get("/me").text
    browser.cookies.clear()
    browser.cookies.set("flight", flight, path="/sign-in")
    again = browser.get(path)
    assert (again.status_code, "session" in browser.cookies) == (400, False)


def test_a_code_of_another_sign_in_is_refused_by_its_nonce(browser: TestClient) -> None:
    browser.cookies.clear()
    stolen = parse_qs(urlsplit(there(browser, "noor")).query)["code"][0]
    browser.cookies.clear()
    page = browser.get(re.sub(r"code=[^&]+", f"code={stolen}", there(browser, "ben")))
    assert (page.status_code, "session" in browser.cookies) == (400, False)


def test_a_sign_in_that_was_canceled_signs_nobody_in(browser: TestClient) -> None:
    browser.cookies.clear()
    page = browser.get(there(browser, "mina", cancel=True))
    assert page.status_code == 400  # an earlier version of this provider leaves out the state
    assert any(says in page.text for says in ("sign in again", "was canceled"))
    assert "session" not in browser.cookies
