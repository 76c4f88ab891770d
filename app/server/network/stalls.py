"""What holds the event loop up, named in the log; and the end of work beside it that takes too long."""

import asyncio
import faulthandler
import logging
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread, get_ident
from time import monotonic, process_time

from starlette.types import Scope

from app.server.aside.ceiling import end_overtime
from app.server.network.watch import public_path

STALL = 0.5  # seconds in which the event loop does nothing else
_PERIOD = 0.1  # seconds between two looks
_SHOWN = 5  # requests, and calls of each thread
_OURS = str(Path(__file__).resolve().parents[2])
_WAITING = {"threading.py", "queue.py", "selectors.py"}  # where a thread is that has nothing to do
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x([0-9a-f]+)", re.MULTILINE)
_CALL = re.compile(r'^  File "([^"\n]+)", line (\d+) in ([^\n]+)$', re.MULTILINE)
_log = logging.getLogger(__name__)


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
        _log.warning(
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
        if int(number, 16) == loop:
            found.insert(0, f"event loop: {_shown_calls(calls)}")
        elif any(file.startswith(_OURS) for file, _, _ in calls) and Path(calls[0][0]).name not in _WAITING:
            found.append(f"beside it: {_shown_calls(calls)}")
    return found


def _shown_calls(calls: list[tuple[str, str, str]]) -> str:
    return " < ".join(f"{Path(file).name}:{line} {name}" for file, line, name in calls[:_SHOWN])
