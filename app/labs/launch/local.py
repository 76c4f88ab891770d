"""Runs on this machine: one at a time on its devices, started from a process that has torch."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from app.errors import InputError, UnavailableError
from app.labs.machine import gpus
from app.labs.run import Launcher, Run, written
from app.labs.spec import Job

INSTALL = "pip install 'wallclock[lab]'"
_LINUX = "labs run on Linux; recorded runs are shown everywhere"
_STARTING = 60.0  # seconds in which torch must be imported


class Runner(Launcher):
    """Starts runs on this machine, one at a time on its devices."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.host = socket.gethostname()
        self._zygote: subprocess.Popen[bytes] | None = None
        self._told = b""
        self._pids: dict[str, int] = {}

    def warm(self) -> str:
        """Have torch imported, once; its version.

        Raises:
            UnavailableError: torch cannot be imported, or this is no Linux.
        """
        if sys.platform != "linux":
            raise UnavailableError(_LINUX)
        if self._zygote and self._zygote.poll() is None:
            return ""
        self.close()
        self._told = b""
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "app.labs.launch.zygote"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        told = self._answer(self._zygote, _STARTING)
        if "ready" in told:
            return str(told["ready"])
        self.close()
        raise UnavailableError(
            f"labs need torch: {told.get('fault', 'it could not be imported')}. {INSTALL}"
        )

    def trouble(self) -> str:
        """Whether torch and Linux are here; torch is not imported for it."""
        if sys.platform != "linux":
            return _LINUX
        return "" if find_spec("torch") else f"labs need torch: {INSTALL}"

    def backend_of(self, job: Job, asked: str = "auto") -> str:
        """What carries the messages of *job*."""
        return chosen_backend(job, asked, len(gpus()))

    def pool_of(self, name: str, backend: str) -> str:
        """The GPUs of this machine, or its processors."""
        return f"{self.host}:{'gpu' if backend == 'nccl' else 'cpu'}"

    def start(self, job: Job, backend: str = "auto", patience: float = 1.0, name: str = "") -> Run:
        """Start *job*; it waits up to *patience* seconds until its devices are free."""
        chosen = self.backend_of(job, backend)
        self.warm()
        run = written(self.folder, job, chosen, name, patience=patience)
        self._pids[run.id] = int(str(self._tell(run.folder)["pid"]))
        return run

    def cancel(self, run: Run) -> None:
        """End *run*; its ranks are gone soon after."""
        if pid := run.leader() or self._pids.get(run.id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """End every run, and the process that has torch."""
        zygote, self._zygote = self._zygote, None
        if zygote is None:
            return
        for pipe in (zygote.stdin, zygote.stdout):
            if pipe:
                pipe.close()
        try:
            zygote.wait(timeout=5)
        except subprocess.TimeoutExpired:
            zygote.kill()
            zygote.wait()

    def _tell(self, folder: Path) -> Mapping[str, object]:
        zygote = self._zygote
        told: Mapping[str, object] = {}
        if zygote and zygote.stdin:
            with contextlib.suppress(BrokenPipeError):
                zygote.stdin.write(json.dumps({"run": str(folder)}).encode() + b"\n")
                zygote.stdin.flush()
                told = self._answer(zygote, _STARTING)
        if "pid" not in told:
            raise UnavailableError("the process that starts runs has ended; try again")
        return told

    def _answer(self, zygote: "subprocess.Popen[bytes]", seconds: float) -> Mapping[str, object]:
        """The next line of *zygote*; nothing if it ended or said nothing for *seconds*."""
        descriptor = zygote.stdout.fileno() if zygote.stdout else -1
        end = time.monotonic() + seconds
        while b"\n" not in self._told:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            text = os.read(descriptor, 65536) if ready else b""
            if not text:
                return {}
            self._told += text
        line, _, self._told = self._told.partition(b"\n")
        return dict(json.loads(line))


def chosen_backend(job: Job, asked: str, have: int) -> str:
    """nccl where each rank gets one of *have* GPUs; emulated and counted labs need none.

    Raises:
        InputError: *asked* cannot be had with so many.
    """
    if asked == "nccl" and have < job.ranks:
        raise InputError(
            f"NCCL wants a GPU for every rank: {job.ranks} ranks, and there are {have} GPUs; "
            "take fewer ranks, or gloo, which runs on the processors"
        )
    if asked == "gloo" or job.lab.links != "real":
        return "gloo"
    if job.lab.needs_gpu and have < job.ranks:
        raise InputError(f"{job.lab.name} needs {job.ranks} GPUs, and there are {have}")
    return "nccl" if have >= job.ranks else "gloo"
