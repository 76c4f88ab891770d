"""The language that a request is answered in.

The first that says something: `?lang=de` in the address, the visitor's choice (a cookie, which is
set only by choosing), the languages that the browser prefers, and the operator's setting.
"""

import re
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from app.translation import LANGUAGES, SOURCE, speaking

COOKIE = "language"
_KEPT = 256  # headers whose language is remembered
_LONGEST = 500  # characters of a header that are read
_ASKED = re.compile(rb"(?:^|&)lang=([a-z]{2})(?:&|$)")
_CHOSEN = re.compile(rb"(?:^|;\s*)language=([a-z]{2})(?:;|$)")
# Files, pictures and figures are the same in every language, and may be kept by caches.
_ALIKE = ("/static/", "/pictures/", "/images/")


class Languages:
    """ASGI middleware that chooses the language of each request; *default* where nothing does."""

    def __init__(self, app: ASGIApp, default: str) -> None:
        self._app = app
        self._default = default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        code = self._code(scope) if scope["type"] == "http" else SOURCE
        if code == SOURCE:
            await self._app(scope, receive, send)
            return
        with speaking(code):
            await self._app(scope, receive, send)

    def _code(self, scope: Scope) -> str:
        if scope["path"].startswith(_ALIKE):
            return SOURCE
        if asked := _known(_ASKED.search(scope["query_string"])):
            return asked
        preferred = b""
        for name, value in scope["headers"]:
            if name == b"cookie" and (chosen := _known(_CHOSEN.search(value))):
                return chosen
            if name == b"accept-language":
                preferred = value
        return best(preferred, self._default) if preferred else self._default


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


def _weight(options: str) -> float:
    """How much a language is preferred, from 0 to 1; 0 if it cannot be read."""
    if not options.strip():
        return 1.0
    found = re.fullmatch(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*", options)
    return float(found[1]) if found else 0.0


def _known(found: re.Match[bytes] | None) -> str:
    code = found[1].decode() if found else ""
    return code if code in LANGUAGES else ""
