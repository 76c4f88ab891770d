"""Runs on this machine, one at a time on its devices, forked from a process with torch."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from app.errors import UnavailableError
from app.labs.launch.base import Launcher, chosen_backend, written
from app.labs.launch.zygote import Order, Reply
from app.labs.machine import gpus
from app.labs.run import Run
from app.labs.spec import Job

INSTALL = "pip install 'wallclock[lab]'"
_LINUX = "labs run on Linux only; recorded runs can be viewed anywhere"
_STARTING = 60.0  # seconds in which torch must be imported


class LocalLauncher(Launcher):
    """Starts runs on this machine; `zygote` shows its processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.host = socket.gethostname()
        self._zygote: subprocess.Popen[bytes] | None = None
        self._received = b""
        self._pids: dict[str, int] = {}

    def warm(self) -> str:
        """Start the process that imports torch, unless it runs; the version of torch.

        Raises:
            UnavailableError: torch cannot be imported, or this is not Linux.
        """
        if sys.platform != "linux":
            raise UnavailableError(_LINUX)
        if self._zygote and self._zygote.poll() is None:
            return ""
        self.close()
        self._received = b""
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "app.labs.launch.zygote"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        reply = self._next_reply(self._zygote)
        if reply and reply.ready:
            return reply.ready
        self.close()
        fault = reply.fault if reply else "it could not be imported"
        raise UnavailableError(f"labs need torch: {fault}. {INSTALL}")

    def trouble(self) -> str:
        """Whether torch is installed and this is Linux; torch is not imported to find out."""
        if sys.platform != "linux":
            return _LINUX
        return "" if find_spec("torch") else f"labs need torch: {INSTALL}"

    def backend_of(self, job: Job, asked: str = "auto") -> str:
        """The backend of *job* with the GPUs of this machine."""
        chosen = chosen_backend(job, asked, len(gpus()))
        self.with_nodes(job, chosen)
        return chosen

    def pool_of(self, name: str, backend: str) -> str:
        """The GPUs of this machine, or its CPUs."""
        return f"{self.host}:{'gpu' if backend == 'nccl' else 'cpu'}"

    def start(self, job: Job, backend: str = "auto", patience: float = 1.0, name: str = "") -> Run:
        """Start *job*; it waits up to *patience* seconds until its devices are free."""
        chosen = self.backend_of(job, backend)
        self.warm()
        job = self.with_nodes(job, chosen)
        run = written(self.folder, job, chosen, name, launcher="local", patience=patience)
        self._pids[run.id] = self._forked(run.folder)
        return run

    def cancel(self, run: Run) -> None:
        """Stop *run*; its ranks exit soon after."""
        if pid := run.leader() or self._pids.get(run.id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """Stop every run, and the process with torch."""
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

    def _forked(self, folder: Path) -> int:
        """The leader that now runs the run in *folder*."""
        zygote, reply = self._zygote, None
        if zygote and zygote.stdin:
            with contextlib.suppress(BrokenPipeError):
                zygote.stdin.write(Order(str(folder)).as_line())
                zygote.stdin.flush()
                reply = self._next_reply(zygote)
        if reply is None or not reply.pid:
            raise UnavailableError("the process that starts runs has exited; try again")
        return reply.pid

    def _next_reply(self, zygote: "subprocess.Popen[bytes]") -> Reply | None:
        """The next line of *zygote*; None if it exited, or was silent for too long."""
        descriptor = zygote.stdout.fileno() if zygote.stdout else -1
        end = time.monotonic() + _STARTING
        while b"\n" not in self._received:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            text = os.read(descriptor, 65536) if ready else b""
            if not text:
                return None
            self._received += text
        line, _, self._received = self._received.partition(b"\n")
        return Reply.read(line)
