"""One run: a process a rank, watched until all have ended, and none left behind."""

import contextlib
import ctypes
import fcntl
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from app.labs.blame import blame
from app.labs.files import write_whole

_LIBRARY = Path(__file__).parents[1] / "library"
_DEATH_SIGNAL, _SUBREAPER = 1, 36  # of prctl(2)
_GRACE = 1.0  # seconds between asking a rank to end and ending it
_OTHERS = 0.3  # seconds for the other ranks to say what they saw
_DESERTED = "whoever started it has ended, and so it was ended too"
ENDING = (signal.SIGTERM, signal.SIGHUP)  # cancelled; whoever started it has ended
_TRACE = 8000  # characters of a traceback
_LIKELY_VICTIM = 900  # of the kernel, when memory runs out: a rank, not the server
_TIMEOUT = (
    "it took more than its {seconds:g} s; a collective that waits for a rank that never comes "
    "looks like this"
)


def die_with_parent(number: signal.Signals) -> None:
    """Be sent signal *number* when the process that made this one ends."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, int(number), 0, 0, 0)


@dataclass(slots=True)
class _Ranks:
    """The processes that still run, by descriptor, and how the others ended."""

    pids: dict[int, int]
    watched: dict[int, int]
    codes: dict[int, int] = field(default_factory=dict)
    first: int | None = None  # the rank that failed first

    def collect(self, descriptor: int) -> None:
        """A process has ended."""
        pid = self.watched.pop(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        rank, code = self.pids[pid], os.waitstatus_to_exitcode(status)
        self.codes[rank] = code
        if code and self.first is None:
            self.first = rank

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all that run."""
        for pid in self.watched.values():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def wait(self, seconds: float) -> None:
        """Until all have ended, or *seconds* have gone."""
        end = time.monotonic() + seconds
        while self.watched and (left := end - time.monotonic()) > 0:
            for descriptor in select.select(list(self.watched), [], [], left)[0]:
                self.collect(descriptor)


def lead(folder: Path) -> NoReturn:
    """Run the job of *folder* to its end, write its outcome, and exit.

    Whoever forks it blocks the signals of `ENDING` before, so that none comes too early.
    """
    try:
        os.setsid()
        cancelled: list[int] = []
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        for number in ENDING:
            signal.signal(number, lambda number, _frame: cancelled.append(number))
        signal.set_wakeup_fd(woken)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        alive = (folder / "alive.new").open("w")  # locked for as long as the run lives
        fcntl.flock(alive, fcntl.LOCK_EX)
        alive.write(str(os.getpid()))
        alive.flush()
        (folder / "alive.new").rename(folder / "alive")
        die_with_parent(signal.SIGHUP)
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        job = json.loads((folder / "job.json").read_text())
        _write(folder, _run(folder, job, cancelled, wake))
    except BaseException as error:  # noqa: BLE001  # a fork must never return into its parent
        with contextlib.suppress(OSError):  # of a full disk nothing can be told
            _write(folder, {"state": "failed", "cause": f"the run could not be led: {error}"})
    finally:
        os._exit(0)


def _run(
    folder: Path, job: Mapping[str, object], cancelled: list[int], wake: int
) -> dict[str, object]:
    begun = time.monotonic()
    lock = (folder.parent / f"{job['devices']}.lock").open("w")  # the ranks inherit it
    if not _locked(lock.fileno(), cancelled, float(str(job["patience"])), wake):
        if signal.SIGHUP in cancelled:
            return {"state": "lost", "cause": _DESERTED}
        if cancelled:
            return {"state": "cancelled", "cause": "it was canceled before its turn came"}
        return {"state": "failed", "cause": "another run has had these devices all the time"}
    count, seconds = int(str(job["ranks"])), float(str(job["seconds"]))
    ranks = _started(folder, count, seconds)
    state = _watched(ranks, wake, cancelled, time.monotonic() + seconds)
    _end(ranks, state)
    causes: Mapping[str, Callable[[], str]] = {
        "failed": lambda: blame(folder, ranks.codes, ranks.first or 0),
        "cancelled": lambda: "it was canceled",
        "lost": lambda: _DESERTED,
        "timeout": lambda: _TIMEOUT.format(seconds=seconds),
    }
    cause = causes[state]() if state in causes else ""
    took = round(time.monotonic() - begun, 3)
    return {"state": state, "cause": cause, "seconds": took, "codes": ranks.codes}


def _watched(ranks: _Ranks, wake: int, cancelled: list[int], end: float) -> str:
    """How the run goes: until all ranks have ended, one failed, or it must be ended."""
    while ranks.watched:
        left = max(0.0, end - time.monotonic())
        for descriptor in select.select([*ranks.watched, wake], [], [], left)[0]:
            if descriptor != wake:
                ranks.collect(descriptor)
        if ranks.first is not None:
            return "failed"
        if cancelled:
            return "lost" if signal.SIGHUP in cancelled else "cancelled"
        if ranks.watched and time.monotonic() >= end:
            return "timeout"
    return "done"


def _end(ranks: _Ranks, state: str) -> None:
    """Leave no rank running."""
    if state == "failed":
        ranks.wait(_OTHERS)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if ranks.watched:
            ranks.signal(number)
            ranks.wait(_GRACE)


def _locked(descriptor: int, cancelled: list[int], patience: float, wake: int) -> bool:
    """Whether the devices are ours, within *patience* seconds."""
    end = time.monotonic() + patience
    while not cancelled:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            select.select([wake], [], [], 0.05)
        else:
            return True
    return False


def _started(folder: Path, count: int, seconds: float) -> _Ranks:
    pids = {}
    for rank in range(count):
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in ENDING:
                signal.signal(number, signal.SIG_DFL)
            _be_rank(folder, rank, count, seconds)
        pids[pid] = rank
    return _Ranks(pids, {os.pidfd_open(pid): pid for pid in pids})


def _be_rank(folder: Path, rank: int, count: int, seconds: float) -> NoReturn:
    code = 0
    try:
        die_with_parent(signal.SIGKILL)
        log = os.open(folder / f"rank{rank}.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        with contextlib.suppress(OSError):  # a container may forbid it
            Path("/proc/self/oom_score_adj").write_text(str(_LIKELY_VICTIM))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
        work(folder, rank, count, seconds)
    except BaseException as error:  # noqa: BLE001  # told in a file, whatever it is
        code = 1
        with contextlib.suppress(OSError):  # of a full disk nothing can be told
            record_error(folder, rank, error)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def work(folder: Path, rank: int, count: int, seconds: float, store: object = None) -> None:
    """What a rank does: meet the others, run the worker of the lab, part."""
    from app.labs.ranks.rank import Rank

    job = json.loads((folder / "job.json").read_text())
    path = Path(job["worker"])
    if not path.exists():  # launched from a machine that has this package elsewhere
        path = _LIBRARY / str(job["lab"]).replace("-", "_") / "worker.py"
    spec = importlib.util.spec_from_file_location("lab_worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no worker")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    own = Rank(rank, count, folder, seconds)
    own.join(store)
    worker.main(own)
    own.leave()


def record_error(folder: Path, rank: int, error: BaseException) -> None:
    """Say in a file what ended *rank*."""
    traceback.print_exc()
    says = {
        "rank": rank,
        "at": time.time(),
        "what": f"{type(error).__name__}: {error}"[:_TRACE],
    }
    write_whole(folder / f"error{rank}.json", json.dumps(says))


def _write(folder: Path, outcome: Mapping[str, object]) -> None:
    write_whole(folder / "outcome.json", json.dumps(outcome))
