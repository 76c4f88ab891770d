"""Proof, at every start, that the walls stand: a sandbox that fails it is switched off."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.errors import UnavailableError
from app.sandbox.process import WorkerProcess
from app.sandbox.report import Raised, Report, Returned, Stopped

Run = Callable[[str], Awaitable[Report]]
_HONEST = "def f():\n    print('ready')\n    return (1, 2.5, 'three')\n"
_REFUSED = {
    "open a file": "def f():\n    return open('/etc/passwd').read()\n",
    "import socket": "def f():\n    import socket\n    return str(socket.socket())\n",
    "start a process": "def f():\n    import os\n    return os.fork()\n",
    "take 10 GB": "def f():\n    return len(bytearray(10 * 2**30))\n",
}
_ENDLESS = "def f():\n    while True:\n        pass\n"


async def prove(run: Run) -> None:
    """Run an honest program and some that must be refused.

    Raises:
        UnavailableError: a wall does not stand.
    """
    report = await run(_HONEST)
    if report.outcomes != (Returned((1, 2.5, "three"), "ready\n"),):
        raise UnavailableError("the sandbox fails its self-test: an honest program does not run")
    for what, source in _REFUSED.items():
        report = await run(source)
        if not all(isinstance(outcome, Raised | Stopped) for outcome in report.outcomes):
            raise UnavailableError(f"the sandbox fails its self-test: a program could {what}")
    report = await run(_ENDLESS)
    if report.outcomes != (Stopped("time"),):
        raise UnavailableError("the sandbox fails its self-test: an endless loop was not ended")


def prove_locked(worker: WorkerProcess) -> None:
    """On Linux, ask the kernel whether *worker* is locked down.

    Raises:
        UnavailableError: it is not.
    """
    if not sys.platform.startswith("linux"):
        return
    text = Path(f"/proc/{worker.process.pid}/status").read_text(encoding="ascii", errors="replace")
    status = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if status.get("Seccomp", "").strip() != "2" or status.get("NoNewPrivs", "").strip() != "1":
        raise UnavailableError(
            "a worker of the sandbox is not locked down; the kernel needs seccomp"
        )
    if "0" in status.get("Uid", "0").split():
        raise UnavailableError("a worker of the sandbox still runs as root")
