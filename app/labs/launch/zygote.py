"""A process that has torch imported, and forks a leader for every run it is told of.

It is told one run a line on its input, as JSON, and answers the same way on its output; when its
input ends, or whoever started it dies, it ends every run and itself. It never touches a GPU, or
no fork of it could.
"""

import gc
import importlib
import json
import os
import select
import signal
import sys
from pathlib import Path

from app.labs.launch.leader import ENDING, lead

_PRELOADED = (
    "torch.distributed",
    "torch.distributed.fsdp",
    "torch.distributed.optim",
    "torch.distributed.pipelining",
    "torch.distributed.tensor.parallel",
    "app.labs.ranks.rank",
    "app.labs.ranks.rings",
)


def main() -> int:
    """Serve until the input ends."""
    if fault := _prepared():
        _say(fault=fault)
        return 1
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    leaders: set[int] = set()
    pending = b""
    while not ended:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _reap(leaders)
        if 0 not in ready:
            continue
        text = os.read(0, 65536)
        *lines, pending = (pending + text).split(b"\n")
        leaders |= {_forked(Path(json.loads(line)["run"])) for line in lines}
        if not text:
            break
    _end(leaders)
    return 0


def _end(leaders: set[int]) -> None:
    """End every run."""
    for pid in leaders:
        os.kill(pid, signal.SIGHUP)
    for pid in leaders:
        os.waitpid(pid, 0)


def _prepared() -> str:
    """Import all that ranks need; why not, if it cannot be."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    try:
        torch = importlib.import_module("torch")
        for name in _PRELOADED:
            importlib.import_module(name)
    except ImportError as error:
        return f"{error.name or 'torch'} is not installed: {error}"
    gc.collect()
    gc.freeze()  # what was imported stays shared, and no rank searches it for garbage
    _say(ready=str(torch.__version__))
    return ""


def _forked(folder: Path) -> int:
    """A leader for the run in *folder*."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        lead(folder)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    _say(run=folder.name, pid=pid)
    return pid


def _reap(leaders: set[int]) -> None:
    for pid in list(leaders):
        done, _ = os.waitpid(pid, os.WNOHANG)
        if done:
            leaders.discard(pid)


def _say(**what: object) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
