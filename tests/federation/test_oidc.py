"""Sign-in with OpenID Connect, to the second and to the letter, with a provider that answers as it is told."""

import asyncio
import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import pytest

from app.classes.federation.http_client import HttpAnswer
from app.classes.federation.oidc import Descriptions, Flight, ProviderReturn
from app.classes.federation.providers import Provider
from app.core.errors import RefusedError, UnavailableError
from tests.each import each
from tests.federation.test_providers import ABOUT, BACK, CAMPUS, ISSUER, Service, begun, failing

SECRET = "a secret of sixteen characters and more"
BOTH = ["client_secret_basic", "client_secret_post"]


class Clients(Service):
    """A provider that remembers how each client has proved itself, and answers with *statuses* in turn."""

    def __init__(self, methods: object, statuses: Sequence[int]) -> None:
        super().__init__(ABOUT if methods is None else ABOUT | {"token_endpoint_auth_methods_supported": methods})
        self.statuses = list(statuses)
        self.proofs: list[str] = []

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", most: int = 0
    ) -> HttpAnswer:
        if method == "POST":
            form = dict(parse_qsl(body.decode()))
            basic = "basic" if "Authorization" in (headers or {}) else ""
            self.proofs.append(basic or ("post" if "client_secret" in form else f"none as {form['client_id']}"))
            return HttpAnswer(url, self.statuses.pop(0), {}, b"{}")
        return await super().send(method, url, headers=headers, body=body, most=most)


def test_a_description_is_fresh_for_an_hour_and_holds_for_a_day_to_the_second() -> None:
    moment, service = [0.0], Service()
    descriptions = Descriptions(service, frozenset(), lambda: moment[0])

    def asks(at: float) -> int:
        moment[0] = at
        service.asked.clear()
        asyncio.run(descriptions.of(CAMPUS))
        return len(service.asked)

    assert [asks(at) for at in (0, 3600, 3600.5, 7200.5)] == [1, 0, 1, 0]
    service.status = 503
    assert [asks(at) for at in (7201, 7231, 7231.5)] == [1, 0, 1], "it is tried again after half a minute"
    assert asks(3600.5 + 86_400) == 1
    moment[0] += 31
    assert isinstance(failing(descriptions.of(CAMPUS)), UnavailableError)


@each("issuer", [ISSUER, f"{ISSUER}/", f"{ISSUER}/realm"])
def test_a_provider_describes_itself_below_its_issuer(issuer: str) -> None:
    service = Service(ABOUT | {"issuer": issuer})
    asyncio.run(Descriptions(service, frozenset(), lambda: 0.0).of(Provider("c", "C", issuer, "id", "s")))
    assert service.asked == [f"{issuer.rstrip('/')}/.well-known/openid-configuration"]


@each("afresh", [True, False])
def test_the_address_of_the_provider_asks_for_what_protects_the_sign_in(afresh: bool) -> None:
    sign_ins, flight = begun(Service(ABOUT | {"authorization_endpoint": f"{ISSUER}/auth"}))
    address = asyncio.run(sign_ins.begin(CAMPUS, flight, BACK, afresh=afresh))
    digest = hashlib.sha256(flight.verifier.encode()).digest()
    expected = {
        "response_type": "code", "client_id": "wallclock", "redirect_uri": BACK, "scope": "openid",
        "state": flight.state, "nonce": flight.nonce, "code_challenge_method": "S256",
        "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
    } | ({"prompt": "login"} if afresh else {})  # fmt: skip
    place, _, query = address.partition("?")
    assert (place, parse_qs(query)) == (f"{ISSUER}/auth", {name: [value] for name, value in expected.items()})
    assert len({flight.state, flight.nonce, flight.verifier}) == 3


@each(
    ("names", "issuer", "says"),
    [
        (True, "", "another issuer"),
        (True, ISSUER, "sent no code"),
        (True, f"{ISSUER}/", "another issuer"),
        (False, "", "sent no code"),
        (False, ISSUER, "sent no code"),
        (False, "https://evil.example", "another issuer"),
        ("yes", "", "sent no code"),
    ],
)
def test_a_provider_that_says_who_answers_has_to(names: object, issuer: str, says: str) -> None:
    sign_ins, flight = begun(Service(ABOUT | {"authorization_response_iss_parameter_supported": names}))
    error = failing(sign_ins.end(CAMPUS, flight, ProviderReturn(state=flight.state, issuer=issuer), BACK))
    assert says in str(error)


def test_a_sign_in_that_was_canceled_is_not_called_a_fault() -> None:
    sign_ins, flight = begun(Service())
    canceled = ProviderReturn(state=flight.state, error="access_denied", code="c")
    assert str(failing(sign_ins.end(CAMPUS, flight, canceled, BACK))) == "the sign-in at Campus was canceled"


@each(
    ("methods", "secret", "statuses", "proofs"),
    [
        (None, "secret", [400], ["basic"]),
        (["client_secret_post"], "secret", [400], ["post"]),
        (BOTH, "secret", [400], ["basic"]),
        (BOTH, "secret", [401, 400], ["basic", "post"]),
        (BOTH, "secret", [401, 401], ["basic", "post"]),
        (["private_key_jwt"], "secret", [401, 400], ["basic", "post"]),
        ("client_secret_post", "secret", [401, 400], ["basic", "post"]),
        (BOTH, "", [400], ["none as wallclock"]),
        (["client_secret_post"], "", [401], ["none as wallclock"]),
    ],
)
def test_a_client_proves_itself_as_the_provider_says(
    methods: object, secret: str, statuses: list[int], proofs: list[str]
) -> None:
    service = Clients(methods, statuses)
    sign_ins, flight = begun(service)
    provider = Provider("campus", "Campus", ISSUER, "wallclock", secret)
    error = failing(sign_ins.end(provider, flight, ProviderReturn(state=flight.state, code="c"), BACK))
    assert isinstance(error, UnavailableError if statuses[-1] == 401 else RefusedError)
    assert service.proofs == proofs


def test_the_way_in_which_a_client_was_known_is_the_first_one_the_next_time() -> None:
    service = Clients(BOTH, [401, 400, 400, 401])
    sign_ins, flight = begun(service)
    returned = ProviderReturn(state=flight.state, code="c")
    for _ in range(3):
        failing(sign_ins.end(CAMPUS, flight, returned, BACK))
    assert service.proofs == ["basic", "post", "post", "post"]


@each(("age", "right"), [(0, True), (600, True), (601, False), (6_000, False)])
def test_a_flight_lasts_ten_minutes_in_its_own_browser(age: int, right: bool) -> None:
    flight = Flight.begin("campus", "/progress")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.time", lambda: 1_800_000_000)
        cookie = flight.signed(SECRET)
        patched.setattr("time.time", lambda: 1_800_000_000 + age)
        found: Any = None
        try:
            found = Flight.read(cookie, SECRET)
        except RefusedError:
            assert not right
        assert found == (flight if right else None)
        with pytest.raises(RefusedError, match="did not begin in this browser"):
            Flight.read(cookie, f"{SECRET}?")
