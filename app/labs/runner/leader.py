"""The leader of one run: locks its devices, forks one process per rank, watches them, and leaves none behind.

A run has GPUs to itself on the whole machine, processors within a folder of runs. A lock lasts until the process that
took it, and all forks of that process, have exited.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, Self, TextIO

from app.labs.runner.job import CANCELED, DONE, FAILED, LOST, TEARDOWN, TIMEOUT, Job, JobOutcome
from app.labs.runner.process import record_error, work

_DEATH_SIGNAL, _SUBREAPER = 1, 36  # of prctl(2)
_GRACE = 1.0  # seconds from SIGTERM to SIGKILL
_OTHERS = 0.3  # seconds for the other ranks to report their errors
STOPPING = (signal.SIGTERM, signal.SIGHUP)  # canceled; the zygote has exited
_LIKELY_VICTIM = 900  # when memory runs out, the kernel kills a rank, not the server


def die_with_parent(number: signal.Signals) -> None:
    """Have the kernel send signal *number* when the parent of this process exits."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, int(number), 0, 0, 0)


_NAMES = "\0wallclock.gpu."  # of abstract sockets: no file, so no permissions, and none is left


class FileLock:
    """A file that one run at a time has locked, among those with the same folder of runs."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w")

    def take(self) -> bool:
        """Whether this process has it now."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Let it go in this process."""
        self._file.close()


class GpuLock:
    """The GPU *uuid*, for one run of this machine at a time, in whatever folder it is stored."""

    def __init__(self, uuid: str) -> None:
        self._name = f"{_NAMES}{uuid.lower().removeprefix('gpu-')}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._has_it = False

    def take(self) -> bool:
        """Whether this process has it now."""
        try:
            if not self._has_it:
                self._socket.bind(self._name)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        self._has_it = True
        return True

    def close(self) -> None:
        """Let it go in this process."""
        self._socket.close()


class DeviceLocks:
    """All devices of a run, which are taken in one order, so that no two runs block each other."""

    def __init__(self, folder: Path, job: Job) -> None:
        uuids = sorted(job.gpus[: job.ranks])
        is_known = job.backend == "nccl" and len(uuids) == job.ranks
        self._missing: list[FileLock | GpuLock] = (
            list(map(GpuLock, uuids)) if is_known else [FileLock(folder / f"{job.devices}.lock")]
        )
        self._taken: list[FileLock | GpuLock] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for lock in (*self._taken, *self._missing):
            lock.close()

    def take(self) -> bool:
        """Whether this process has all of them now; those that it has, it keeps."""
        while self._missing and self._missing[0].take():
            self._taken.append(self._missing.pop(0))
        return not self._missing


@dataclass(slots=True)
class _Ranks:
    """The processes that still run, by descriptor, and the exit codes of the others."""

    pids: dict[int, int]
    watched: dict[int, int]
    codes: dict[int, int] = field(default_factory=dict)
    first: int | None = None  # the rank that failed first
    stopped: set[int] = field(default_factory=set)  # ranks that were sent SIGTERM
    killed: set[int] = field(default_factory=set)  # and those that were sent SIGKILL after it

    @property
    def left(self) -> list[int]:
        """Those that have not ended."""
        return sorted(self.pids[pid] for pid in self.watched.values())

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
        sent = self.killed if number is signal.SIGKILL else self.stopped
        for pid in self.watched.values():
            sent.add(self.pids[pid])
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
        _run(folder, Job.read(folder), stopped, wake).write(folder)
    except BaseException as error:  # noqa: BLE001  # a fork must never return into its parent
        with contextlib.suppress(OSError):  # on a full disk nothing can be written
            JobOutcome(FAILED, f"its leader process failed: {error}").write(folder)
    finally:
        os._exit(0)


def _run(folder: Path, job: Job, stopped: list[int], wake: int) -> JobOutcome:
    begun = time.monotonic()
    with DeviceLocks(folder.parent, job) as locks:  # the ranks inherit them
        if not _locked(locks, stopped, job.patience, wake):
            if signal.SIGHUP in stopped:
                return JobOutcome(LOST)
            if stopped:
                return JobOutcome(CANCELED, "stopped on request, before it started")
            return JobOutcome(FAILED, "another run has been using these devices all this time")
        ranks = _started(folder, job)
        state = _watched(ranks, wake, stopped, time.monotonic() + job.seconds)
        _end(ranks, state)
    return replace(_outcome(ranks, state), seconds=round(time.monotonic() - begun, 3))


def _outcome(ranks: _Ranks, state: str) -> JobOutcome:
    """What the leader knows; why it ended so is found in the files, when it is asked for."""
    return JobOutcome(
        state,
        codes=ranks.codes,
        first=ranks.first,
        stopped=tuple(sorted(ranks.stopped)),
        killed=tuple(sorted(ranks.killed)),
        left=tuple(ranks.left),
    )


def _watched(ranks: _Ranks, wake: int, stopped: list[int], end: float) -> str:
    """How the run ends: all ranks exit, one fails, it is stopped, or its time is up."""
    while ranks.watched:
        left = max(0.0, end - time.monotonic())
        for descriptor in select.select([*ranks.watched, wake], [], [], left)[0]:
            if descriptor != wake:
                ranks.collect(descriptor)
        if ranks.first is not None:
            return FAILED
        if stopped:
            return LOST if signal.SIGHUP in stopped else CANCELED
        if ranks.watched and time.monotonic() >= end:
            return TIMEOUT
    return DONE


def _end(ranks: _Ranks, state: str) -> None:
    """Leave no rank running."""
    if state == FAILED:
        ranks.wait(_OTHERS)
    for number, seconds in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, TEARDOWN)):
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


def _started(folder: Path, job: Job) -> _Ranks:
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


def _be_rank(folder: Path, job: Job, rank: int) -> NoReturn:
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
