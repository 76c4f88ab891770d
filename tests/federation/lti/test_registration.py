"""A platform that registers by itself, and the pages of platforms."""

import builtins
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.responses import Response

from app.classes.federation.lti.platforms import deployments, new_registration, platform_for, platforms
from app.classes.federation.lti.tool import PLACEMENTS, hosts_issuer
from app.classes.members import site_members
from app.core.errors import RefusedError
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.each import each
from tests.federation.lti.fake_platform import FakePlatform, fake_platform
from tests.federation.lti.launches import fields
from tests.federation.lti.serving import Service, served
from tests.waiting import HANGS


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("registering")) as made:
        yield made


@pytest.fixture(scope="module")
def lms() -> Iterator[FakePlatform]:
    with fake_platform() as made:
        yield made


def link(service: Service, name: str) -> str:
    with open_writing_session(service.site.engine) as session:
        code = new_registration(session, name)
        session.commit()
    return f"/lti/register?code={code}"


def get(service: Service, path: str) -> httpx2.Response:
    return httpx2.get(service.url + path, trust_env=False, timeout=HANGS)


def post(service: Service, path: str, data: dict[str, str]) -> httpx2.Response:
    return httpx2.post(service.url + path, data=data, trust_env=False, timeout=HANGS)


def test_a_platform_registers_once_and_waits_for_an_operator(service: Service, lms: FakePlatform) -> None:
    address = f"{link(service, 'Campus')}&openid_configuration={lms.url}/config&registration_token=t"
    page = get(service, address)
    assert f"frame-ancestors {lms.url};" in page.headers["content-security-policy"]
    asked = fields(page.text)
    done = post(service, "/lti/register", asked)
    assert done.status_code == 200
    assert "wallclock platform allow Campus" in done.text
    for answer in (page, done):  # a window that the platform has opened tells it when to close it
        assert answer.headers["cross-origin-opener-policy"] == "unsafe-none"
    bearer, told = lms.registered
    assert bearer == "Bearer t"
    assert told["redirect_uris"] == [f"{service.url}/lti/launch"]
    assert told["initiate_login_uri"] == f"{service.url}/lti/login"
    assert told["token_endpoint_auth_method"] == "private_key_jwt"
    with open_session(service.site.engine) as session:
        (made,) = platforms(session)
        assert (made.client_id, made.active, deployments(session, made)) == ("given", False, ["7"])
        with pytest.raises(RefusedError, match="is not active yet"):
            platform_for(session, lms.url)
    login = get(service, f"/lti/login?iss={lms.url}&login_hint=1")
    assert "wallclock platform allow &#39;Campus&#39;" in login.text
    for again in (post(service, "/lti/register", asked), get(service, address)):
        assert again.status_code == 400
        assert "used already" in again.text


@each(
    ("about", "odd", "says"),
    [
        ({"issuer": "https://elsewhere.example"}, None, "is that of another issuer"),
        ({"registration_endpoint": ""}, None, "has no registration_endpoint"),
        ({"jwks_uri": "http://10.0.0.1/keys"}, None, "must begin with https://"),
        ({"token_endpoint": "https://10.0.0.1/token"}, None, "has the private address 10.0.0.1"),
        ({}, Response("no", 403), "refuses the registration: 403 (no)"),
        ({}, Response("[]", 200), "without a JSON object"),
        ({}, Response("{}", 200), "has no client_id"),
    ],
)
def test_a_registration_that_goes_wrong_says_why_and_leaves_the_link(
    service: Service, lms: FakePlatform, about: dict[str, str], odd: Response | None, says: str
) -> None:
    address = f"{link(service, 'Other')}&openid_configuration={lms.url}/config"
    lms.about, lms.odd = about, lambda name: odd
    done = post(service, "/lti/register", fields(get(service, address).text))
    lms.about, lms.odd = {}, lambda name: None
    assert done.status_code in (400, 503)
    assert says in done.text
    assert get(service, address).status_code == 200
    with open_session(service.site.engine) as session:
        assert "Other" not in [one.name for one in platforms(session)]


def test_a_registration_link_in_a_browser_says_where_to_enter_it(service: Service) -> None:
    page = get(service, link(service, "By hand"))
    assert page.status_code == 400
    assert "enter it there as the registration address of a new tool" in page.text


def test_a_site_without_https_says_what_to_set(client: TestClient, site: Site) -> None:
    page = client.get("/lti")
    assert page.status_code == 200
    assert "LTI needs https" in page.text
    login = client.get("/lti/login?iss=https://lms.example&login_hint=1")
    assert login.status_code in (400, 503)


def test_without_the_extra_the_pages_say_what_to_install(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(vars(site_members(site).federation), "tool", raising=False)
    real = builtins.__import__

    def lacking(name: str, *rest: Any, **more: Any) -> Any:
        if name == "app.classes.federation.lti.tool":
            raise ModuleNotFoundError("No module named 'joserfc'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    assert "install wallclock[people]" in client.get("/lti").text
    for page in (client.get("/lti/jwks"), client.get("/lti/login"), client.post("/lti/launch")):
        assert page.status_code in (400, 503)
    assert "install wallclock[people]" in client.get("/lti/login").text


def test_our_key_set_has_two_public_keys(service: Service) -> None:
    keys = get(service, "/lti/jwks").json()["keys"]
    assert [(key["kty"], key["use"], key["alg"], "d" in key) for key in keys] == [("RSA", "sig", "RS256", False)] * 2
    assert get(service, "/lti/jwks").json()["keys"] == keys


def test_canvas_is_told_where_graded_assignments_are_made(service: Service) -> None:
    with fake_platform() as canvas:
        canvas.about = {"https://purl.imsglobal.org/spec/lti-platform-configuration": {"product_family_code": "canvas"}}
        address = f"{link(service, 'Canvas')}&openid_configuration={canvas.url}/config"
        done = post(service, "/lti/register", fields(get(service, address).text))
        assert done.status_code == 200
        tool = canvas.registered[1]["https://purl.imsglobal.org/spec/lti-tool-configuration"]
    choosing = tool["messages"][0]
    assert choosing["type"] == "LtiDeepLinkingRequest"
    assert "https://canvas.instructure.com/lti/assignment_selection" in choosing["placements"]
    assert tool["https://canvas.instructure.com/lti/privacy_level"] == "name_only"


def test_the_file_for_canvas_has_the_addresses_and_the_places(service: Service) -> None:
    told = get(service, "/lti/canvas.json").json()
    (canvas,) = told["extensions"]
    assert told["oidc_initiation_url"] == f"{service.url}/lti/login"
    assert told["public_jwk_url"] == f"{service.url}/lti/jwks"
    assert [one["placement"] for one in canvas["settings"]["placements"]] == list(PLACEMENTS)
    assert get(service, "/lti/jwks").status_code == 200


@each(
    ("issuer", "configuration", "right"),
    [
        ("https://canvas.instructure.com", "https://sso.canvaslms.com/api/lti/x", True),
        ("https://canvas.beta.instructure.com", "https://uni.beta.instructure.com/api", True),
        ("https://canvas.instructure.com", "http://sso.canvaslms.com/api/lti/x", False),
        ("https://canvas.instructure.com", "https://evil-canvaslms.com/api", False),
        ("https://canvas.instructure.com.evil.example", "https://sso.canvaslms.com/", False),
        ("https://moodle.example", "https://sso.canvaslms.com/", False),
    ],
)
def test_canvas_alone_describes_itself_elsewhere(issuer: str, configuration: str, right: bool) -> None:
    assert hosts_issuer(issuer, configuration) is right
