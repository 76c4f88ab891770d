"""What an operator sees of requests: counts, times, the log and its format."""

import hashlib
import json
import logging
import re
import time
from secrets import token_hex
from typing import Any, Literal
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


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_BROKEN = "\n  "  # further lines of an entry, such as a traceback, are indented


class Lines(logging.Formatter):
    """Log entries with their time in UTC; control characters are escaped as in Python."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format one entry; the traceback, too, may contain a client's text."""
        record.message = escape_control(record.getMessage())
        record.asctime = self.formatTime(record)
        lines = [self.formatMessage(record)]
        if record.exc_info:
            lines += map(escape_control, self.formatException(record.exc_info).split("\n"))
        return _BROKEN.join(lines)


def escape_control(text: str) -> str:
    r"""*text* with the characters escaped that move the cursor, or change colors or direction.

    >>> escape_control("\x1b[2J ring\n")
    '\\x1b[2J ring\\n'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Objects(Lines):
    """Log entries as objects of JSON, one a line, with the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one entry; json escapes control characters."""
        entry = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def logging_configuration(form: Literal["text", "json"] = "text") -> dict[str, Any]:
    """The logging of every process of the server, for `logging.config.dictConfig`."""
    formatter = Objects if form == "json" else Lines
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "app.access": {"level": "INFO"},
            "uvicorn.error": {"level": "ERROR"},  # warnings are about non-HTTP requests
        },
    }
