"""Runs from the browser: taken from the queue, started, followed, and stored.

Each process of the server has one `Dispatcher`, a thread. The queue is a table, so that any of
them can take over what another left behind.
"""

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from app.core.errors import AppError, UnavailableError
from app.labs.launch.base import Follower, Launcher, LaunchPlan
from app.labs.launch.local import launcher_of
from app.labs.machines.devices import NO_DEVICES, Devices
from app.labs.results.analysis import report_of
from app.labs.run import LabRun
from app.labs.spec import Lab, lab_called, read_job
from app.server.config import Settings
from app.server.db.lab_runs import Progress, adopt, claim_run, lab_run, record_progress
from app.server.db.run_state import RunState
from app.server.db.tables import LabRunRow
from app.server.metrics import LAB_RUNS

_log = logging.getLogger(__name__)
_BUSY, _IDLE = 0.2, 1.0  # seconds from one look at the queue to the next
_BEAT = 2.0  # seconds within which a followed run is recorded as such
_SILENT = 10.0  # seconds after which the process that followed a run is presumed dead
_PATIENCE = 600.0  # seconds that a run waits for devices that the command line is using
_REST = 600.0  # seconds without a run after which the process with torch is stopped
_ASKING = 3.0  # seconds for which a page waits until the GPUs are known
_PARTING = 4.0  # seconds for runs to end when the server stops
_LOG = 20_000  # characters
_ADDRESSES, _EACH = 1000, 100  # network addresses whose runs are remembered, and runs of each
_OFF = "on this server, labs run from the command line only"
_OUR_FAULT = "because of a bug, which the server has logged"


@dataclass(slots=True)
class _FollowedRun:
    """A run that this process follows; *final* is how it ended, until that is stored."""

    run: LabRun
    follower: Follower
    recorded: float = 0.0
    is_canceled: bool = False
    final: Progress | None = None


class Dispatcher:
    """Starts what is queued for this machine or cluster, and records how it goes."""

    def __init__(
        self, settings: Settings, engine: Engine, beat: float = _BEAT, silent: float = _SILENT, asking: float = _ASKING
    ) -> None:
        """*beat*, *silent* and *asking* are in seconds; *silent* must be several times *beat*."""
        self.launcher: Launcher = launcher_of(settings)
        self.most = settings.lab_queue
        self._engine = engine
        self._worker = f"{self.launcher.host}:{secrets.token_hex(8)}"
        self._followed: dict[str, _FollowedRun] = {}
        self._wake, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._beat, self._silent, self._asking = beat, silent, asking
        self._looked = self._used = -silent
        self._nearby: dict[str, deque[str]] = {}

    @property
    def trouble(self) -> str:
        """Why nothing can be run from the browser; empty if it can."""
        return self.launcher.trouble() if self.most else _OFF

    def devices(self) -> Devices:
        """The GPUs that runs may use; none, with a note, while they are still looked for."""
        return self._devices(self._asking)

    def plan(self, lab: Lab, given: Mapping[str, str], asked: str) -> LaunchPlan:
        """What to start, as the launcher plans it; a page waits for it."""
        return self.launcher.plan(lab, given, asked, self._asking)

    def runs_of(self, address: str) -> "deque[str]":
        """The latest runs requested from *address* at this process; the caller adds new ones."""
        known = self._nearby.pop(address, None)
        if known is None:
            known = deque(maxlen=_EACH)
            while len(self._nearby) >= _ADDRESSES:
                del self._nearby[next(iter(self._nearby))]  # the one that was used longest ago
        self._nearby[address] = known
        return known

    def start(self) -> None:
        """Start to serve the queue, in a thread."""
        self._thread = threading.Thread(target=self._serve, name="labs", daemon=True)
        self._thread.start()
        self._used = time.monotonic()
        self._devices(0)  # to find them takes a while, for which the first page is not to wait

    def wake(self) -> None:
        """Look at the queue now: something has changed."""
        self._wake.set()

    def close(self) -> None:
        """Stop; runs that need this process stop with it, and are stored as they are."""
        self._closing.set()
        self._wake.set()
        if self._thread:
            self._thread.join()
        else:
            self.launcher.close()  # a page may have had it look for GPUs

    def _devices(self, patience: float) -> Devices:
        return NO_DEVICES if self.trouble else self.launcher.devices(patience)

    def _serve(self) -> None:
        while not self._closing.is_set():
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
                self._add(row.name, LabRun(self.launcher.folder / row.name))
            self._looked = time.monotonic()
        for name in list(self._followed):
            self._follow(name)
        while claimed := claim_run(self._engine, self.launcher.host, self._worker):
            self._start(claimed)
        if self._followed:
            self._used = now
        elif 0 < self._used < now - _REST:
            self._used = 0
            self.launcher.close()

    def _add(self, name: str, run: LabRun) -> None:
        self._followed[name] = _FollowedRun(run, Follower(self.launcher, run))

    def _start(self, row: LabRunRow) -> None:
        try:
            job = read_job(lab_called(row.lab).run_over(row.backend), row.parameters)
            run = self.launcher.start(job, row.backend, _PATIENCE, row.name, row.sentences)
        except AppError as error:
            self._fail(row.name, str(error))
        except Exception:  # noqa: BLE001  # as above
            _log.exception("run %s", row.name)
            self._fail(row.name, f"it could not be started {_OUR_FAULT}")
        else:
            self._add(row.name, run)

    def _fail(self, name: str, says: str) -> None:
        record_progress(self._engine, name, self._worker, Progress(state=RunState.FAILED, says=says))
        LAB_RUNS.labels(RunState.FAILED).inc()

    def _follow(self, name: str) -> None:
        """Record how run *name* goes, if that has changed; stop it if that was requested."""
        followed = self._followed[name]
        progress = self._progress(followed)
        if not progress.changes and time.monotonic() - followed.recorded < self._beat / 4:
            return
        cancel = record_progress(self._engine, name, self._worker, progress)
        followed.recorded = time.monotonic()
        if cancel is None and not lab_run(self._engine, name):
            self.launcher.cancel(followed.run)  # its learner has deleted everything
        if cancel is None or progress.state:
            if progress.state:
                LAB_RUNS.labels(progress.state).inc()
            del self._followed[name]
        elif cancel and not followed.is_canceled:
            followed.is_canceled = True
            self.launcher.cancel(followed.run)

    def _progress(self, followed: _FollowedRun) -> Progress:
        """What is to be recorded of a run."""
        if followed.final:
            return followed.final  # it could not be stored when the run ended
        try:
            progress = self._news_of(followed)
        except Exception:  # noqa: BLE001  # as above
            _log.exception("run %s", followed.run.id)
            says = f"its files could not be read {_OUR_FAULT}"
            progress = Progress(state=RunState.FAILED, says=says)
        if progress.state:
            followed.final = progress
        return progress

    def _news_of(self, followed: _FollowedRun) -> Progress:
        news = followed.follower.look()
        report = report_of(followed.run).as_json() if news.has_grown else None
        if news.outcome is None:
            return Progress(says=news.says, report=report)
        state = news.outcome.state
        log = "" if state is RunState.DONE else followed.run.log()[-_LOG:]
        return Progress(state=state, says=news.outcome.cause, report=report, log=log)

    def _part(self) -> None:
        """Release everything, and record how the runs ended."""
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
