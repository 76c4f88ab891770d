"""Runs on this machine, one at a time on its devices; and the launcher that the settings choose."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from app.core.errors import UnavailableError
from app.labs.launch.base import Launcher, write_run
from app.labs.launch.slurm import SlurmLauncher
from app.labs.machines.devices import NO_DEVICES, Devices, find_devices
from app.labs.run import LabRun
from app.labs.runner.zygote import ZygoteOrder, ZygoteReply
from app.labs.spec import LabJob
from app.server.config import Settings

INSTALL = "pip install 'wallclock[lab]'"
SHARED = tuple(f"app.labs.ranks.{name}" for name in ("byte_counts", "emulation"))  # by several workers
_LINUX = "labs run on Linux only; recorded runs can be viewed anywhere"
_STARTING = 60.0  # seconds in which torch must be imported
_ENDING = 5.0  # seconds for runs to end
_EXITING = 0.5  # seconds from the end of a process's output to its own
_TAIL = 4096  # bytes
_SLOW = (
    "it was not imported within {seconds:g} s, as happens on a slow file system; try again, or set "
    "WALLCLOCK_LAB_STARTING to more seconds"
)


class LocalLauncher(Launcher):
    """Starts runs on this machine; `zygote` shows its processes.

    It may be used by several threads. Torch has *patience* seconds to be imported.
    """

    def __init__(self, folder: Path, patience: float = _STARTING) -> None:
        super().__init__(folder)
        self.host = socket.gethostname()
        self._patience = patience
        self._zygote: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._received = b""
        self._errors = -1  # the descriptor of a file: what the zygote has printed
        self._pids: dict[str, int] = {}
        self._lock = threading.RLock()  # held from an order to its reply

    def warm(self) -> str:
        """Start the process that imports torch, unless it runs; the version of torch."""
        if sys.platform != "linux":
            raise UnavailableError(_LINUX)
        with self._lock:
            if self._zygote and self._zygote.poll() is None:
                return ""
            self.close()
            zygote = self._zygote = self._started()
            reply = self._next_reply(zygote)
            self._is_ready = bool(reply and reply.ready)
            if reply and reply.ready:
                return reply.ready
            fault = self._fault(zygote, reply)
            self.close()
        raise UnavailableError(fault)

    def trouble(self) -> str:
        """Whether torch is installed and this is Linux; torch is not imported to find out."""
        if sys.platform != "linux":
            return _LINUX
        return "" if find_spec("torch") else f"labs need torch: {INSTALL}"

    def devices(self, patience: float | None = None) -> Devices:
        """The GPUs of this machine; the process with torch is started to find out."""
        return find_devices(self._probing, patience)

    def pool_of(self, name: str, backend: str) -> str:
        """The GPUs of this machine, or its CPUs."""
        return f"{self.host}:{'gpu' if backend == 'nccl' else 'cpu'}"

    def start(
        self, job: LabJob, backend: str = "gloo", patience: float = 1.0, name: str = "", notes: Sequence[str] = ()
    ) -> LabRun:
        """Start *job*; it waits up to *patience* seconds until its devices are free."""
        job = self.with_nodes(job, backend)
        self.warm()
        devices = self.devices() if backend == "nccl" else NO_DEVICES
        run = write_run(
            self.folder, job, backend, name, launcher="local", patience=patience, notes=notes, devices=devices
        )
        self._pids[run.id] = self._ordered(ZygoteOrder(run=str(run.folder)))
        return run

    def cancel(self, run: LabRun) -> None:
        """Stop *run*; its ranks exit soon after."""
        if pid := run.leader() or self._pids.get(run.id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """Stop every run, and the process with torch."""
        if zygote := self._zygote:
            _end(zygote, at_once=not self._is_ready)  # a thread that waits for its reply is freed
        with self._lock:
            if zygote is None or zygote is not self._zygote:
                return
            self._zygote, self._is_ready = None, False
            if zygote.stdout:
                zygote.stdout.close()
            os.close(self._errors)

    def _started(self) -> "subprocess.Popen[bytes]":
        self._received = b""
        with tempfile.TemporaryFile() as errors:
            self._errors = os.dup(errors.fileno())
            return subprocess.Popen(
                [sys.executable, "-m", "app.labs.runner.zygote", *SHARED],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def _fault(self, zygote: "subprocess.Popen[bytes]", reply: ZygoteReply | None) -> str:
        """Why torch could not be imported, and what to do about it."""
        if reply:
            return f"labs need torch: {reply.fault}. {reply.cure or INSTALL}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            zygote.wait(timeout=_EXITING)
        code = zygote.poll()
        if code is None:
            return f"labs need torch: {_SLOW.format(seconds=self._patience)}"
        killed = f"was killed by {signal.Signals(-code).name}" if code < 0 else ""
        how = killed or f"exited with code {code}"
        return f"labs need torch: the process that imports it {how}{self._last_words()}"

    def _last_words(self) -> str:
        """The last line that the zygote printed, after a colon."""
        size = os.fstat(self._errors).st_size
        text = os.pread(self._errors, _TAIL, max(0, size - _TAIL)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f": {lines[-1]}" if lines else ""

    def _probing(self, printed: Path) -> int:
        """A process that prints into a file what torch sees."""
        self.warm()
        return self._ordered(ZygoteOrder(probe=str(printed)))

    def _ordered(self, order: ZygoteOrder) -> int:
        """The process that was forked for *order*."""
        with self._lock:
            zygote, reply = self._zygote, None
            if zygote and zygote.stdin:
                with contextlib.suppress(BrokenPipeError, ValueError):  # it exited, or was closed
                    zygote.stdin.write(order.as_line())
                    zygote.stdin.flush()
                    reply = self._next_reply(zygote)
            if reply and reply.pid:
                return reply.pid
            words = self._last_words() if zygote else ""
        raise UnavailableError(f"the process that starts runs has exited; try again{words}")

    def _next_reply(self, zygote: "subprocess.Popen[bytes]") -> ZygoteReply | None:
        """The next line of *zygote*; None if it exited, or was silent for too long."""
        descriptor = zygote.stdout.fileno() if zygote.stdout else -1
        end = time.monotonic() + self._patience
        while b"\n" not in self._received:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            text = os.read(descriptor, 65536) if ready else b""
            if not text:
                return None
            self._received += text
        line, _, self._received = self._received.partition(b"\n")
        return ZygoteReply.read(line)


def _end(zygote: "subprocess.Popen[bytes]", *, at_once: bool) -> None:
    """Let *zygote* end its runs and exit; it is killed if it takes long, or *at_once*."""
    if zygote.stdin:
        with contextlib.suppress(BrokenPipeError):
            zygote.stdin.close()
    try:
        zygote.wait(timeout=0 if at_once else _ENDING)
    except subprocess.TimeoutExpired:
        zygote.kill()
        zygote.wait()


def launcher_of(settings: Settings) -> Launcher:
    """This machine, or a Slurm cluster."""
    if settings.lab_launcher == "slurm":
        return SlurmLauncher(settings)
    return LocalLauncher(settings.runs, settings.lab_starting)
