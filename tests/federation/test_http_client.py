"""Requests to services whose addresses others gave."""

import asyncio
import ssl
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.classes.federation.http_client import HttpAnswer, Outgoing, Resolve, resolve, text_in
from app.classes.federation.providers import is_public
from app.core.errors import AppError, RefusedError, UnavailableError
from tests.each import each
from tests.federation.services import NAME, certificate, here, serving
from tests.waiting import HANGS

PRIVATE = frozenset({NAME, "other.test"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificate")


@pytest.fixture(scope="module")
def trusted(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate(folder))


@pytest.fixture(scope="module")
def port(folder: Path, trusted: ssl.SSLContext) -> Iterator[int]:
    with serving(folder / "both.pem") as found:
        yield found


def outcome(what: Coroutine[Any, Any, Any]) -> Any:
    """What it returns, or the error that it raises."""

    async def tried() -> Any:
        try:
            return await what
        except AppError as error:
            return error

    return asyncio.run(tried())


@each(
    ("url", "says"),
    [
        ("http://example.org/", "must begin with https://"),
        ("file:///etc/passwd", "does not begin with https://"), ("gopher://example.org/", "https://"),
        ("https:///x", "does not begin with https://"), ("https://a:b@example.org/", "user name"),
        ("https://127.0.0.1/", "private address 127.0.0.1"), ("https://localhost/", "private address"),
        ("https://[::1]/", "private address"), ("https://[::ffff:127.0.0.1]/", "private address"),
        ("https://[64:ff9b::a00:1]/", "private address"), ("https://[fe80::1]/", "private address"),
        ("https://169.254.169.254/latest/", "private address"), ("https://10.0.0.1/", "private address"), ("https://192.168.1.1/", "private address"),
        ("https://100.64.0.1/", "private address"), ("https://0.0.0.0/", "private address"),
        ("https://2130706433/", "private address 127.0.0.1"), ("https://0x7f.1/", "private address 127.0.0.1"),
        ("https://example.org:99999/", "cannot be read"), ("https://a\\b/", "name of a host"),
        ("https://exämple.org/", "plain ASCII"), ("https://a.org/\nHost: b", "plain ASCII"),
        ("https://a.org/" + "x" * 2000, "longer than"), ("", "plain ASCII"), ("https://[::1/", "cannot be read"),
    ],
)  # fmt: skip
def test_an_address_inside_or_of_another_kind_is_never_asked(url: str, says: str) -> None:
    error = outcome(Outgoing().get(url))
    assert isinstance(error, RefusedError)
    assert says in str(error)


@each(
    ("address", "public"),
    [
        ("93.184.215.14", True), ("2606:4700::1111", True), ("::ffff:8.8.8.8", True),
        ("2002:808:808::1", True), ("2002:7f00:1::", False), ("::127.0.0.1", False), ("ff02::1", False),
        ("224.0.0.1", False), ("fec0::1", False), ("fe80::1%eth0", False), ("255.255.255.255", False),
        ("64:ff9b::808:808", True), ("fd00::1", False), ("192.0.0.8", False), ("198.18.0.1", False), ("", False), ("elsewhere", False),
    ],
)  # fmt: skip
def test_an_ipv6_address_around_a_private_one_is_private(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    async def mixed(host: str, port: int) -> Sequence[str]:
        return ["93.184.215.14", "127.0.0.1"]

    error = outcome(Outgoing(resolver=mixed).get("https://mixed.test/"))
    assert "127.0.0.1" in str(error)
    assert "WALLCLOCK_PRIVATE_HOSTS" in str(error)


def test_a_private_host_is_allowed_by_name_or_with_its_port_alone(port: int) -> None:
    for private, error in (({f"localhost:{port}"}, UnavailableError), ({"localhost:1"}, RefusedError)):
        assert isinstance(outcome(Outgoing(private).get(f"http://localhost:{port}/")), error)


def asking(port: int, trusted: ssl.SSLContext, path: str = "/", host: str = NAME, **how: Any) -> Any:
    outgoing = Outgoing(PRIVATE, here, trusted, **how)
    return outcome(outgoing.get(f"https://{host}:{port}{path}"))


def test_the_connection_goes_to_the_checked_address_under_the_name_that_was_asked(
    port: int, trusted: ssl.SSLContext
) -> None:
    found = asking(port, trusted)
    assert found.status == 200
    assert found.fields() == {"host": f"{NAME}:{port}", "cookie": ""}


def test_nothing_is_shared_with_another_name_of_the_same_address(port: int, trusted: ssl.SSLContext) -> None:
    """Over a connection that stays open, the certificate would not be checked for the second."""
    outgoing = Outgoing(PRIVATE, here, trusted)

    async def both() -> tuple[HttpAnswer, HttpAnswer]:
        await outgoing.get(f"https://{NAME}:{port}/")
        again = await outgoing.get(f"https://{NAME}:{port}/")
        return again, await outgoing.get(f"https://other.test:{port}/")

    error = outcome(both())
    assert isinstance(error, UnavailableError)
    assert "other.test cannot be reached" in str(error)
    assert "certificate" in error.cause


def test_cookies_are_not_sent_back(port: int, trusted: ssl.SSLContext) -> None:
    outgoing = Outgoing(PRIVATE, here, trusted)

    async def twice() -> HttpAnswer:
        await outgoing.get(f"https://{NAME}:{port}/")
        return await outgoing.get(f"https://{NAME}:{port}/")

    assert outcome(twice()).fields()["cookie"] == ""


def test_a_redirect_is_not_followed(port: int, trusted: ssl.SSLContext) -> None:
    assert asking(port, trusted, "/away").status == 302


@each(
    ("path", "seconds", "says"),
    [("/large", HANGS, "more than 262,144 bytes"), ("/packed", HANGS, "gzip"), ("/slow", 0.5, "within 0.5 seconds")],
)
def test_an_answer_without_end_is_cut_off(
    port: int, trusted: ssl.SSLContext, path: str, seconds: float, says: str
) -> None:
    error = asking(port, trusted, path, seconds=seconds)
    assert isinstance(error, UnavailableError)
    assert says in str(error)


@each(("path", "says"), [("/page", "answered 502 without JSON"), ("/deep", "200 without JSON")])
def test_what_is_not_json_is_said_with_the_status(port: int, trusted: ssl.SSLContext, path: str, says: str) -> None:
    with pytest.raises(UnavailableError, match=says):
        asking(port, trusted, path).json()


def test_a_form_is_sent_as_one(port: int, trusted: ssl.SSLContext) -> None:
    outgoing = Outgoing(PRIVATE, here, trusted)
    found = outcome(outgoing.post_form(f"https://{NAME}:{port}/", {"code": "a b&c"}))
    assert found.fields() == {"body": "code=a+b%26c", "kind": "application/x-www-form-urlencoded"}


def test_an_address_without_a_route_does_not_hide_the_next(port: int, trusted: ssl.SSLContext) -> None:
    async def two(host: str, _: int) -> Sequence[str]:
        return ["::1", "127.0.0.1"]  # the server listens on the second alone

    outgoing = Outgoing(PRIVATE, two, trusted)
    assert outcome(outgoing.get(f"https://{NAME}:{port}/")).status == 200


@each(("before", "status"), [(0, 200), (2, 200), (3, None)])
def test_three_addresses_of_a_host_are_tried(
    port: int, trusted: ssl.SSLContext, before: int, status: int | None
) -> None:
    async def several(host: str, _: int) -> Sequence[str]:
        return [*(["::1"] * before), "127.0.0.1"]

    found = outcome(Outgoing(PRIVATE, several, trusted).get(f"https://{NAME}:{port}/"))
    assert getattr(found, "status", None) == status


def test_a_host_without_an_address_is_refused() -> None:
    async def nowhere(host: str, _: int) -> Sequence[str]:
        return []

    assert isinstance(outcome(Outgoing(PRIVATE, nowhere).get(f"https://{NAME}/")), RefusedError)


def test_an_answer_has_as_many_bytes_as_its_caller_expects_and_its_headers_arrive(
    port: int, trusted: ssl.SSLContext
) -> None:
    outgoing, url = Outgoing(PRIVATE, here, trusted), f"https://{NAME}:{port}/"
    found = outcome(outgoing.get(url, {"Cookie": "a=b"}))
    assert found.fields()["cookie"] == "a=b"
    assert (found.url, found.status) == (url, 200)
    whole = outcome(outgoing.get(url)).body
    assert outcome(outgoing.send("GET", url, most=len(whole))).body == whole
    assert isinstance(outcome(outgoing.send("GET", url, most=len(whole) - 1)), UnavailableError)


def test_what_a_service_said_is_short_plain_and_json_or_nothing() -> None:
    said = HttpAnswer("https://a.org/", 500, {}, b" down\n\tfor  \x07 " + b"x" * 900).said()
    assert (said[:13], len(said)) == ("down for ? xx", 200)
    for body, found in ((b"", None), (b" \n", None), (b"[1]", [1]), (b'{"a": 2}', {"a": 2})):
        assert HttpAnswer("https://a.org/", 200, {}, body).json() == found
    with pytest.raises(UnavailableError, match=r"a\.org answered 200 without a JSON object"):
        HttpAnswer("https://a.org/", 200, {}, b"").fields()


def test_an_address_is_refused_before_it_is_stored() -> None:
    assert "private" in str(outcome(Outgoing().check("https://10.0.0.1/jwks")))
    assert outcome(Outgoing(resolver=public).check("https://lms.example/jwks")) is None


async def public(host: str, port: int) -> Sequence[str]:
    return ["93.184.215.14"]


def test_a_name_that_does_not_resolve_is_said() -> None:
    resolver: Resolve = resolve
    error = outcome(Outgoing(resolver=resolver).get("https://no-such-host.invalid/"))
    assert str(error) == "the host no-such-host.invalid was not found"


def test_a_missing_field_is_said() -> None:
    for there in ({"token_endpoint": 3}, {"token_endpoint": ""}, {}):
        with pytest.raises(UnavailableError, match="idp answered without its token_endpoint"):
            text_in(there, "token_endpoint", "idp")
    assert text_in({"token_endpoint": "x"}, "token_endpoint", "idp") == "x"


def test_the_addresses_of_a_host_are_tried_in_the_order_of_the_system_and_once_each() -> None:
    async def resolved() -> Sequence[str]:
        loop = asyncio.get_running_loop()
        known = [("", "", "", "", (address, 443)) for address in ("9.9.9.9", "1.1.1.1", "9.9.9.9")]
        loop.getaddrinfo = lambda *_, **__: asyncio.sleep(0, known)  # type: ignore[method-assign]
        return await resolve("example.org", 443)

    assert asyncio.run(resolved()) == ["9.9.9.9", "1.1.1.1"]
