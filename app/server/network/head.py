"""A request's head: the host that it asks for, the language of its answer, its size, and the encoding of a form."""

import re
import socket
from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.translation import LANGUAGES, speaking
from app.server.config import Settings

HEADERS = 16_384  # bytes of names and values
_ADDRESS = 8_192  # bytes of the path and the query
# Python before 3.11.10 and 3.12.6 parses a cookie in quadratic time (CVE-2024-7592).
_COOKIES = 4_096
_PARTS, _ENCODED = b"multipart/form-data", b"application/x-www-form-urlencoded"
_FORMS = (_PARTS, _ENCODED)
_UTF8 = {b"utf-8", b"utf8", b"us-ascii"}
_NUL = "contains the character NUL, which is not allowed"


def check_head(scope: Scope) -> None:
    """Check the head of the request in *scope*.

    Raises:
        HTTPException: it is refused; the status and the sentence say why.
    """
    _check_address(scope["path"], scope["query_string"])
    size = cookies = 0
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name == b"cookie":
            cookies += len(value)
        elif name == b"content-type":
            _check_form(value.lower())
    if size > HEADERS:
        raise HTTPException(431, f"the headers are too large: at most {HEADERS:,} bytes are read")
    if cookies > _COOKIES:
        raise HTTPException(431, f"the cookies are too large: at most {_COOKIES:,} bytes are read; delete some")


def announced_length(scope: Scope) -> int:
    """The Content-Length; 0 if there is none."""
    value = _header(scope, b"content-length")
    return int(value) if value.isdigit() else 0


def form_in(scope: Scope) -> Literal["", "encoded", "parts"]:
    """How the form that is sent is written; empty if it is not a form."""
    kind = _header(scope, b"content-type").lower()
    if kind.startswith(_ENCODED):
        return "encoded"
    return "parts" if kind.startswith(_PARTS) else ""


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for known, value in scope["headers"] if known == name), b"")


def _check_address(path: str, query: bytes) -> None:
    if len(path) + len(query) > _ADDRESS:
        raise HTTPException(414, f"the address is too long: at most {_ADDRESS:,} characters are read")
    if "\0" in path:
        raise HTTPException(404, f"there is nothing at this address: it {_NUL}")
    if b"%00" in query or b"\0" in query:
        raise HTTPException(400, f"this address {_NUL}")


def _check_form(kind: bytes) -> None:
    """Refuse a form that is not UTF-8: some of Python's codecs are not text encodings."""
    if not kind.startswith(_FORMS):
        return
    for part in kind.split(b";")[1:]:
        name, _, value = part.partition(b"=")
        if name.strip() == b"charset" and value.strip(b" \"'") not in _UTF8:
            raise HTTPException(415, "a form must be sent as UTF-8")


_ANY = "*"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(:[0-9]*)?")
_OF_THIS_MACHINE = ".localhost"


class Hosts:
    """Which names are this server's; at the paths in *open_to_all*, any is."""

    def __init__(self, settings: Settings, open_to_all: Collection[str] = ()) -> None:
        machine = socket.gethostname().lower()
        own = {urlsplit(settings.url).hostname or "", settings.host.lower(), machine}
        self._names = own | {f"{machine}.local"} | settings.hosts
        self._open = open_to_all

    def admit(self, scope: Scope) -> bool:
        """Whether the request in *scope* asks for this server by one of its names."""
        if _ANY in self._names or scope["path"] in self._open:
            return True
        return all(self._is_ours(value) for name, value in scope["headers"] if name == b"host")

    def _is_ours(self, value: bytes) -> bool:
        found = _HOST.fullmatch(value.decode("latin-1").strip().lower())
        if found is None:
            return False
        name = found[1].removesuffix(".")
        if name in self._names or "." not in name or name.endswith(_OF_THIS_MACHINE):
            return True
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


COOKIE = "language"
VISIT = "visit-language"  # the cookie of a language that came in an address
_KEPT = 256  # headers whose language is remembered
_LONGEST = 500  # characters of a header that are read
_ASKED = re.compile(rb"(?:^|&)lang=([a-z]{2})(?:&|$)")
_CHOSEN = re.compile(rb"(?:^|;\s*)language=([a-z]{2})(?:;|$)")
_VISITED = re.compile(rb"(?:^|;\s*)visit-language=([a-z]{2})(?:;|$)")
# Files and images are the same in every language, and may be kept by caches.
_ALIKE = ("/static/", "/images/")


class Languages:
    """ASGI middleware that chooses the language of each request; *default* where nothing does."""

    def __init__(self, app: ASGIApp, default: str) -> None:
        self._app = app
        self._default = default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["path"].startswith(_ALIKE):
            await self._app(scope, receive, send)
            return
        asked = _known(_ASKED.search(scope["query_string"]))
        if asked and scope["method"] == "GET":
            send = _remembering(asked, send)
        with speaking(asked or self._code(scope["headers"])):
            await self._app(scope, receive, send)

    def _code(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        chosen, preferred = "", b""
        for name, value in headers:
            if name == b"cookie":
                if visited := _known(_VISITED.search(value)):
                    return visited
                chosen = chosen or _known(_CHOSEN.search(value))
            elif name == b"accept-language":
                preferred = value
        return chosen or (best(preferred, self._default) if preferred else self._default)


def _remembering(code: str, send: Send) -> Send:
    """*send*, which sets a cookie for the visit with a page in the language *code*."""
    cookie = f"{VISIT}={code}; Path=/; SameSite=lax".encode()

    async def sent(message: Message) -> None:
        headers = message.get("headers", ())
        if any(name == b"content-language" for name, _ in headers):
            message = {**message, "headers": [*headers, (b"set-cookie", cookie)]}
        await send(message)

    return sent


@lru_cache(_KEPT)
def best(header: bytes, default: str) -> str:
    """The language offered that an Accept-Language *header* prefers; *default* if it names none.

    >>> best(b"fr, de-AT;q=0.8, en;q=0.5", "en")
    'de'
    """
    ranked = []
    for number, part in enumerate(header[:_LONGEST].decode("latin-1").lower().split(",")):
        name, _, options = part.strip().partition(";")
        code = name.strip().partition("-")[0]
        if code in LANGUAGES and (weight := _weight(options)) > 0:
            ranked.append((-weight, number, code))
    return min(ranked)[2] if ranked else default


def without_language(address: str) -> str:
    """A path and query without the language that the query asks for.

    >>> without_language("/explore/ring?ranks=8&lang=de&show=1")
    '/explore/ring?ranks=8&show=1'
    """
    path, _, query = address.partition("?")
    rest = "&".join(part for part in query.split("&") if not part.startswith("lang="))
    return f"{path}?{rest}" if rest else path


def _weight(options: str) -> float:
    """How much a language is preferred, from 0 to 1; 0 if it cannot be read."""
    if not options.strip():
        return 1.0
    found = re.fullmatch(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*", options)
    return float(found[1]) if found else 0.0


def _known(found: re.Match[bytes] | None) -> str:
    code = found[1].decode() if found else ""
    return code if code in LANGUAGES else ""
