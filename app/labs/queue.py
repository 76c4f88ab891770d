"""Runs that were asked for in the browser: taken from the queue, started, followed and kept.

Each process of the server has one `Dispatcher`, a thread. The queue is a table, so that any of
them finds what another left behind.
"""

import json
import logging
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Engine

from app.config import Settings
from app.db.lab_runs import adopt, claim, lab_run, record
from app.db.tables import LabRunRow
from app.errors import AppError, UnavailableError
from app.labs import Launcher, Run, lab_called, read_job, report_of
from app.labs.launching import launcher_of

_log = logging.getLogger(__name__)
_BUSY, _IDLE = 0.2, 1.0  # seconds from one look at the queue to the next
_CLOSELY = 1.0  # seconds from one close look at a run to the next
_BEAT = 2.0  # seconds in which a run is recorded as followed, at least
_SILENT = 10.0  # seconds after which the process that followed a run is taken to be gone
_PATIENCE = 600.0  # seconds that a run waits for devices that the command line has
_REST = 600.0  # seconds without a run, after which the process with torch is ended
_PARTING = 4.0  # seconds for runs to end when the server does
_LOG = 20_000  # characters
_ADDRESSES, _EACH = 1000, 100  # network addresses of which runs are remembered, and how many


@dataclass(slots=True)
class _Followed:
    """A run that this process follows."""

    run: Run
    size: int = -1
    says: str = ""
    looked: float = -math.inf
    kept: float = 0.0
    ending: bool = False
    final: dict[str, object] = field(default_factory=dict)


class Dispatcher:
    """Starts what is queued for this machine or cluster, and writes down how it goes."""

    def __init__(
        self, settings: Settings, engine: Engine, beat: float = _BEAT, silent: float = _SILENT
    ) -> None:
        """*beat* and *silent* are in seconds; the latter must be several times the former."""
        self.launcher: Launcher = launcher_of(settings)
        self.most = settings.lab_queue
        self._engine = engine
        self._worker = f"{self.launcher.host}:{secrets.token_hex(8)}"
        self._followed: dict[str, _Followed] = {}
        self._wake, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._beat, self._silent = beat, silent
        self._looked = self._used = -silent
        self._asked: dict[str, deque[str]] = {}

    @property
    def trouble(self) -> str:
        """Why nothing can be run from the browser; empty when it can."""
        return self.launcher.trouble() if self.most else "here, labs run from the command line only"

    def runs_of(self, address: str) -> "deque[str]":
        """The latest runs that this process was asked for from *address*; new ones are added."""
        known = self._asked.pop(address, None)
        if known is None:
            known = deque(maxlen=_EACH)
            while len(self._asked) >= _ADDRESSES:
                del self._asked[next(iter(self._asked))]  # the one that was asked longest ago
        self._asked[address] = known
        return known

    def start(self) -> None:
        """Look after the queue."""
        self._thread = threading.Thread(target=self._look_after, name="labs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue at once: something was changed."""
        self._wake.set()

    def close(self) -> None:
        """End; runs that need this process end with it, and are kept as they are."""
        self._ended.set()
        self._wake.set()
        if self._thread:
            self._thread.join()

    def _look_after(self) -> None:
        while not self._ended.is_set():
            self._wake.clear()
            try:
                self._look()
            except UnavailableError as error:
                _log.warning("the queue of labs: %s", error)
            except Exception:  # noqa: BLE001  # one run's fault must not end the queue
                _log.exception("the queue of labs")
            self._wake.wait(_BUSY if self._followed else _IDLE)
        self._part()

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked >= self._silent / 2:
            for row in adopt(self._engine, self.launcher.host, self._worker, self._silent):
                self._followed[row.name] = _Followed(Run(self.launcher.folder / row.name))
            self._looked = time.monotonic()
        for name in list(self._followed):
            self._follow(name)
        while claimed := claim(self._engine, self.launcher.host, self._worker):
            self._start(claimed)
        if self._followed:
            self._used = now
        elif 0 < self._used < now - _REST:
            self._used = 0
            self.launcher.close()

    def _start(self, row: LabRunRow) -> None:
        try:
            job = read_job(lab_called(row.lab), json.loads(row.given))
            run = self.launcher.start(job, row.backend, _PATIENCE, row.name)
        except AppError as error:
            record(self._engine, row.name, self._worker, state="failed", says=str(error))
        except Exception:  # noqa: BLE001  # as above
            _log.exception("run %s", row.name)
            says = "it could not be started: a fault of ours, which the server has noted"
            record(self._engine, row.name, self._worker, state="failed", says=says)
        else:
            self._followed[row.name] = _Followed(run)

    def _follow(self, name: str) -> None:
        """Write down how run *name* goes, if that has changed; end it if somebody wants that."""
        followed = self._followed[name]
        values = self._news(followed)
        if not values and time.monotonic() - followed.kept < self._beat / 4:
            return
        cancel = record(self._engine, name, self._worker, **values)
        followed.kept = time.monotonic()
        if cancel is None and not lab_run(self._engine, name):
            self.launcher.cancel(followed.run)  # who asked for it has deleted all that is theirs
        if cancel is None or "state" in values:
            del self._followed[name]
        elif cancel and not followed.ending:
            followed.ending = True
            self.launcher.cancel(followed.run)

    def _news(self, followed: _Followed) -> dict[str, object]:
        """What is to be written down of a run."""
        run = followed.run
        if followed.final:
            return followed.final  # it could not be written when it ended
        try:
            values = self._seen(followed)
        except Exception:  # noqa: BLE001  # as above
            _log.exception("run %s", run.id)
            says = "what it wrote cannot be read: a fault of ours, which the server has noted"
            values = followed.final = {"state": "failed", "says": says}
        return values

    def _seen(self, followed: _Followed) -> dict[str, object]:
        """What has changed; it looks closely only once in a while, so as not to disturb a run."""
        run = followed.run
        outcome: Mapping[str, object] = {}
        values: dict[str, object] = {}
        if run.has_ended or time.monotonic() - followed.looked >= _CLOSELY:
            outcome, followed.looked = self.launcher.outcome_of(run), time.monotonic()
            says = "" if outcome else self.launcher.says_of(run)
            if says != followed.says:
                followed.says = values["says"] = says
        if run.has_begun and (outcome or run.size != followed.size):
            followed.size = run.size
            values["report"] = report_of(run).as_json()
        if outcome:
            state, cause = str(outcome["state"]), str(outcome.get("cause", ""))
            values |= {"state": state, "says": cause}
            values["log"] = "" if state == "done" else run.log()[-_LOG:]
            followed.final = values
        return values

    def _part(self) -> None:
        """Let go of everything."""
        self.launcher.close()
        end = time.monotonic() + _PARTING
        try:
            while self._followed and time.monotonic() < end:
                for name in list(self._followed):
                    self._follow(name)
                    if not self.launcher.ends_with_us:
                        self._followed.pop(name, None)
                time.sleep(_BUSY / 4)
        except UnavailableError as error:
            _log.warning("the queue of labs: %s", error)
