"""Devices that a run has to itself: GPUs on the whole machine, processors within a folder of runs.

A lock lasts until the process that took it, and all forks of that process, have exited.
"""

import errno
import fcntl
import socket
from pathlib import Path
from typing import Self, TextIO

from app.labs.runner.job import Job

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
