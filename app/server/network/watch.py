"""What an operator sees of requests: counts, times, the log, and what holds the event loop up."""

import asyncio
import faulthandler
import json
import logging
import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b, sha256
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from threading import Event, Thread, get_ident
from time import monotonic, process_time
from typing import Any, Literal
from urllib.parse import quote

from prometheus_client import Counter, Histogram
from starlette.types import Scope

from app.server.aside.ceiling import end_overtime
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
        self._key = sha256(f"access log {secret}".encode()).digest()
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
        client, learner = scope.get("client"), scope.get("state", {}).get(LEARNER, "").encode()
        fields = {
            "request": request_id(scope),
            "client": client[0] if client else "",
            "method": method,
            "path": public_path(scope),
            "status": status,
            "milliseconds": round(seconds * 1e3, 1),
            "learner": blake2b(learner, key=self._key, digest_size=_DIGEST).hexdigest() if learner else "",
        }
        said = " ".join(f"{name}={value}" for name, value in fields.items() if value != "")
        _log.info(said, extra={"fields": fields})


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


STALL = 0.5  # seconds in which the event loop does nothing else
_PERIOD = 0.1  # seconds between two looks
_SHOWN = 5  # requests, and calls of each thread
_OURS = str(Path(__file__).resolve().parents[2])
_WAITING = {"threading.py", "queue.py", "selectors.py"}  # where a thread is that has nothing to do
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x([0-9a-f]+)", re.MULTILINE)
_CALL = re.compile(r'^  File "([^"\n]+)", line (\d+) in ([^\n]+)$', re.MULTILINE)
_stalls_log = logging.getLogger(__name__)


class StallWatch:
    """Looks ten times a second whether the event loop gets on, from a thread beside it."""

    def __init__(self, longest: float = STALL) -> None:
        self._longest = longest
        self._underway: dict[int, Scope] = {}
        self._due = math.inf  # when the event loop is to say the next time that it gets on
        self._used = 0.0  # seconds of processor time of this process at the last time
        self._seen: list[str] = []  # what each thread did when the event loop was late

    @contextmanager
    def handling(self, scope: Scope) -> Iterator[None]:
        """Name the request of *scope* if the event loop stalls in this block."""
        self._underway[id(scope)] = scope
        try:
            yield
        finally:
            del self._underway[id(scope)]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the event loop that runs in this block."""
        ended, loop = Event(), asyncio.get_running_loop()
        thread = Thread(target=self._watch, args=(ended, get_ident()), name="stall watch", daemon=True)
        timer = loop.call_soon(lambda: None)

        def beat() -> None:
            nonlocal timer
            self._get_on(get_ident())
            timer = loop.call_later(_PERIOD, beat)

        beat()
        thread.start()
        try:
            yield
        finally:
            timer.cancel()
            ended.set()
            thread.join()
            self._due = math.inf

    def _get_on(self, thread: int) -> None:
        """Note that the event loop gets on, and log a stall if it is late."""
        now, used = monotonic(), process_time()
        if now - self._due > self._longest:
            self._report(now - self._due, used - self._used, self._seen or calls_of_threads(thread))
        self._due, self._used, self._seen = now + _PERIOD, used, []

    def _watch(self, ended: Event, thread: int) -> None:
        while not ended.wait(_PERIOD):
            end_overtime()
            if monotonic() - self._due > self._longest and not self._seen:
                self._seen = calls_of_threads(thread)

    def _report(self, seconds: float, used: float, calls: list[str]) -> None:
        paths = [f"{one['method']} {public_path(one)}" for one in list(self._underway.values())[:_SHOWN]]
        fields = {"seconds": round(seconds, 2), "processor": round(used, 2), "requests": paths, "calls": calls}
        _stalls_log.warning(
            "the event loop stood still for %.1f s (%.1f s of processor time of this process); under way: %s; %s",
            seconds,
            used,
            ", ".join(paths) or "no request",
            "; ".join(calls),
            extra={"fields": fields},
        )


def calls_of_threads(loop: int) -> list[str]:
    """What each thread of ours is doing, the innermost call first; *loop* is the one of the event loop."""
    with TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        _, *parts = _THREAD.split(file.read())
    found: list[str] = []
    for number, text in zip(parts[::2], parts[1::2], strict=True):
        calls = [call for call in _CALL.findall(text) if call[0] != __file__]
        listed = " < ".join(f"{Path(file).name}:{line} {name}" for file, line, name in calls[:_SHOWN])
        if int(number, 16) == loop:
            found.insert(0, f"event loop: {listed}")
        elif any(file.startswith(_OURS) for file, _, _ in calls) and Path(calls[0][0]).name not in _WAITING:
            found.append(f"beside it: {listed}")
    return found
