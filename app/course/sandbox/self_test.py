"""Self-test of the isolation at every start: a sandbox that fails it is switched off."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.core.errors import UnavailableError
from app.course.sandbox.execution import CallRaised, CallReturned, Execution, Stopped, request_of
from app.course.sandbox.process import WorkerProcess
from app.course.sandbox.replies import execution_of

Ask = Callable[[dict[str, object], float], Awaitable[dict[str, object]]]
_WALL, _SHORT_WALL = 3.0, 0.1  # seconds: for programs that finish, and for one that must be stopped
_HONEST = "def f():\n    print('ready')\n    return (1, 2.5, 'three')\n"
_REFUSED = {
    "open a file": "def f():\n    return open('/etc/passwd').read()\n",
    "import socket": "def f():\n    import socket\n    return str(socket.socket())\n",
    "start a process": "def f():\n    import os\n    return os.fork()\n",
    "take 10 GB": "def f():\n    return len(bytearray(10 * 2**30))\n",
}
_ENDLESS = "def f():\n    while True:\n        pass\n"


async def verify_isolation(ask: Ask) -> None:
    """Have a worker run an honest program, and some that must be refused.

    Raises:
        UnavailableError: a program could do what it must not.
    """

    async def run(source: str, wall: float = _WALL) -> Execution:
        return execution_of(await ask(request_of(source, "f", [()]), wall), 1)

    execution = await run(_HONEST)
    if execution.outcomes != (CallReturned((1, 2.5, "three"), "ready\n"),):
        raise UnavailableError("the sandbox fails its self-test: an honest program does not run")
    for what, source in _REFUSED.items():
        execution = await run(source)
        if not all(isinstance(outcome, CallRaised | Stopped) for outcome in execution.outcomes):
            raise UnavailableError(f"the sandbox fails its self-test: a program could {what}")
    execution = await run(_ENDLESS, _SHORT_WALL)
    if execution.outcomes != (Stopped("time"),):
        raise UnavailableError("the sandbox fails its self-test: an endless loop was not stopped")


def verify_lockdown(worker: WorkerProcess) -> None:
    """On Linux, ask the kernel whether *worker* is locked down.

    Raises:
        UnavailableError: it is not.
    """
    if not sys.platform.startswith("linux"):
        return
    text = Path(f"/proc/{worker.process.pid}/status").read_text(encoding="ascii", errors="replace")
    status = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if status.get("Seccomp", "").strip() != "2" or status.get("NoNewPrivs", "").strip() != "1":
        raise UnavailableError("a worker of the sandbox is not locked down; the kernel needs seccomp")
    if "0" in status.get("Uid", "0").split():
        raise UnavailableError("a worker of the sandbox still runs as root")
