"""Ask torch about the GPUs, in a process that exits afterwards."""

import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.labs.runner import probe
from app.labs.runner.probe import TorchProbe

_SEEN: TypeAdapter[TorchProbe] = TypeAdapter(TorchProbe)
_LONGEST = 300  # characters of what a process that failed has printed


def answer_of(start: Callable[[Path], int], seconds: float) -> TorchProbe:
    """What torch sees, or why it could not be asked.

    *start* starts a process that prints the answer into a file; it has *seconds* to do so.
    """
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "answer"
        pid = start(printed)
        if not _has_exited(pid, seconds):
            return TorchProbe(error=f"it did not answer within {seconds:g} s")
        return _answer(printed)


def spawn_query(printed: Path) -> int:
    """A new process that imports torch, and prints into the file *printed*."""
    write = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", probe.__name__],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(printed), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )


def _has_exited(pid: int, seconds: float) -> bool:
    """Whether the process has exited within *seconds*; it is killed if it has not."""
    with suppress(ProcessLookupError):
        watched = os.pidfd_open(pid)
        try:
            if not select.select([watched], [], [], seconds)[0]:
                signal.pidfd_send_signal(watched, signal.SIGKILL)
                return False
        finally:
            os.close(watched)
    with suppress(ChildProcessError):  # it may be the child of another process
        os.waitpid(pid, os.WNOHANG)
    return True


def _answer(printed: Path) -> TorchProbe:
    try:
        lines = printed.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    for line in reversed(lines):
        with suppress(ValidationError):
            return _SEEN.validate_json(line)
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
    return TorchProbe(error=f"the process that was to ask it died: {last[:_LONGEST]}")
