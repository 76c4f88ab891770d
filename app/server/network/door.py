"""ASGI middleware around everything: checks of heads, bodies and limits, security headers, faults."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from secrets import token_urlsafe
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.translation import noted, translate
from app.server.network.allowance import Budget
from app.server.network.drain import DrainState
from app.server.network.head import announced_length, check_head, form_in
from app.server.network.response_policy import BEYOND, ForeignOrigins
from app.server.network.watch import REQUEST_ID, StallWatch, Watch, public_path, request_id

_NUL_OVERLAP = 2  # bytes of an encoded NUL that may be in the previous chunk of a form
# To decode a form takes a microsecond for each of these, on the event loop. An answer of 20,000
# characters, each of four bytes, has 80,000 of the first.
_MOST_CODED, _MOST_FIELDS = 100_000, 1_000
_FORM = 512 << 10  # bytes of a form in which characters are encoded


class LimitedBody:
    """The messages of a request, of whose body at most *limit* bytes are read.

    A *file* may have any content; a form is refused if it has the character NUL, or if it would take long to decode.
    """

    def __init__(self, scope: Scope, receive: Receive, limit: int, *, file: bool) -> None:
        """Refuse a body that is announced as too large.

        Raises:
            HTTPException: 413.
        """
        self._receive = receive
        form = form_in(scope)
        self._encoded = form == "encoded"
        self._limit = min(limit, _FORM) if self._encoded else limit
        self._nul = b"%00" if self._encoded else b"\0" if form and not file else b""
        self._received = self._coded = self._fields = 0
        self._last = b""
        if announced_length(scope) > self._limit:
            raise self._too_large()

    async def __call__(self) -> Message:
        """The next message.

        Raises:
            HTTPException: 413 or 422, the body is refused.
        """
        message = await self._receive()
        body = message.get("body", b"")
        self._received += len(body)
        if self._received > self._limit:
            raise self._too_large()
        if self._encoded:
            self._coded += body.count(b"%")
            self._fields += body.count(b"&")
            if self._coded > _MOST_CODED or self._fields > _MOST_FIELDS:
                says = "the form is too large: it has too many fields, or too many special characters"
                raise HTTPException(413, says)
        if self._nul:
            if self._nul in self._last + body:
                raise HTTPException(422, "the form contains the character NUL; remove it")
            self._last = (self._last + body)[-_NUL_OVERLAP:]
        return message

    def _too_large(self) -> HTTPException:
        return HTTPException(413, f"the body is too large: at most {self._limit:,} bytes are read")


_log = logging.getLogger(__name__)
_Headers = list[tuple[bytes, bytes]]
# 'unsafe-inline' for style attributes: MathML spaces its rows with them; they cannot run scripts.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action {forms}; frame-src {frames}; frame-ancestors {ancestors}; base-uri 'none'"
)
_NO_PAGE = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"
_ALWAYS: _Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
_ALONE = (b"cross-origin-opener-policy", b"same-origin")
_OPENED = (b"cross-origin-opener-policy", b"unsafe-none")
_CACHING = b"cache-control"
_LAST: _Headers = [(b"connection", b"close")]
_FOR_PROGRAMS: _Headers = [*_ALWAYS, _ALONE, (b"content-security-policy", _NO_PAGE)]
_OTHER_NAME = noted(
    "this server was asked for by a name that is not its own; its operator can set WALLCLOCK_URL "
    "to its address, or list the name in WALLCLOCK_HOSTS"
)
_NUMBER, _DIGIT = re.compile(r"/[0-9]+(?=/|$)"), re.compile(r"/[0-9]")
_PAUSE = 0.5  # seconds before a visitor who has used or tried too much is told so
_SAID = 200  # characters of a fault in the line of the log that names it


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The settings of the middleware; *framed*: pages may be in frames of our own pages.

    No browser and no proxy stores what is at a *private* path: the next one at the computer may be another person.
    *files* are the paths that take a file of any content, with the maximum bytes of their bodies; in them, * stands for
    a number.
    """

    owns: Callable[[str], object]  # true or a match: whether a path is for programs, not people
    respond: Callable[[Request, Exception], Awaitable[Response]]
    body_limit: int
    streamed: Collection[str]  # paths whose bodies are unlimited
    files: Mapping[str, int] = field(default_factory=dict)
    framed: bool = False
    private: Callable[[str], object] = lambda path: False
    admits: Callable[[Scope], bool] = lambda scope: True  # by the name that it was asked for
    draining: DrainState = field(default_factory=partial(DrainState, 0.0))
    ready: Callable[[], Awaitable[None]] | None = None  # returns when requests may be handled
    budget: Budget | None = None  # of processor time
    stalls: StallWatch = field(default_factory=StallWatch)
    free: Collection[str] = ()  # paths that cost nothing, and are always handled
    direct: Mapping[str, Route] = field(default_factory=dict)  # by path: what is asked for too often to be looked up


class _ResponseSender:
    """Passes a response on, with *headers*; without its body if *bodiless*, to be stored by none if
    *private*.

    The headers are made when the response starts: its handler may have allowed something.
    """

    __slots__ = ("_headers", "_private", "_scope", "_send", "bodiless", "started", "status")

    def __init__(
        self, scope: Scope, send: Send, headers: Callable[[], _Headers], *, bodiless: bool, private: bool
    ) -> None:
        self._scope = scope
        self._send = send
        self._headers = headers
        self._private = private
        self.bodiless = bodiless
        self.started = False
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            if self.status == HTTPStatus.TOO_MANY_REQUESTS:
                await asyncio.sleep(_PAUSE)
            inside = message["headers"]
            state = self._scope.get("state", {})
            if HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST:
                beyond: ForeignOrigins | None = state.get(BEYOND)
                inside = _inside(inside, beyond.location.encode() if beyond else b"")
            if self._private:
                inside = [*(one for one in inside if one[0] != _CACHING), (_CACHING, b"no-store")]
            known = str(state.get(REQUEST_ID, ""))
            identified = [(b"x-request-id", known.encode())] if known else []
            message = {**message, "headers": [*inside, *self._headers(), *identified]}
        elif self.bodiless:
            message = {**message, "body": b""}
        await self._send(message)


class Door:
    """Refuse what is too large, add headers, answer HEAD, and turn faults into responses.

    A page finds its nonce in the request's state.
    """

    def __init__(self, app: ASGIApp, rules: Rules, watch: Watch | None = None) -> None:
        self._app = app
        self._rules = rules
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._watch:
            await self._watched(self._watch, scope, receive, send)
        else:
            await self._enter(scope, receive, send)

    async def _watched(self, watch: Watch, scope: Scope, receive: Receive, send: Send) -> None:
        begin, method = time.perf_counter(), scope["method"]
        if watch.logs:
            request_id(scope)
        scope, status = await self._enter(scope, receive, send)
        watch.note(scope, method, status, time.perf_counter() - begin)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> tuple[Scope, int]:
        """Pass the request on; the scope as its handler left it, and the status of the response."""
        headers, bodiless = self._headers(scope), scope["method"] == "HEAD"
        private = bool(self._rules.private(scope["path"]))
        sender = _ResponseSender(scope, send, headers, bodiless=bodiless, private=private)
        if sender.bodiless:  # a copy: the server needs the original to know that no body follows
            scope = {**scope, "method": "GET"}
        try:
            with self._rules.stalls.handling(scope):
                await self._pass(scope, receive, sender)
        except ClientDisconnect:
            pass  # no one waits for a response
        except Exception as error:  # whatever it is, the response to it has these headers
            if sender.started:
                raise
            response = await self._rules.respond(Request(scope), error)
            await response(scope, receive, sender)
        return scope, sender.status

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_head(scope)
        except HTTPException:
            scope["headers"] = [one for one in scope["headers"] if one[0] != b"cookie"]  # it may take long to parse
            raise
        if not self._rules.admits(scope):
            raise HTTPException(421, translate(_OTHER_NAME))
        budget = self._rules.budget
        if budget is None or scope["path"] in self._rules.free:
            await self._handle(scope, receive, send)
            return
        await budget.charged(scope, partial(self._handle, scope, receive, send))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._rules.ready and scope["path"] not in self._rules.free:
            await self._rules.ready()
        if scope["path"] not in self._rules.streamed:
            path = scope["path"]
            file = self._rules.files.get(_NUMBER.sub("/*", path) if _DIGIT.search(path) else path)
            receive = LimitedBody(scope, receive, file or self._rules.body_limit, file=bool(file))
        route = self._rules.direct.get(scope["path"])
        if route and scope["method"] in (route.methods or ()):
            scope["route"] = route
            await route.app(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _headers(self, scope: Scope) -> Callable[[], _Headers]:
        if self._rules.owns(scope["path"]):
            return lambda: [*_FOR_PROGRAMS, *self._parting()]
        nonce = token_urlsafe(12)
        scope.setdefault("state", {})["nonce"] = nonce
        frames = "'self'" if self._rules.framed else "'none'"

        def headers() -> _Headers:
            beyond: ForeignOrigins | None = scope["state"].get(BEYOND)
            forms = " ".join(("'self'", *sorted(beyond.forms))) if beyond else "'self'"
            ancestors = " ".join(sorted(beyond.frames)) if beyond else ""
            policy = _POLICY.format(nonce=nonce, frames=frames, forms=forms, ancestors=ancestors or frames)
            policies = (b"content-security-policy", policy.encode())
            opener = _OPENED if beyond and beyond.opener else _ALONE
            return [*_ALWAYS, opener, policies, *self._parting()]

        return headers

    def _parting(self) -> _Headers:
        return _LAST if self._rules.draining.has_begun else []


def note_fault(request: Request, error: Exception) -> None:
    """Log a fault of the server, once: a line with the ID that the page shows, and a traceback."""
    number, path = request_id(request.scope), public_path(request.scope)
    what = f"{type(error).__name__}: {str(error)[:_SAID]}"
    fields = {"request": number, "method": request.method, "path": path}
    _log.error(
        "request %s failed: %s %s: %s", number, request.method, path, what, exc_info=error, extra={"fields": fields}
    )


def note_trouble(request: Request, error: Exception, cause: str) -> None:
    """Log that a part of the server is unavailable, with the *cause* that visitors do not see."""
    because = f" ({cause})" if cause else ""
    where = public_path(request.scope)
    _log.warning("%s %s refused: %s%s", request.method, where, error, because)


def _inside(headers: _Headers, allowed: bytes = b"") -> _Headers:
    """*headers* with a Location on this host, whose name came from the client, or the one that is *allowed*."""
    found = []
    for name, value in headers:
        if name == b"location" and value != allowed:
            path = value.decode("latin-1")
            if not path.startswith("/"):
                parts = urlsplit(path)
                path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            # Two slashes, or a slash and a backslash, would name another host.
            value = f"/{path.lstrip('/' + chr(92))}".encode("latin-1")
        found.append((name, value))
    return found
