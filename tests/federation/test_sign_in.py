"""Sign-in with a provider that we did not write."""

import asyncio
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.classes.federation.http_client import Outgoing
from app.classes.federation.oidc import Flight, Identity, ProviderReturn, SignIns
from app.classes.federation.providers import Provider
from app.classes.federation.tokens import KeySets
from app.classes.members import site_members
from app.classes.people.classes import create_class, join_code_of, number_of
from app.classes.people.persons import new_person, open_browser
from app.core.errors import UnavailableError
from app.main import create_app
from app.server.config import Settings
from app.server.db.people import IdentityRow
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.client import Client
from tests.each import each
from tests.federation.provider import CLIENT, SECRET, provider, signed_in_there
from tests.needs import need

HERE = "http://testserver"
BACK = f"{HERE}/sign-in/back"
pytestmark = pytest.mark.slow(8)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider(BACK) as found:
        yield found


@pytest.fixture(scope="module")
def made(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("oidc")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}",
        sandbox_workers=1,
        address=HERE,
        oidc=f"Example Campus={issuer},{CLIENT},{SECRET}",
        private_hosts=frozenset({"localhost"}),
    )
    with Client(create_app(settings), follow_redirects=False) as client:
        yield client


@pytest.fixture
def certified() -> None:
    """For what the simpler provider, which is there without Node, does not do."""
    need("node")


@pytest.fixture
def browser(made: TestClient) -> TestClient:
    made.cookies.clear()
    return made


@pytest.fixture
def site(made: TestClient) -> Site:
    found = made.app.state.site  # type: ignore[attr-defined]
    assert isinstance(found, Site)
    return found


def person_called(site: Site, issuer: str, login: str) -> int | None:
    """The number of the person with an identity."""
    with open_session(site.engine) as session:
        row = session.get(IdentityRow, (issuer, login))
    return row.person if row else None


def there(browser: TestClient, query: str = "", login: str = "mina", *, cancel: bool = False) -> str:
    """The path with which the provider sends *browser* back."""
    begun = browser.get(f"/sign-in/example-campus{query}")
    assert begun.status_code == 303, begun.text
    found = signed_in_there(begun.headers["location"], BACK, login, cancel=cancel)
    return found.removeprefix(HERE)


def why(page: Response) -> str:
    found = re.search(r'id="why">([^<]*)<', page.text)
    assert page.status_code == 400
    assert found, page.text
    assert not [value for value in page.headers.get_list("set-cookie") if "session=" in value]
    return found[1]


def test_the_page_for_signing_in_lists_the_provider(browser: TestClient) -> None:
    page = browser.get("/sign-in?next=/progress")
    assert (
        '<a class="button" href="/sign-in/example-campus?next=%2Fprogress">Sign in with Example Campus</a>' in page.text
    )


def test_a_link_to_a_class_offers_the_provider_and_is_not_lost_on_the_way(browser: TestClient, site: Site) -> None:
    with open_writing_session(site.engine) as session:
        code = join_code_of(site.secret, create_class(session, site.secret, "Systems"))
        session.commit()
    way = f'href="/sign-in/example-campus?next=%2Fjoin%2F{code}"'
    assert way in browser.get(f"/join/{code}").text
    assert way in browser.get(f"/sign-in?join={code}").text
    page = browser.get(there(browser, f"?next=/join/{code}", "ida"))
    assert page.headers["location"] == f"/sign-in/name?next=%2Fjoin%2F{code}"
    named = browser.post("/sign-in/name", data={"name": "Ida", "next": f"/join/{code}"})
    assert named.headers["location"] == f"/join/{code}"
    shown = browser.get(f"/join/{code}").text
    assert "You are signed in as <b>Ida</b>" in shown
    assert "Sign in with Example Campus" not in shown
    browser.post(f"/join/{code}")
    assert "Systems" in browser.get("/me").text


def test_a_first_sign_in_asks_for_a_name_and_leads_back(browser: TestClient, site: Site, issuer: str) -> None:
    page = browser.get(there(browser, "?next=/progress%3Fa=1%26b=2", "noor"))
    assert page.status_code == 303
    assert page.headers["location"] == "/sign-in/name?next=%2Fprogress%3Fa%3D1%26b%3D2"
    assert "flight" not in browser.cookies
    form = browser.get(page.headers["location"])
    assert 'name="next" value="/progress?a=1&amp;b=2"' in form.text
    assert browser.post("/sign-in/name", data={"name": " ", "next": "/progress"}).status_code == 422
    stored = browser.post("/sign-in/name", data={"name": "Noor  A.", "next": "/progress?a=1&b=2"})
    assert (stored.status_code, stored.headers["location"]) == (303, "/progress?a=1&b=2")
    assert person_called(site, issuer, "noor") is not None
    browser.cookies.clear()
    again = browser.get(there(browser, "?next=/progress", "noor"))
    assert again.headers["location"] == "/progress"  # it is asked once
    assert "Noor A." in browser.get("/me").text


def test_the_request_has_what_protects_it(browser: TestClient) -> None:
    begun = browser.get("/sign-in/example-campus?other=true")
    query = parse_qs(urlsplit(begun.headers["location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["scope"] == ["openid"]
    assert query["prompt"] == ["login"]
    assert len({query[name][0] for name in ("state", "nonce", "code_challenge")}) == 3
    (cookie,) = (value for value in begun.headers.get_list("set-cookie") if "flight" in value)
    assert re.search(r"HttpOnly; Max-Age=600; Path=/sign-in; SameSite=lax", cookie)
    assert begun.headers["cache-control"] == "no-store"


def test_the_answer_to_another_browser_is_refused(browser: TestClient) -> None:
    path = there(browser)
    browser.cookies.clear()
    assert "did not begin in this browser" in why(browser.get(path))


def test_the_same_answer_a_second_time_is_refused(browser: TestClient) -> None:
    path = there(browser)
    flight = browser.cookies["flight"]
    assert browser.get(path).status_code == 303
    assert "did not begin" in why(browser.get(path))
    browser.cookies.set("flight", flight, path="/sign-in")
    assert "did not accept the code" in why(browser.get(path))


@pytest.mark.parametrize("next_page", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:1"])
def test_a_sign_in_leads_to_this_site_alone(browser: TestClient, next_page: str) -> None:
    browser.get(there(browser, login="ben"))
    browser.post("/sign-in/name", data={"name": "Ben"})
    browser.cookies.clear()
    begun = browser.get("/sign-in/example-campus", params={"next": next_page})
    path = signed_in_there(begun.headers["location"], BACK, "ben").removeprefix(HERE)
    assert browser.get(path).headers["location"] == "/me"


def test_a_changed_state_is_refused(browser: TestClient) -> None:
    path = re.sub(r"state=[^&]+", "state=%C3%A4ther", there(browser))
    assert "another tab" in why(browser.get(path))


@pytest.mark.usefixtures("certified")
@pytest.mark.parametrize("replaced", ["iss=https%3A%2F%2Fevil.example", "x=y"])
def test_the_answer_of_another_issuer_is_refused(browser: TestClient, replaced: str) -> None:
    path = re.sub(r"iss=[^&]+", replaced, there(browser))
    assert "another issuer" in why(browser.get(path))


@pytest.mark.usefixtures("certified")
def test_the_code_of_another_sign_in_is_refused(browser: TestClient) -> None:
    """PKCE: a code that was stolen is worth nothing in another browser."""
    stolen = re.search(r"code=([^&]+)", there(browser))
    assert stolen
    path = re.sub(r"code=[^&]+", f"code={stolen[1]}", there(browser))
    assert "did not accept the code" in why(browser.get(path))


@pytest.mark.usefixtures("certified")
def test_a_sign_in_that_was_canceled_is_said_so_and_leads_back(browser: TestClient) -> None:
    page = browser.get(there(browser, "?next=/progress", cancel=True))
    assert why(page) == "The sign-in at Example Campus was canceled."
    assert 'href="/sign-in?next=%2Fprogress"' in page.text


def test_an_expired_or_forged_cookie_is_refused(browser: TestClient) -> None:
    path = there(browser)
    for cookie in ("x", browser.cookies["flight"] + "x", ""):
        browser.cookies.clear()
        browser.cookies.set("flight", cookie, path="/sign-in")
        assert "did not begin in this browser" in why(browser.get(path))


def signed_in_by_hand(browser: TestClient, site: Site, name: str) -> int:
    """A new person who joined by a link, and whose session *browser* has."""
    with open_session(site.engine) as session:
        row = new_person(session, name)
        cookie = open_browser(session, number_of(row))
        session.commit()
    browser.cookies.clear()
    browser.cookies.set("session", cookie)
    return number_of(row)


@pytest.mark.parametrize("mine", ["yes", "no"])
def test_a_person_is_asked_whether_a_new_account_is_theirs_too(
    browser: TestClient, site: Site, issuer: str, mine: str
) -> None:
    login = f"{mine}-login"
    ada = signed_in_by_hand(browser, site, "Ada")
    assert "Example Campus: not connected." in browser.get("/me").text
    page = browser.get(there(browser, "?next=/final", login))
    assert page.headers["location"] == "/sign-in/connect"
    assert person_called(site, issuer, login) is None
    shown = browser.get("/sign-in/connect").text
    assert "your account at Example Campus" in shown
    assert "signed in as Ada" in shown
    after = browser.post("/sign-in/connect", data={"mine": mine}).headers["location"]
    assert after == ("/final" if mine == "yes" else "/sign-in/name?next=%2Ffinal")
    assert (person_called(site, issuer, login) == ada) is (mine == "yes")
    assert "Example Campus: it signs you in here." in browser.get("/me").text
    assert browser.post("/sign-in/connect", data={"mine": mine}).status_code == 400  # asked once


def test_a_person_with_an_account_is_not_asked_about_another(browser: TestClient, site: Site, issuer: str) -> None:
    browser.get(there(browser, login="max"))
    earlier = browser.cookies["session"]
    page = browser.get(there(browser, login="eve"))
    assert page.headers["location"] == "/sign-in/name"
    assert person_called(site, issuer, "eve") != person_called(site, issuer, "max")
    assert site_members(site).sessions.find(earlier) is None  # who leaves a browser to another is signed out


def test_a_question_that_waits_is_about_the_one_who_was_asked(browser: TestClient, site: Site, issuer: str) -> None:
    """Two tabs: in the other one, another person has signed in meanwhile."""
    mina = signed_in_by_hand(browser, site, "Mina")
    browser.get(there(browser, login="kim"))
    asked = browser.cookies["identity"]
    ben = signed_in_by_hand(browser, site, "Ben")
    browser.cookies.set("identity", asked, path="/sign-in")
    assert browser.post("/sign-in/connect", data={"mine": "yes"}).status_code == 303
    assert person_called(site, issuer, "kim") not in (None, mina, ben)


def test_an_identity_is_one_person_however_often_it_signs_in(browser: TestClient, site: Site, issuer: str) -> None:
    found = set()
    for _ in range(2):
        browser.cookies.clear()
        browser.get(there(browser, login="lee"))
        found.add(person_called(site, issuer, "lee"))
    assert len(found - {None}) == 1


@pytest.mark.usefixtures("certified")
@each(
    ("client", "secret", "right"),
    [
        ("posting", "not so secret", True),
        ("public", "", True),
        ("wall clock", SECRET, True),
        ("wall clock", "wrong", False),
    ],
)
def test_every_way_in_which_a_client_proves_itself(issuer: str, client: str, secret: str, right: bool) -> None:
    campus = Provider("campus", "Campus", issuer, client, secret)
    outgoing = Outgoing({"localhost"})
    sign_ins = SignIns(outgoing, KeySets(outgoing), frozenset({"localhost"}))

    async def flow() -> Identity:
        flight = Flight.begin("campus", "/")
        address = await sign_ins.begin(campus, flight, BACK, afresh=False)
        came = await asyncio.to_thread(signed_in_there, address, BACK)
        query = {name: values[0] for name, values in parse_qs(urlsplit(came).query).items()}
        returned = ProviderReturn(state=query["state"], code=query["code"], issuer=query["iss"])
        return await sign_ins.end(campus, flight, returned, BACK)

    async def twice() -> list[Identity]:
        return [await flow(), await flow()]

    if right:
        assert asyncio.run(twice()) == [Identity(issuer, "mina")] * 2
    else:
        with pytest.raises(UnavailableError, match="Campus answered 401 to this server"):
            asyncio.run(flow())
