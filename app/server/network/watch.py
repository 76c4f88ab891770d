"""What an operator sees of requests: counts, times, and the access log."""

import hashlib
import logging
import re
from secrets import token_hex
from urllib.parse import quote

from prometheus_client import Counter, Histogram
from starlette.types import Scope

from app.server.metrics import REQUEST_SECONDS, REQUESTS
from app.server.network.guard import GUARD, PEER, Guard

LEARNER = "learner"  # in the state of a request: whose request it is, once that is known
REQUEST_ID = "request_id"  # in the state of a request: its ID, if one was asked for
_FROM_PROXY = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_PARAMETER = re.compile(r"\{(\w+)(:\w+)?\}")
# Others may be secrets, such as the code by which a class is joined, or a file of one's own.
_PUBLIC = {"topic", "slug", "name", "class_id", "assignment"}
_OWN = "/measured/"
_DIGEST = 6  # bytes
_NO_RESPONSE = 499  # as nginx logs a client that is gone
_log = logging.getLogger("app.access")


class Watch:
    """Counts and times requests and, if it *logs*, logs them; *secret* hides who learners are."""

    def __init__(self, *, logs: bool, secret: str) -> None:
        self.logs = logs
        self._key = hashlib.sha256(f"access log {secret}".encode()).digest()
        # To look a series up takes longer than to count in it.
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def note(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        """Count a request that has its response; *status* 0 stands for none."""
        series = method, route_of(scope), status or _NO_RESPONSE
        try:
            self._counters[series].inc()
            self._timers[series[1]].observe(seconds)
        except KeyError:
            self._note_first(series, seconds)
        if self.logs:
            self._write(scope, method, series[2], seconds)

    def _note_first(self, series: tuple[str, str, int], seconds: float) -> None:
        method, route, status = series
        known = method if method in _METHODS else "other"
        counter = REQUESTS.labels(known, route or "none", status)
        timer = REQUEST_SECONDS.labels(route or "none")
        if known == method:
            self._counters[series], self._timers[route] = counter, timer
        counter.inc()
        timer.observe(seconds)

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
    if REQUEST_ID not in state:
        state[REQUEST_ID] = _from_proxy(scope) or token_hex(8)
    return str(state[REQUEST_ID])


def route_of(scope: Scope) -> str:
    """The route that a request took, such as /chapters/{topic}; empty if there is none."""
    return str(getattr(scope.get("route"), "path", ""))


def public_path(scope: Scope) -> str:
    """The path of a request as a log may hold it: without what may be secret, and no query."""
    route, parameters = route_of(scope), scope.get("path_params") or {}

    def shown(match: re.Match[str]) -> str:
        name = match[1]
        is_public = name in _PUBLIC and name in parameters and not route.startswith(_OWN)
        return quote(str(parameters[name])) if is_public else f"{{{name}}}"

    if route:
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
