"""What one response may do beyond this site: go to another host, be framed by it, post to it.

It may also reach the window that opened it. Every response forbids all of this (see `door`). A handler that needs one
of them says so here, for an address that it has checked itself: never for one that a visitor has merely sent. Whatever
the address is, nothing but an origin gets into the Content-Security-Policy.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.translation import translate
from app.server.aside import current_payer

BEYOND = "beyond"  # in the state of a request: what its handler has allowed, if anything
_ANYONE = "*"  # in the policy, any origin
_ORIGIN = re.compile(r"https?://([a-z0-9_.-]{1,253}|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


@dataclass(slots=True)
class ForeignOrigins:
    """Where a redirect may go, and the origins of pages that frame ours or that ours posts to.

    *opener*: the window that opened the page stays known to it.
    """

    location: str = ""
    frames: set[str] = field(default_factory=set)
    forms: set[str] = field(default_factory=set)
    opener: bool = False


def redirect_beyond(request: Request, address: str, status: int = 303) -> RedirectResponse:
    """A redirect to *address* on another host."""
    response = RedirectResponse(address, status)
    _beyond(request).location = response.headers["location"]
    return response


def let_frame(request: Request, addresses: Iterable[str]) -> None:
    """Let pages of the origins of *addresses* show the response in a frame."""
    _beyond(request).frames |= _origins(addresses)


def let_anyone_frame(request: Request) -> None:
    """Let any page show the response in a frame: it only says something."""
    _beyond(request).frames.add(_ANYONE)


def let_post(request: Request, addresses: Iterable[str]) -> None:
    """Let forms of the response be sent to the origins of *addresses*."""
    _beyond(request).forms |= _origins(addresses)


def keep_opener(request: Request) -> None:
    """Let the response reach the window that opened it, which is of any site."""
    _beyond(request).opener = True


def origin_of(url: str) -> str:
    """The scheme, host and port of an address; empty if it has none, or one that is not plain.

    >>> origin_of("https://LMS.example:8443/course?id=7"), origin_of("https://x; script-src *")
    ('https://lms.example:8443', '')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    origin = f"{parts.scheme}://{parts.netloc.lower()}"
    return origin if _ORIGIN.fullmatch(origin) else ""


def _origins(addresses: Iterable[str]) -> set[str]:
    return {origin for address in addresses if (origin := origin_of(address))}


def _beyond(request: Request) -> ForeignOrigins:
    state: State = request.state
    if not isinstance(getattr(state, BEYOND, None), ForeignOrigins):
        setattr(state, BEYOND, ForeignOrigins())
    found = getattr(state, BEYOND)
    return found if isinstance(found, ForeignOrigins) else ForeignOrigins()


MOST = 1 << 20  # bytes of a page, before it is compressed
_KINDS = (b"text/html", b"application/json", b"image/svg+xml")


class PageLimit:
    """ASGI middleware that refuses pages of more than *most* bytes to those who are not known.

    Streams and downloads have no limit, nor have the lists of a class that its people look at.
    """

    def __init__(self, app: ASGIApp, most: int = MOST) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on.

        Raises:
            HTTPException: 422, the page is too large.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limited = _LimitedResponse(send, self._most)
        await self._app(scope, receive, limited)
        if limited.size:
            raise HTTPException(422, translate("the page would have {size:,} bytes: ask for less", size=limited.size))


class _LimitedResponse:
    """Holds the start of a response back until the size of its page is known."""

    def __init__(self, send: Send, most: int) -> None:
        self._send = send
        self._most = most
        self._start: Message | None = None
        self.size = 0  # bytes of a page that was too large

    async def __call__(self, message: Message) -> None:
        headers = dict(message.get("headers", ()))
        is_too_large = not message.get("more_body", False) and len(message.get("body", b"")) > self._most
        if headers.get(b"content-type", b"").startswith(_KINDS) and b"content-disposition" not in headers:
            self._start = message
        elif self._start is None:
            if not self.size:
                await self._send(message)
        elif is_too_large and not current_payer().is_known:
            self.size, self._start = len(message["body"]), None
        else:
            start, self._start = self._start, None
            await self._send(start)
            await self._send(message)
