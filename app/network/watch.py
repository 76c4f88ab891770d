"""ASGI middleware that counts and times requests, and writes the access log."""

import hashlib
import logging
import re
import time
from secrets import token_hex
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.metrics import REQUEST_SECONDS, REQUESTS
from app.network.guard import GUARD, PEER, Guard

LEARNER = "learner"  # in the state of a request: whose request it is, once that is known
_ID = "request_id"
_FROM_PROXY = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_PARAMETER = re.compile(r"\{(\w+)(:\w+)?\}")
# Others may be secrets, such as the code by which a class is joined.
_PUBLIC = {"topic", "slug", "class_id", "assignment"}
_DIGEST = 6  # bytes
_log = logging.getLogger("app.access")


class Watch:
    """Counts every request and, if *logs*, logs it; *secret* hides who the learners are."""

    def __init__(self, app: ASGIApp, *, logs: bool, secret: str) -> None:
        self._app = app
        self._logs = logs
        self._key = hashlib.sha256(f"access log {secret}".encode()).digest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        if self._logs:
            request_id(scope)
        try:
            await self._app(scope, receive, sent)
        finally:
            self._note(scope, status, time.perf_counter() - begin)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = route_of(scope) or "none"
        REQUESTS.labels(method, route, status).inc()
        REQUEST_SECONDS.labels(route).observe(seconds)
        if self._logs:
            self._write(scope, method, status, seconds)

    def _write(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        client = scope.get("client")
        fields = {
            "request": request_id(scope),
            "client": client[0] if client else "",
            "method": method,
            "path": public_path(scope),
            "status": status,
            "milliseconds": round(seconds * 1e3, 1),
            "learner": self._digest(scope.get("state", {}).get(LEARNER, "")),
        }
        said = " ".join(f"{name}={value}" for name, value in fields.items() if value != "")
        _log.info(said, extra={"fields": fields})

    def _digest(self, learner: str) -> str:
        if not learner:
            return ""
        return hashlib.blake2b(learner.encode(), key=self._key, digest_size=_DIGEST).hexdigest()


def request_id(scope: Scope) -> str:
    """The X-Request-ID that a trusted proxy gave to a request; otherwise a new one."""
    state: dict[str, object] = scope.setdefault("state", {})
    if _ID not in state:
        state[_ID] = _from_proxy(scope) or token_hex(8)
    return str(state[_ID])


def known_id(scope: Scope) -> str:
    """The ID of a request, if one was asked for."""
    return str(scope.get("state", {}).get(_ID, ""))


def route_of(scope: Scope) -> str:
    """The route that a request took, such as /chapters/{topic}; empty if there is none."""
    return str(getattr(scope.get("route"), "path", ""))


def public_path(scope: Scope) -> str:
    """The path of a request as a log may hold it: without what may be secret, and no query."""
    parameters = scope.get("path_params") or {}

    def shown(match: re.Match[str]) -> str:
        name = match[1]
        is_public = name in _PUBLIC and name in parameters
        return quote(str(parameters[name])) if is_public else f"{{{name}}}"

    if route := route_of(scope):
        return _PARAMETER.sub(shown, route)
    first, slash, _ = scope["path"][1:].partition("/")
    return quote(f"/{first[:40]}{slash}") + ("..." if slash else "")


def _from_proxy(scope: Scope) -> str:
    state = scope["state"]
    guard, peer = state.get(GUARD), state.get(PEER, "")
    if not isinstance(guard, Guard) or not guard.is_proxy(peer):
        return ""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _FROM_PROXY.fullmatch(value):
            return str(value.decode("ascii"))
    return ""
