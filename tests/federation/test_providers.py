"""The settings of providers, what is missing for them, and providers in trouble."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from joserfc import jwk, jwt
from sqlalchemy import create_engine

from app.classes.federation import providers
from app.classes.federation.http_client import HttpAnswer, Outgoing
from app.classes.federation.identities import Federation
from app.classes.federation.oidc import Descriptions, Flight, Identity, ProviderReturn, SignIns
from app.classes.federation.providers import Provider, obstacles, providers_in, target_of
from app.classes.federation.tokens import KeySets
from app.core.errors import AppError, InputError, RefusedError, UnavailableError
from app.server.config import Settings
from tests.each import each

ISSUER = "https://idp.example"
BACK = "https://wallclock.example/sign-in/back"
CAMPUS = Provider("campus", "Campus", ISSUER, "wallclock", "secret")
ABOUT: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth?tenant=1",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}


def settings(oidc: str, **more: Any) -> Settings:
    return Settings(oidc=oidc, address="https://wallclock.example", **more)


def test_each_provider_has_a_name_an_address_and_its_client() -> None:
    text = " Example  Campus = https://idp.example/realm, id ,a,b=c ;GitLab=https://gitlab.example,wc;"
    campus, gitlab = providers_in(settings(text))
    assert campus == Provider("example-campus", "Example Campus", f"{ISSUER}/realm", "id", "a,b=c")
    assert gitlab == Provider("gitlab", "GitLab", "https://gitlab.example", "wc", "")
    assert providers_in(settings("")) == []


@each(
    ("oidc", "says"),
    [
        ("Campus", "must be NAME=ISSUER,CLIENT_ID,SECRET"),
        ("Campus=https://idp.example", "must be NAME=ISSUER"),
        ("Campus=,id,hush", "must be NAME=ISSUER"),
        ("=https://idp.example,id,hush", "cannot be called ''"),
        ("Back=https://idp.example,id,hush", "cannot be called 'Back'"),
        ("+=https://idp.example,id,hush", "cannot be called"),
        ("x" * 61 + "=https://idp.example,id,hush", "up to 60 characters"),
        ("Campus=http://idp.example,id,hush", "must begin with https://"),
        ("Campus=idp.example,id,hush", "https://"),
        ("Campus=https://u:p@idp.example,id,hush", "user name"),
        ("Campus=https://idp.example?x=1,id,hush", "neither a query"),
        ("Campus=https://idp.example#x,id,hush", "neither a query nor a fragment"),
        (f"Campus=https://idp.example/{'x' * 236},id,hush", "at most 255"),
        ("A=https://a.example,id,hush;a=https://b.example,id,hush", "two providers with the slug 'a'"),
        ("A=https://a.example,id,hush;B=https://a.example,id,hush", "two providers with the issuer"),
    ],
)
def test_a_setting_that_cannot_be_read_is_refused_without_its_secret(oidc: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        providers_in(settings(oidc))
    assert says in str(refused.value)
    assert "hush" not in str(refused.value)


def test_names_and_addresses_may_be_as_long_as_the_limits_say() -> None:
    (found,) = providers_in(settings(f"{'x' * 60}=https://idp.example/{'x' * 235},id,hush"))
    assert (len(found.name), len(found.issuer), found.client, found.secret) == (60, 255, "id", "hush")


@each(
    ("url", "private", "expected"),
    [
        ("https://a.org/", (), ("a.org", 443, False)),
        ("https://a.org:8443/x?y", (), ("a.org", 8443, False)),
        ("https://a.org/" + "x" * 1_986, (), ("a.org", 443, False)),
        ("https://a.org/" + "x" * 1_987, (), None),
        ("http://a.org/", (), None),
        ("http://a.org/", {"a.org"}, ("a.org", 80, True)),
        ("http://a.org/", {"a.org:80"}, ("a.org", 80, True)),
        ("http://a.org/", {"a.org:443"}, None),
        ("https://a.org/", {"a.org:443"}, ("a.org", 443, True)),
        ("https://A.org/", {"b.org"}, ("a.org", 443, False)),
        ("https://[2606:4700::1111]:444/", (), ("2606:4700::1111", 444, False)),
        ("https://a.org:/", (), ("a.org", 443, False)),
        ("https://a@a.org/", (), None),
        ("ftp://a.org/", {"a.org"}, None),
    ],
)
def test_an_address_leads_to_a_host_and_a_port(
    url: str, private: set[str], expected: tuple[str, int, bool] | None
) -> None:
    try:
        found = target_of(url, private)
    except RefusedError:
        assert expected is None
    else:
        assert (found.host, found.port, found.private) == expected


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(settings("Campus=https://idp.example,id,hush"))
    assert "secret" not in repr(CAMPUS).replace("secret=", "")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    oidc = "Campus=https://idp.example,id,hush"
    assert obstacles(settings(oidc)) == []
    assert len(Federation(settings(oidc), create_engine("sqlite://")).usable()) == 1
    (address,) = obstacles(Settings(oidc=oidc))
    assert "WALLCLOCK_URL" in address
    assert obstacles(Settings()) == ()  # nothing is missing where nothing is configured
    monkeypatch.setattr(providers, "_PACKAGES", ("joserfc", "no_such_package"))
    (package,) = obstacles(settings(oidc))
    assert package.endswith("needs no_such_package: pip install 'wallclock[people]', then restart it.")
    made = Federation(settings(oidc), create_engine("sqlite://"))
    assert made.usable() == ()
    with pytest.raises(UnavailableError, match="its operator can install them with pip install"):
        made.sign_ins  # noqa: B018


class Service(Outgoing):
    """A provider that answers as it is told."""

    def __init__(self, about: object = None, status: int = 200) -> None:
        super().__init__()
        self.about = ABOUT if about is None else about
        self.status = status
        self.asked: list[str] = []
        self.token = HttpAnswer("https://idp.example/token", 200, {}, b"{}")

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", most: int = 0
    ) -> HttpAnswer:
        self.asked.append(url)
        if method == "POST":
            return self.token
        return HttpAnswer(url, self.status, {}, json.dumps(self.about).encode())


def begun(service: Service) -> tuple[SignIns, Flight]:
    return SignIns(service, KeySets(service)), Flight.begin("campus", "/")


def failing(what: Any) -> AppError:
    with pytest.raises(AppError) as raised:
        asyncio.run(what)
    return raised.value


@each(
    ("about", "status", "says"),
    [
        (None, 503, "Campus cannot be asked: it answered 503"),
        ({}, 200, "not configured correctly"),
        (ABOUT | {"issuer": ISSUER + "/"}, 200, "not configured correctly"),
        ([], 200, "without a JSON object"),
        ({**ABOUT, "token_endpoint": None}, 200, "Campus answered without its token_endpoint"),
        ({**ABOUT, "jwks_uri": ["x"]}, 200, "Campus answered without its jwks_uri"),
    ],
)
def test_a_provider_that_does_not_describe_itself_is_said(about: Any, status: int, says: str) -> None:
    sign_ins, flight = begun(Service(about, status))
    error = failing(sign_ins.begin(CAMPUS, flight, BACK, afresh=False))
    assert isinstance(error, UnavailableError)
    assert says in str(error)


def test_a_provider_cannot_send_browsers_to_another_kind_of_address() -> None:
    for address in ("javascript:alert(1)", "http://idp.example/auth"):
        sign_ins, flight = begun(Service({**ABOUT, "authorization_endpoint": address}))
        assert isinstance(failing(sign_ins.begin(CAMPUS, flight, BACK, afresh=False)), RefusedError)


def test_the_query_of_a_provider_stays() -> None:
    sign_ins, flight = begun(Service())
    address = asyncio.run(sign_ins.begin(CAMPUS, flight, BACK, afresh=False))
    assert address.startswith(f"{ISSUER}/auth?tenant=1&response_type=code&")
    assert "prompt" not in address


@each(
    ("status", "body", "error", "says"),
    [
        (400, b'{"error":"invalid_grant"}', RefusedError, "did not accept the code"),
        (302, b"", RefusedError, "did not accept the code"),
        (401, b'{"error":"invalid_client"}', UnavailableError, "Campus answered 401 to this server"),
        (500, b"<h1>", UnavailableError, "Campus answered 500"),
        (200, b"<h1>", UnavailableError, "without JSON"),
        (200, b"{}", UnavailableError, "without its id_token"),
        (200, b'{"id_token": 3}', UnavailableError, "id_token"),
        (200, b'{"id_token": "a.b.c"}', RefusedError, "not a signed token"),
    ],
)
def test_an_answer_to_the_code_that_is_none_is_said(status: int, body: bytes, error: type[AppError], says: str) -> None:
    service = Service()
    service.token = HttpAnswer(f"{ISSUER}/token", status, {}, body)
    sign_ins, flight = begun(service)
    raised = failing(sign_ins.end(CAMPUS, flight, ProviderReturn(state=flight.state, code="c"), BACK))
    assert isinstance(raised, error)
    assert says in str(raised)


@each(
    ("returned", "says"),
    [
        ({"issuer": "https://evil.example", "code": "c"}, "another issuer"),
        ({}, "Campus sent no code"),
        ({"error": "login_required"}, "did not sign you in (login_required)"),
        ({"state": "é"}, "another tab"),
        ({"state": ""}, "another tab"),
    ],
)
def test_what_comes_back_must_be_the_answer(returned: dict[str, str], says: str) -> None:
    service = Service()
    sign_ins, flight = begun(service)
    given = ProviderReturn(**{"state": flight.state, **returned})
    assert says in str(failing(sign_ins.end(CAMPUS, flight, given, BACK)))
    assert f"{ISSUER}/token" not in service.asked


@each(
    ("changed", "says"),
    [
        ({}, ""),
        ({"nonce": "another"}, "another request"),
        ({"nonce": None}, "another request"),
        ({"aud": "another"}, "another client"),
        ({"iss": "https://evil.example"}, "is from"),
    ],
)
def test_the_token_must_be_the_one_for_this_sign_in(changed: dict[str, Any], says: str) -> None:
    key = jwk.ECKey.generate_key("P-256", parameters={"kid": "a"})
    service = Service(ABOUT | {"keys": [key.as_dict(private=False)]})
    sign_ins, flight = begun(service)
    claims = {"iss": ISSUER, "aud": "wallclock", "sub": "mina", "nonce": flight.nonce}
    times = {"iat": time.time(), "exp": time.time() + 60}
    token = jwt.encode({"alg": "ES256", "kid": "a"}, claims | times | changed, key)
    service.token = HttpAnswer(f"{ISSUER}/token", 200, {}, json.dumps({"id_token": token}).encode())
    ending = sign_ins.end(CAMPUS, flight, ProviderReturn(state=flight.state, code="c"), BACK)
    if says:
        assert says in str(failing(ending))
    else:
        assert asyncio.run(ending) == Identity(ISSUER, "mina")


def test_a_provider_is_asked_about_itself_once_an_hour_and_may_be_down_for_a_day() -> None:
    moment = [0.0]
    service = Service()
    descriptions = Descriptions(service, frozenset(), lambda: moment[0])

    def asks(later: float) -> int:
        moment[0] += later
        service.asked.clear()
        asyncio.run(descriptions.of(CAMPUS))
        return len(service.asked)

    assert [asks(0), asks(3000), asks(700)] == [1, 0, 1]
    service.status = 503
    assert [asks(3601), asks(10), asks(31)] == [1, 0, 1]
    moment[0] += 86_400
    assert isinstance(failing(descriptions.of(CAMPUS)), UnavailableError)


def test_a_provider_inside_is_used_where_the_settings_allow_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    about = ABOUT | {"authorization_endpoint": "http://idp.campus.test/auth"}
    for allowed in ("idp.campus.test", ""):
        monkeypatch.setattr("app.classes.federation.http_client.Outgoing", lambda _: Service(about))
        made = Federation(settings(f"Campus={ISSUER},id,hush", private_hosts=allowed), create_engine("sqlite://"))
        beginning = made.sign_ins.begin(CAMPUS, Flight.begin("campus", "/"), BACK, afresh=False)
        if allowed:
            assert asyncio.run(beginning).startswith("http://idp.campus.test/auth?")
        else:
            assert "https://" in str(failing(beginning))
