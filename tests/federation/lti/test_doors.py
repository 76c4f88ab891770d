"""Who may end a launch: the browser that began it, or one of which our own page has asked."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from joserfc import jwk, jwt

from app.classes.federation.lti.enrollment import enroll_launch, new_class, tie
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform, allow_deployment, register_platform
from app.server.db.session import open_session
from tests.federation.lti.fake_platform import FakePlatform, fake_platform
from tests.federation.lti.launches import fields
from tests.federation.lti.serving import Service, served

KEY = jwk.RSAKey.generate_key(2048, parameters={"kid": "k", "use": "sig"})
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


@pytest.fixture(scope="module")
def lms() -> Iterator[FakePlatform]:
    with fake_platform() as made:
        made.keys.append(KEY.as_dict(private=False))
        yield made


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, lms: FakePlatform) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("doors")) as made, open_session(made.site.engine) as session:
        url = lms.url
        row = register_platform(
            session,
            Platform(
                name="Campus",
                issuer=url,
                client_id="c",
                auth_url=f"{url}/auth",
                token_url=f"{url}/token",
                jwks_url=f"{url}/keys",
            ),
        )
        allow_deployment(session, row, "d")
        teacher = Launch(
            platform=row.id, deployment="d", subject="t", role="teacher", context="course", title="A course", link="r"
        )
        tie(session, teacher, new_class(session, made.site.secret, teacher, "UTC"))
        enroll_launch(session, teacher)
        session.commit()
        yield made


@dataclass(frozen=True)
class Begun:
    """A launch that a browser has begun: its cookie, and what comes back with the message."""

    cookie: tuple[str, str]
    state: str
    nonce: str


def begin(service: Service, lms: FakePlatform, *, storing: bool) -> Begun:
    query = {"iss": lms.url, "client_id": "c", "login_hint": "h", "target_link_uri": service.url}
    query |= {"lti_storage_target": "_parent"} if storing else {}
    page = httpx2.get(f"{service.url}/lti/login", params=query, trust_env=False)
    cookie = re.match(r"(lti_\w+)=([^;]+)", page.headers["set-cookie"])
    assert cookie
    there = re.search(r'data-next="([^"]+)"', page.text)
    address = unescape(there[1]) if there else page.headers["location"]
    sent = dict(parse_qsl(urlsplit(address).query))
    return Begun((cookie[1], cookie[2]), sent["state"], sent["nonce"])


def message(lms: FakePlatform, begun: Begun, service: Service, **changed: Any) -> str:
    now = int(time.time())
    claims = {
        "iss": lms.url,
        "aud": "c",
        "sub": "mallory",
        "iat": now,
        "exp": now + 300,
        "nonce": begun.nonce,
        CLAIM + "version": "1.3.0",
        CLAIM + "message_type": "LtiResourceLinkRequest",
        CLAIM + "deployment_id": "d",
        CLAIM + "target_link_uri": f"{service.url}/lti/launch",
        CLAIM + "roles": ["http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"],
        CLAIM + "context": {"id": "course", "title": "A course"},
        CLAIM + "resource_link": {"id": "r", "title": "Week 1"},
        **changed,
    }
    return jwt.encode({"alg": "RS256", "kid": "k"}, claims, KEY, algorithms=["RS256"])


def end(
    service: Service, begun: Begun, token: str, headers: dict[str, str], *, cookie: bool = False, **more: str
) -> httpx2.Response:
    sent = {"id_token": token, "state": begun.state, **more}
    held = {"Cookie": "=".join(begun.cookie)} if cookie else {}
    there = {"Sec-Fetch-Dest": "document", **held, **headers}
    return httpx2.post(f"{service.url}/lti/launch", data=sent, headers=there, trust_env=False)


def signs_in(answer: httpx2.Response) -> bool:
    return "session=" in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize("storing", [False, True])
@pytest.mark.parametrize(
    "headers", [EVIL, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
)
def test_what_another_site_says_was_kept_ends_no_launch(
    service: Service, lms: FakePlatform, storing: bool, headers: dict[str, str]
) -> None:
    """Mallory began it, and lets the browser of a victim end it."""
    begun = begin(service, lms, storing=storing)
    token = message(lms, begun, service)
    for kept in (begun.cookie[1], "-", ""):
        answer = end(service, begun, token, headers, kept=kept)
        assert not signs_in(answer)
        assert "/lti/open" not in answer.text
    assert signs_in(end(service, begun, token, EVIL, cookie=True)), "it was right, but not theirs"


@pytest.mark.parametrize("sender", ["same-origin", "cross-site"])  # Safari says so in a frame
def test_what_our_page_has_asked_the_platform_for_ends_a_launch(
    service: Service, lms: FakePlatform, sender: str
) -> None:
    begun = begin(service, lms, storing=True)
    token, here = message(lms, begun, service), {"Origin": service.url, "Sec-Fetch-Site": sender}
    asks = end(service, begun, token, {"Origin": lms.url, "Sec-Fetch-Site": "cross-site"})
    assert 'data-storing="get"' in asks.text
    assert not signs_in(end(service, begun, token, here, kept="-"))
    assert signs_in(end(service, begun, token, here, kept=begun.cookie[1]))


def test_where_nothing_was_stored_nothing_was_kept(service: Service, lms: FakePlatform) -> None:
    begun = begin(service, lms, storing=False)
    here = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
    answer = end(service, begun, message(lms, begun, service), here, kept=begun.cookie[1])
    assert (answer.status_code, signs_in(answer)) == (400, False)


@pytest.mark.parametrize("kept", ["", "-"])
def test_a_frame_that_stores_no_cookies_offers_a_window_and_refuses_nothing(
    service: Service, lms: FakePlatform, kept: str
) -> None:
    begun = begin(service, lms, storing=bool(kept))
    framed = {"Origin": service.url, "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-origin"}
    token = message(lms, begun, service)
    page = end(service, begun, token, framed, kept=kept)
    assert (page.status_code, signs_in(page)) == (200, False)
    assert "refused" not in page.text
    assert "stores no cookies for a page inside another page" in page.text
    assert page.text.count("<button") == 1
    assert 'action="/lti/login" target="_blank"' in page.text
    again = fields(page.text)
    assert again == {"iss": lms.url, "client_id": "c", "login_hint": "h"}
    assert f"form-action 'self' {lms.url};" in page.headers["content-security-policy"]
    login = httpx2.post(f"{service.url}/lti/login", data=again, trust_env=False)
    assert login.headers["location"].startswith(f"{lms.url}/auth?")


def test_a_launch_of_another_browser_is_refused_in_a_frame_and_in_a_window(service: Service, lms: FakePlatform) -> None:
    begun = begin(service, lms, storing=True)
    token, here = message(lms, begun, service), {"Origin": service.url}
    window, framed = {**here, "Sec-Fetch-Dest": "document"}, {**here, "Sec-Fetch-Dest": "iframe"}
    for headers, kept in ((window, "-"), (window, "another"), (framed, "another")):
        page = end(service, begun, token, headers, kept=kept)
        assert (page.status_code, signs_in(page)) == (400, False)
        assert "did not begin this launch" in page.text
    other = {**framed, "Cookie": f"{begun.cookie[0]}=another"}
    page = end(service, begun, token, other)
    assert (page.status_code, signs_in(page)) == (400, False)


def test_a_ticket_opens_a_window_from_our_page_alone(service: Service, lms: FakePlatform) -> None:
    begun = begin(service, lms, storing=False)
    framed = {"Origin": lms.url, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}
    page = end(service, begun, message(lms, begun, service), framed, cookie=True)
    ticket = fields(page.text)
    for headers in (EVIL, {"Origin": lms.url}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
        answer = httpx2.post(f"{service.url}/lti/open", data=ticket, headers=headers, trust_env=False)
        assert (answer.status_code, signs_in(answer)) == (403, False)
    safari = {"Origin": service.url, "Sec-Fetch-Site": "cross-site"}
    answer = httpx2.post(f"{service.url}/lti/open", data=ticket, headers=safari, trust_env=False)
    assert (answer.status_code, signs_in(answer)) == (303, True)


def test_no_number_in_a_message_is_too_large_to_be_refused(service: Service, lms: FakePlatform) -> None:
    for name, value in (("exp", 10**400), ("iat", -(10**400)), ("iat", 10**4000)):
        begun = begin(service, lms, storing=False)
        token = message(lms, begun, service, **{name: value})
        answer = end(service, begun, token, {}, cookie=True)
        assert (answer.status_code, signs_in(answer)) == (400, False), name


@pytest.mark.parametrize(
    "changed",
    [
        {"sub": "a\0b"},
        {"sub": "\0"},
        {"sub": "a\u2028b"},
        {CLAIM + "context": {"id": "cour\0se", "title": "A course"}},
        {CLAIM + "context": {"id": "cour\u202ese", "title": "A course"}},
        {CLAIM + "resource_link": {"id": "r\n", "title": "Week 1"}},
        {CLAIM + "lis": {"person_sourcedid": "7\x1b"}},
        {"name": "Ada\0"},
    ],
)
def test_a_name_with_what_is_stored_otherwise_names_nobody(
    service: Service, lms: FakePlatform, changed: dict[str, Any]
) -> None:
    begun = begin(service, lms, storing=False)
    answer = end(service, begun, message(lms, begun, service, **changed), {}, cookie=True)
    assert (answer.status_code, signs_in(answer)) == (400, False)


@pytest.mark.parametrize(
    "evil", ["https://x; script-src-elem *", "https://x script-src *", "https://x,y", "https://x'*"]
)
def test_no_address_of_a_platform_adds_to_the_policy(service: Service, lms: FakePlatform, evil: str) -> None:
    begun = begin(service, lms, storing=False)
    choice = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"
    changed = {
        CLAIM + "message_type": "LtiDeepLinkingRequest",
        CLAIM + "roles": ["http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"],
        CLAIM + "launch_presentation": {"return_url": evil},
        choice: {"deep_link_return_url": evil, "accept_types": ["ltiResourceLink"]},
    }
    token = message(lms, begun, service, **changed)
    chosen = end(service, begun, token, {}, cookie=True)
    assert "no deep_link_return_url" in unescape(chosen.text)
    query = {"code": "x", "openid_configuration": evil}
    registers = httpx2.get(f"{service.url}/lti/register", params=query, trust_env=False)
    for answer in (chosen, registers):
        policy = answer.headers["content-security-policy"]
        assert not [word for word in ("-elem", "//x", "script-src *") if word in policy], policy
