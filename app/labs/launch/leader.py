"""The leader of one run: forks one process per rank, watches them, and leaves none behind."""

import contextlib
import ctypes
import fcntl
import importlib.util
import os
import resource
import select
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from app.labs.evidence.blame import RankError, blame, late_ranks
from app.labs.evidence.stacks import ranks_shown
from app.labs.launch.device_lock import DeviceLocks
from app.labs.launch.limit import stack_written_when_late
from app.labs.ranks.torch_version import require_torch
from app.labs.run import JobRecord, LabRun, RunOutcome, write_whole
from app.server.db.run_state import RunState

_LIBRARY = Path(__file__).parents[1] / "library"
_DEATH_SIGNAL, _SUBREAPER = 1, 36  # of prctl(2)
_GRACE = 1.0  # seconds from SIGTERM to SIGKILL
_TEARDOWN = 60.0  # seconds from SIGKILL until the driver has freed a GPU, at most
_OTHERS = 0.3  # seconds for the other ranks to report their errors
_DESERTED = "the process that started it exited, so its ranks were stopped"
STOPPING = (signal.SIGTERM, signal.SIGHUP)  # canceled; the zygote has exited
_TRACE = 8000  # characters of a traceback
_LIKELY_VICTIM = 900  # when memory runs out, the kernel kills a rank, not the server
_NEVER = ", as happens when a collective waits for a rank that never calls it"


def die_with_parent(number: signal.Signals) -> None:
    """Have the kernel send signal *number* when the parent of this process exits."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, int(number), 0, 0, 0)


@dataclass(slots=True)
class _Ranks:
    """The processes that still run, by descriptor, and the exit codes of the others."""

    pids: dict[int, int]
    watched: dict[int, int]
    codes: dict[int, int] = field(default_factory=dict)
    first: int | None = None  # the rank that failed first
    stopped: set[int] = field(default_factory=set)  # ranks that were sent a signal

    @property
    def own_codes(self) -> dict[int, int]:
        """The exit codes of the ranks that were not stopped, in the order in which they ended."""
        ours = (-signal.SIGTERM, -signal.SIGKILL)
        return {rank: code for rank, code in self.codes.items() if not (rank in self.stopped and code in ours)}

    def collect(self, descriptor: int) -> None:
        """Record that a process has exited."""
        pid = self.watched.pop(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        rank, code = self.pids[pid], os.waitstatus_to_exitcode(status)
        self.codes[rank] = code
        if code and self.first is None:
            self.first = rank

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all that still run."""
        for pid in self.watched.values():
            self.stopped.add(self.pids[pid])
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def wait(self, seconds: float) -> None:
        """Wait until all have exited, for up to *seconds*."""
        end = time.monotonic() + seconds
        while self.watched and (left := end - time.monotonic()) > 0:
            for descriptor in select.select(list(self.watched), [], [], left)[0]:
                self.collect(descriptor)


def lead(folder: Path) -> NoReturn:
    """Run the job of *folder* to its end, write its outcome, and exit.

    The caller blocks the signals of `STOPPING` before it forks, so that none comes too early.
    """
    run = LabRun(folder)
    try:
        os.setsid()
        stopped: list[int] = []
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        for number in STOPPING:
            signal.signal(number, lambda number, _frame: stopped.append(number))
        signal.set_wakeup_fd(woken)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        alive = (folder / "alive.new").open("w")  # locked for as long as the run lives
        fcntl.flock(alive, fcntl.LOCK_EX)
        alive.write(str(os.getpid()))
        alive.flush()
        (folder / "alive.new").rename(folder / "alive")
        die_with_parent(signal.SIGHUP)
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        run.write_outcome(_run(folder, run.job, stopped, wake))
    except BaseException as error:  # noqa: BLE001  # a fork must never return into its parent
        with contextlib.suppress(OSError):  # on a full disk nothing can be written
            run.write_outcome(RunOutcome(RunState.FAILED, f"its leader process failed: {error}"))
    finally:
        os._exit(0)


def _run(folder: Path, job: JobRecord, stopped: list[int], wake: int) -> RunOutcome:
    begun = time.monotonic()
    with DeviceLocks(folder.parent, job) as locks:  # the ranks inherit them
        if not _locked(locks, stopped, job.patience, wake):
            return _never_ran(stopped)
        ranks = _started(folder, job)
        state = _watched(ranks, wake, stopped, time.monotonic() + job.seconds)
        _end(ranks, state)
    cause = _cause(folder, job, ranks, state) + _remains(ranks)
    return RunOutcome(state, cause, round(time.monotonic() - begun, 3), ranks.codes)


def _never_ran(stopped: list[int]) -> RunOutcome:
    """The outcome of a run that did not get its devices."""
    if signal.SIGHUP in stopped:
        return RunOutcome(RunState.LOST, _DESERTED)
    if stopped:
        return RunOutcome(RunState.CANCELED, "stopped on request, before it started")
    return RunOutcome(RunState.FAILED, "another run has been using these devices all this time")


def _cause(folder: Path, job: JobRecord, ranks: _Ranks, state: RunState) -> str:
    match state:
        case RunState.FAILED:
            return blame(folder, ranks.own_codes, ranks.first)
        case RunState.CANCELED:
            return "stopped on request"
        case RunState.LOST:
            return _DESERTED
        case RunState.TIMEOUT:
            late = late_ranks(folder)
            return f"it took more than its {job.seconds:g} s{late and f': {late}' or _NEVER}"
    return ""


def _remains(ranks: _Ranks) -> str:
    """The ranks that did not end, in words that go on after a cause."""
    left = sorted(ranks.pids[pid] for pid in ranks.watched.values())
    still = f"{_TEARDOWN:g} s after SIGKILL, so its devices may still be in use"
    return f"; {ranks_shown(left)} had not ended {still}" if left else ""


def _watched(ranks: _Ranks, wake: int, stopped: list[int], end: float) -> RunState:
    """How the run ends: all ranks exit, one fails, it is stopped, or its time is up."""
    while ranks.watched:
        left = max(0.0, end - time.monotonic())
        for descriptor in select.select([*ranks.watched, wake], [], [], left)[0]:
            if descriptor != wake:
                ranks.collect(descriptor)
        if ranks.first is not None:
            return RunState.FAILED
        if stopped:
            return RunState.LOST if signal.SIGHUP in stopped else RunState.CANCELED
        if ranks.watched and time.monotonic() >= end:
            return RunState.TIMEOUT
    return RunState.DONE


def _end(ranks: _Ranks, state: RunState) -> None:
    """Leave no rank running."""
    if state is RunState.FAILED:
        ranks.wait(_OTHERS)
    for number, seconds in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _TEARDOWN)):
        if ranks.watched:
            ranks.signal(number)
            ranks.wait(seconds)


def _locked(locks: DeviceLocks, stopped: list[int], patience: float, wake: int) -> bool:
    """Whether the devices could be locked within *patience* seconds."""
    end = time.monotonic() + patience
    while not stopped:
        if locks.take():
            return True
        if time.monotonic() >= end:
            return False
        select.select([wake], [], [], 0.05)
    return False


def _started(folder: Path, job: JobRecord) -> _Ranks:
    pids = {}
    for rank in range(job.ranks):
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in STOPPING:
                signal.signal(number, signal.SIG_DFL)
            _be_rank(folder, job, rank)
        pids[pid] = rank
    return _Ranks(pids, {os.pidfd_open(pid): pid for pid in pids})


def _be_rank(folder: Path, job: JobRecord, rank: int) -> NoReturn:
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
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(job.ranks), LOCAL_RANK=str(rank))
        work(folder, job, rank)
    except BaseException as error:  # noqa: BLE001  # reported in a file, whatever it is
        code = 1
        with contextlib.suppress(OSError):  # on a full disk nothing can be written
            record_error(folder, rank, error)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def work(folder: Path, job: JobRecord, rank: int, store: object = None) -> None:
    """The life of a rank: meet the others, run the worker of the lab, leave."""
    import torch

    require_torch(torch.__version__)
    from app.labs.ranks.rank import WorkerRank

    path = Path(job.worker)
    if not path.is_file():  # launched from a machine that has this package elsewhere
        path = _LIBRARY / job.lab.replace("-", "_") / "worker.py"
    spec = importlib.util.spec_from_file_location("lab_worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    own = WorkerRank(rank, job.ranks, folder, values=job.values, on_gpu=job.backend == "nccl", seconds=job.seconds)
    with stack_written_when_late(folder, rank, job.seconds):
        own.join(store)
        worker.main(own)
        own.leave()


def record_error(folder: Path, rank: int, error: BaseException) -> None:
    """Write the error that ended *rank* to a file; its log has no traceback of an interrupt."""
    if not isinstance(error, KeyboardInterrupt):
        traceback.print_exc()
    found = RankError(rank, time.time(), f"{type(error).__name__}: {error}"[:_TRACE])
    write_whole(folder / f"error{rank}.json", found.as_json())
