"""Requests to services whose addresses others give: a provider's keys, a platform's grades.

An address may name a host inside our network, redirect to one, answer slowly or without end. So the host is resolved
once, every address of it must be public, and the connection goes to the address that was checked, while the certificate
is checked against the name. Nothing is shared between two requests: neither cookies nor connections, since a connection
to an address that two hosts share has been checked for one of them only.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult, urlencode, urlsplit

import httpx2

from app.classes.federation.providers import Target, is_public, target_of
from app.core.errors import RefusedError, UnavailableError

MOST_BYTES = 256 * 1024  # of an answer, unless its caller expects more
_SECONDS = 20.0  # of a request, from the name to the last byte
_PATIENCE = 5.0  # seconds for a connection: a name may have further addresses
_AT_ONCE = 64  # requests
_TRIED = 3  # addresses of a host

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a service answered; the names of headers are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> object:
        """The body, read as JSON; None if it is empty.

        Raises:
            UnavailableError: it is not JSON.
        """
        try:
            return json.loads(self.body) if self.body.strip() else None
        except (ValueError, RecursionError):
            raise UnavailableError(f"{host_in(self.url)} answered {self.status} without JSON", self.said()) from None

    def fields(self) -> Mapping[str, object]:
        """The body, read as a JSON object.

        Raises:
            UnavailableError: it is not a JSON object.
        """
        found = self.json()
        if not isinstance(found, dict):
            raise UnavailableError(f"{host_in(self.url)} answered {self.status} without a JSON object", self.said())
        return found

    def said(self) -> str:
        """The start of the body, for a message or a log."""
        text = " ".join(self.body[:800].decode("utf-8", "replace").split())
        return "".join(letter if letter.isprintable() else "?" for letter in text)[:200]


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of *host*, in the order in which they are best tried.

    Raises:
        OSError: it has none.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Outgoing:
    """Sends requests to other services: https, no redirects, no proxies, bounded size and time.

    Only *private* hosts, as `localhost` or `idp.campus.example:8443`, may have private addresses and use http.
    """

    def __init__(
        self,
        private: Collection[str] = (),
        resolver: Resolve = resolve,
        context: ssl.SSLContext | None = None,
        seconds: float = _SECONDS,
    ) -> None:
        self._private = frozenset(private)
        self._resolve = resolver
        self._context = context
        self._seconds = seconds
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """The answer to a GET. Raises as `send` does."""
        return await self.send("GET", url, headers=headers)

    async def post_form(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """The answer to a POST of a form. Raises as `send` does."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode(form).encode()
        return await self.send("POST", url, headers={**kind, **(headers or {})}, body=body)

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        most: int = MOST_BYTES,
    ) -> HttpAnswer:
        """The answer to a request, whatever its status, of *most* bytes at the most.

        Raises:
            RefusedError: the address must not be asked.
            UnavailableError: the service cannot be reached, is too slow, or answers too much.
        """
        target = target_of(url, self._private)
        try:
            async with asyncio.timeout(self._seconds), self._turns:
                return await self._sent(method, target, headers or {}, body, most)
        except TimeoutError:
            says = f"{target.host} did not answer within {self._seconds:g} seconds"
            raise UnavailableError(says) from None
        except httpx2.TimeoutException as error:
            raise UnavailableError(f"{target.host} did not answer in time", str(error)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            cause = str(error) or type(error).__name__
            raise UnavailableError(f"{target.host} cannot be reached", cause) from error

    async def check(self, url: str) -> None:
        """Refuse an address that must not be asked, before it is stored.

        Raises:
            RefusedError: it must not be asked.
        """
        try:
            async with asyncio.timeout(self._seconds):
                await self._addresses(target_of(url, self._private))
        except TimeoutError:
            raise RefusedError(f"the name {host_in(url)} cannot be resolved in time") from None

    async def _addresses(self, target: Target) -> Sequence[str]:
        try:
            found = await self._resolve(target.host, target.port)
        except (OSError, UnicodeError):
            raise RefusedError(f"the host {target.host} was not found") from None
        inside = [address for address in found if not is_public(address)]
        if not found or (inside and not target.private):
            raise RefusedError(
                f"{target.host} has the private address {inside[0] if inside else ''}; to allow "
                f"it, add {target.host} to WALLCLOCK_PRIVATE_HOSTS"
            )
        return found

    async def _sent(
        self, method: str, target: Target, headers: Mapping[str, str], body: bytes, most: int
    ) -> HttpAnswer:
        *others, last = (await self._addresses(target))[:_TRIED]
        for address in others:
            try:
                return await self._ask(method, target, address, headers, body, most)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # such as IPv6 without a route
        return await self._ask(method, target, last, headers, body, most)

    async def _ask(
        self, method: str, target: Target, address: str, headers: Mapping[str, str], body: bytes, most: int
    ) -> HttpAnswer:
        """The answer from *address*, over a connection of its own."""
        request = httpx2.Request(
            method,
            _pinned(target.parts, address),
            headers={
                "Host": target.parts.netloc,
                "Accept": "application/json",
                "Accept-Encoding": "identity",  # what unpacks to gigabytes is not read
                "User-Agent": "wallclock",
                "Connection": "close",
                **headers,
            },
            content=body or None,
            extensions={
                "sni_hostname": target.host,
                "timeout": {"connect": _PATIENCE, "pool": _PATIENCE, "read": self._seconds, "write": self._seconds},
            },
        )
        context = self._context or _certificates()
        async with httpx2.AsyncHTTPTransport(verify=context, trust_env=False) as transport:
            answer = await transport.handle_async_request(request)
            try:
                said = await _read_http_client(answer, target.host, most)
            finally:
                await answer.aclose()
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return HttpAnswer(target.parts.geturl(), answer.status_code, headers, said)


def host_in(url: str) -> str:
    """The host of an address, for a message."""
    try:
        return urlsplit(url).hostname or url[:100]
    except ValueError:
        return url[:100]


def text_in(fields: Mapping[str, object], name: str, whose: str) -> str:
    """A text that *fields* must have.

    Raises:
        UnavailableError: there is none.
    """
    found = fields.get(name)
    if not isinstance(found, str) or not found:
        raise UnavailableError(f"{whose} answered without its {name}")
    return found


async def _read_http_client(answer: httpx2.Response, host: str, most: int) -> bytes:
    packed = answer.headers.get("content-encoding", "identity")
    if packed != "identity":
        raise UnavailableError(f"{host} answered with {packed[:20]}, which was not asked for")
    body = bytearray()
    async for piece in answer.aiter_raw():
        body += piece
        if len(body) > most:
            raise UnavailableError(f"{host} answered with more than {most:,} bytes")
    return bytes(body)


def _pinned(parts: SplitResult, address: str) -> str:
    """The address with the host replaced by the one that was checked."""
    host = f"[{address}]" if ":" in address else address
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=host + port, fragment="").geturl()


@cache
def _certificates() -> ssl.SSLContext:
    """Those that the system trusts; SSL_CERT_FILE and SSL_CERT_DIR name others."""
    return ssl.create_default_context()
