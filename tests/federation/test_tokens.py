"""Tokens that other services signed: each claim is checked, whoever signed it."""

import asyncio
import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from joserfc import jwk, jws, jwt

from app.classes.federation.http_client import HttpAnswer, Outgoing
from app.classes.federation.tokens import KeySets, verify_token
from app.core.errors import RefusedError, UnavailableError
from tests.each import each

NOW = 1_800_000_000.0
URL = "https://idp.example/keys"
GOOD: dict[str, Any] = {
    "iss": "https://idp.example", "aud": "wallclock", "sub": "s", "iat": NOW, "exp": NOW + 60, "nonce": "n",
}  # fmt: skip
KEY = jwk.ECKey.generate_key("P-256", parameters={"kid": "a", "use": "sig"})
OTHER = jwk.ECKey.generate_key("P-256", parameters={"kid": "b", "use": "sig"})
RSA = jwk.RSAKey.generate_key(2048, parameters={"kid": "r", "use": "sig"})


class Service(Outgoing):
    """A service with keys that change; counts how often it is asked."""

    def __init__(self, *keys: object) -> None:
        super().__init__()
        self.keys: Sequence[object] = keys
        self.status = 200
        self.asked = 0

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        self.asked += 1
        await asyncio.sleep(0)
        body = json.dumps({"keys": self.keys}, default=lambda key: key.as_dict(private=False))
        return HttpAnswer(url, self.status, {}, body.encode() if self.status == 200 else b"down")


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def signed(claims: Mapping[str, Any] = GOOD, key: Any = KEY, algorithm: str = "ES256", **head: Any) -> str:
    return jwt.encode({"alg": algorithm, "kid": key.kid, **head}, dict(claims), key, algorithms=[algorithm])


def claims_of(token: str, keys: KeySets | None = None, nonce: str | None = "n") -> Mapping[str, object]:
    return asyncio.run(
        verify_token(
            token, keys or KeySets(Service(KEY, RSA)), URL,
            issuer="https://idp.example", audience="wallclock", nonce=nonce, now=NOW,
        )
    )  # fmt: skip


def by_hand(header: object, claims: object, secret: bytes = b"") -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    mac = hmac.digest(secret, b".".join(parts), "sha256") if secret else b""
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


@each("claims", [GOOD, GOOD | {"aud": ["wallclock"]}, GOOD | {"azp": "wallclock"},
    GOOD | {"aud": ["x", "wallclock"], "azp": "wallclock"}, GOOD | {"exp": NOW - 60, "iat": NOW + 60},
    GOOD | {"nbf": NOW + 60}, GOOD | {"exp": 2**53 - 1}, GOOD | {"iat": 0}, GOOD | {"nbf": 0.5},
    GOOD | {"sub": "s" + " " * 254}, GOOD | {"kid": 1}])  # fmt: skip
def test_a_right_token_is_accepted_also_with_clocks_a_minute_apart(claims: dict[str, Any]) -> None:
    assert claims_of(signed(claims))["sub"] == claims["sub"]


def test_a_title_may_have_a_line_end() -> None:
    assert claims_of(signed(GOOD | {"x": {"title": "Parallel\r\n\tcomputing"}}))["sub"] == "s"


@each(
    ("changed", "says"),
    [
        ('"n": ' + "9" * 5000, "signature of the token is not valid"),
        (r'"sub": "\ud800"', "a character that is not valid"),
        (r'"name": "\udfffx"', "a character that is not valid"),
        ('"exp": 1e999', "no valid exp"),
    ],
)
def test_json_that_python_reads_in_its_own_way_is_refused(changed: str, says: str) -> None:
    body = f"{json.dumps(GOOD)[:-1]}, {changed}}}"
    token = jws.serialize_compact({"alg": "ES256", "kid": "a"}, body.encode(), KEY)
    with pytest.raises(RefusedError, match=says):
        claims_of(token)


def test_both_kinds_of_keys_are_accepted() -> None:
    for algorithm in ("RS256", "RS384", "RS512", "PS256"):
        assert claims_of(signed(key=RSA, algorithm=algorithm))["sub"] == "s"
    key = jwk.ECKey.generate_key("P-384", parameters={"kid": "c"})  # which does not say what it is for
    assert claims_of(signed(key=key, algorithm="ES384"), KeySets(Service(key)))["sub"] == "s"


def test_a_token_may_have_64_kilobytes_and_no_more() -> None:
    def long(size: int) -> str:
        return signed(GOOD | {"x": "y" * size}, kid="a")

    size = next(size for size in range(48_900, 49_200) if len(long(size)) == 64 * 1024)
    assert claims_of(long(size))["sub"] == "s"
    with pytest.raises(RefusedError, match="not a signed token"):
        claims_of(long(size + 3))


@each(
    ("claims", "says"),
    [
        (GOOD | {"exp": NOW - 60.5}, "expired 60 seconds ago"), (GOOD | {"iat": NOW + 60.5}, "valid in 60 seconds"),
        (GOOD | {"nbf": NOW + 60.5}, "valid in 60 seconds"), (GOOD | {"exp": 2**53}, "no valid exp"),
        (GOOD | {"iat": -1}, "no valid iat"), (GOOD | {"aud": []}, "another client"),
        (GOOD | {"aud": ["wallclock"], "azp": "d"}, "another client"),
        (GOOD | {"aud": ["d", "e"], "azp": "wallclock"}, "another client"), (GOOD | {"nonce": ""}, "another request"),
        (GOOD | {"exp": NOW - 120}, "expired 120 seconds ago"), (GOOD | {"iat": NOW + 120}, "valid in 120 seconds"),
        (GOOD | {"nbf": NOW + 120}, "valid in 120 seconds"), (GOOD | {"nbf": "soon"}, "no valid nbf"),
        (GOOD | {"aud": "d"}, "another client"), (GOOD | {"aud": ["wallclock", "d"]}, "another client"),
        (GOOD | {"azp": "d"}, "another client"), (without("aud"), "another client"),
        (GOOD | {"iss": "https://other.example"}, "is from 'https://other.example'"), (without("iss"), "is from 'None'"),
        (GOOD | {"nonce": "m"}, "open it again"), (without("nonce"), "another request"),
        (without("exp"), "no valid exp"), (without("iat"), "no valid iat"), (GOOD | {"exp": "9999999999"}, "no valid exp"),
        (GOOD | {"exp": True}, "no valid exp"), (GOOD | {"exp": float("nan")}, "no valid exp"),
        (GOOD | {"exp": float("inf")}, "no valid exp"), (GOOD | {"exp": 10**400}, "no valid exp"),
        (GOOD | {"exp": 10**4000}, "no valid exp"), (GOOD | {"iat": -(10**400)}, "no valid iat"),
        (GOOD | {"iat": 10**400}, "no valid iat"), (GOOD | {"nbf": 10**309}, "no valid nbf"),
        (GOOD | {"sub": ""}, "does not name a person"), (GOOD | {"sub": "x" * 256}, "does not name a person"),
        (GOOD | {"sub": "a\nb"}, "does not name a person"), (GOOD | {"sub": "a\u202eb"}, "does not name a person"),
        (GOOD | {"sub": "a\0b"}, "not valid"), (GOOD | {"sub": "\0"}, "not valid"),
        (GOOD | {"name": "A\0da"}, "not valid"), (GOOD | {"x": [{"y": {"id": "a\x1bb"}}]}, "not valid"),
        (GOOD | {"x": {"a\x7f": 1}}, "not valid"),
        (GOOD | {"sub": 3}, "does not name a person"), (without("sub"), "anonymous launches"),
    ],
)  # fmt: skip
def test_a_claim_that_is_not_right_is_refused(claims: dict[str, Any], says: str) -> None:
    with pytest.raises(RefusedError) as refused:
        claims_of(signed(claims))
    assert says in str(refused.value)


@each(
    ("token", "says"),
    [
        (by_hand({"alg": "none"}, GOOD), "'none'"), (by_hand({"alg": "none", "kid": "a"}, GOOD), "'none'"),
        (by_hand({"alg": "HS256", "kid": "a"}, GOOD, KEY.as_pem(private=False)), "'HS256'"),
        (by_hand({"kid": "a"}, GOOD), "not a signed token"), (by_hand({"alg": ["ES256"]}, GOOD), "accepted are RS256"),
        (by_hand(["ES256"], GOOD), "not a signed token"), (by_hand({"alg": "ES256", "kid": "a"}, GOOD), "signature"),
        (by_hand({"alg": "ES256", "kid": "a"}, GOOD, b"x"), "signature"),
        (signed(key=OTHER, kid="a"), "signature"), (signed() + "x", "signature"), (signed(key=OTHER), "key 'b'"),
        (signed(key=RSA, algorithm="RS256", kid="a"), "key 'a'"),
        (signed()[:-20], "signature"), ("", "not a signed token"), ("a.b", "not a signed token"),
        ("é.b.c", "not a signed token"), (".." , "not a signed token"), ("a.b.c.d.e", "not a signed token"),
        ("x" * 70_000 + ".b.c", "not a signed token"),
        (base64.urlsafe_b64encode(b"[" * 40_000).decode() + ".b.c", "not a signed token"),
    ],
)  # fmt: skip
def test_a_token_that_its_service_did_not_sign_is_refused(token: str, says: str) -> None:
    with pytest.raises(RefusedError) as refused:
        claims_of(token)
    assert says in str(refused.value)


def test_a_token_with_a_changed_claim_is_refused() -> None:
    head, _, signature = signed().split(".")
    body = base64.urlsafe_b64encode(json.dumps(GOOD | {"sub": "t"}).encode()).rstrip(b"=").decode()
    with pytest.raises(RefusedError, match="signature"):
        claims_of(f"{head}.{body}.{signature}")


def test_a_token_without_a_key_name_needs_a_set_with_one_key_that_fits() -> None:
    nameless = jwt.encode({"alg": "ES256"}, GOOD, KEY)
    assert claims_of(nameless, KeySets(Service(KEY, RSA)))["sub"] == "s"
    with pytest.raises(RefusedError, match="does not have"):
        claims_of(nameless, KeySets(Service(KEY, OTHER)))


def test_a_key_that_is_not_one_does_not_lose_the_others() -> None:
    public = RSA.as_dict(private=False)
    odd = [
        None, 3, {"kty": "RSA"}, {"kty": "oct", "k": "AAAA", "kid": "a"}, {"kty": "EC", "crv": "P-256", "kid": "a"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "short"}, {**KEY.as_dict(private=False), "use": "enc"},
        {**public, "e": base64.urlsafe_b64encode(b"\x01" * 200).decode().rstrip("="), "kid": "s"},
    ]  # fmt: skip
    keys = KeySets(Service(*odd, KEY))
    assert claims_of(signed(), keys)["sub"] == "s"
    with pytest.raises(RefusedError, match="'s'"):
        claims_of(signed(key=RSA, algorithm="RS256", kid="s"), keys)


def test_a_token_for_which_no_nonce_was_sent_may_have_any() -> None:
    assert claims_of(signed(GOOD | {"nonce": "m"}), nonce=None)["sub"] == "s"
    assert claims_of(signed(without("nonce")), nonce=None)["sub"] == "s"


def test_of_a_set_the_first_fifty_keys_are_used() -> None:
    others = [{**OTHER.as_dict(private=False), "kid": f"o{n}"} for n in range(49)]
    assert claims_of(signed(), KeySets(Service(*others, KEY)))["sub"] == "s"
    with pytest.raises(RefusedError, match="key 'a'"):
        claims_of(signed(), KeySets(Service(*others, OTHER, KEY)))


def test_a_set_that_cannot_be_read_is_no_set_without_the_key() -> None:
    service = Service(KEY)
    service.status = 503
    with pytest.raises(UnavailableError, match="answered 503"):
        claims_of(signed(), KeySets(service))


def test_keys_are_fetched_again_after_an_hour_and_for_another_key_after_half_a_minute() -> None:
    service, clock = Service(KEY), Clock()
    keys = KeySets(service, clock)
    for after, token, asked in (
        (0, signed(), 1), (3600, signed(), 1), (3600.5, signed(), 2),
        (3630.5, signed(key=OTHER), 2), (3631, signed(key=OTHER), 3), (3661, signed(key=OTHER), 3),
    ):  # fmt: skip
        clock.at = 1000.0 + after
        if token.startswith(signed().split(".")[0]):
            assert claims_of(token, keys)["sub"] == "s"
        else:
            with pytest.raises(RefusedError, match="key 'b'"):
                claims_of(token, keys)
        assert service.asked == asked, after


def test_keys_of_a_service_that_is_down_are_used_for_a_day_to_the_second() -> None:
    service, clock = Service(KEY), Clock()
    keys = KeySets(service, clock)
    claims_of(signed(), keys)
    service.status = 503
    clock.at = 1000.0 + 86_400
    assert claims_of(signed(), keys)["sub"] == "s"
    clock.at += 0.5
    with pytest.raises(UnavailableError, match="answered 503"):
        claims_of(signed(), keys)


def test_each_address_has_keys_of_its_own_of_which_500_are_remembered() -> None:
    service = Service(KEY)
    keys = KeySets(service, Clock())

    def found(number: int) -> None:
        asyncio.run(keys.find(f"https://idp.example/{number}", "a", "ES256"))

    for number in range(500):
        found(number)
    for number in (0, 499):
        found(number)
    assert service.asked == 500
    found(500)
    found(500)
    assert service.asked == 501
    found(0)
    assert service.asked == 502


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_key_of_rsa_has_at_least_2048_bits() -> None:
    short = jwk.RSAKey.generate_key(1024, parameters={"kid": "short", "use": "sig"})
    with pytest.raises(RefusedError, match="key 'short'"):
        asyncio.run(KeySets(Service(short, RSA)).find(URL, "short", "RS256"))
    assert asyncio.run(KeySets(Service(short, RSA)).find(URL, None, "RS256")).kid == "r"


def test_a_rotated_key_is_found_but_forged_ones_do_not_flood_the_service() -> None:
    service, clock = Service(KEY), Clock()
    keys = KeySets(service, clock)

    def accepted(token: str) -> bool:
        try:
            claims_of(token, keys)
        except RefusedError:
            return False
        return True

    assert accepted(signed())
    service.keys = (OTHER,)
    assert [accepted(signed(key=OTHER, kid=kid)) for kid in ("b", "x", "y", "b")] == [False] * 4
    assert service.asked == 1  # none was fetched within the first 30 seconds
    clock.at += 31
    assert accepted(signed(key=OTHER))
    assert not accepted(signed())  # the old key is gone
    assert service.asked == 2
    clock.at += 3601
    assert accepted(signed(key=OTHER))
    assert service.asked == 3  # once an hour


def test_keys_outlive_a_service_that_is_down_for_a_day() -> None:
    service, clock = Service(KEY), Clock()
    keys = KeySets(service, clock)
    claims_of(signed(), keys)
    service.status = 503
    clock.at += 3700
    assert claims_of(signed(), keys)["sub"] == "s"
    assert service.asked == 2
    assert claims_of(signed(), keys)["sub"] == "s"
    assert service.asked == 2  # and is not asked at every launch
    clock.at += 86_400
    with pytest.raises(UnavailableError, match=r"keys of idp\.example cannot be read: it answered 503"):
        claims_of(signed(), keys)
    service.status = 200
    clock.at += 31
    assert claims_of(signed(), keys)["sub"] == "s"


def test_many_launches_at_once_fetch_the_keys_once() -> None:
    service = Service(KEY)
    keys = KeySets(service)

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(keys.find(URL, "a", "ES256"))

    asyncio.run(together())
    assert service.asked == 1
