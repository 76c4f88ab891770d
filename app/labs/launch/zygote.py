"""A process that has torch imported, and forks a leader for every run that it is sent.

Importing torch takes seconds, a fork milliseconds. The processes, and what stops each of them:

    server or command line          `local.LocalLauncher`
     └─ zygote                      this module; a session of its own
         ├─ leader of run A         `leader.lead`; a session of its own
         │   ├─ rank 0              `leader.work`, and whatever it starts
         │   └─ rank 1
         └─ leader of run B         waits for the devices that run A has locked

    when                            then
    the server exits, even killed   the zygote reads end of file on its input and sends SIGHUP to
                                    its leaders; so does `LocalLauncher.close`
    the zygote exits, even killed   the kernel sends SIGHUP to each leader (parent-death signal)
    a leader gets SIGHUP            it stops its ranks; the run is lost
    a leader gets SIGTERM           it stops its ranks; the run is canceled (`LocalLauncher.cancel`)
    a rank fails, or time is up     the leader stops the other ranks
    a leader stops its ranks        SIGTERM to each, and SIGKILL a second later
    a leader exits, even killed     the kernel sends SIGKILL to each rank (parent-death signal)

A leader locks the file `alive` of its run, so any process can tell whether the run is still led,
and names itself there, so any process can cancel it. It writes `outcome.json` last.

The zygote never touches a GPU: after that, its forks could not use one.
"""

import gc
import importlib
import os
import select
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from app.labs.launch.leader import STOPPING, lead

_PRELOADED = (
    "torch.distributed",
    "torch.distributed.fsdp",
    "torch.distributed.optim",
    "torch.distributed.pipelining",
    "torch.distributed.tensor.parallel",
    "app.labs.ranks.rank",
    "app.labs.ranks.rings",
)


@dataclass(frozen=True, slots=True)
class Order:
    """A line of the zygote's input: the folder of a run to start."""

    run: str

    def as_line(self) -> bytes:
        """The order as the zygote reads it."""
        return _ORDER.dump_json(self) + b"\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """A line of the zygote's output: the version of torch, why there is none, or a new leader."""

    ready: str = ""
    fault: str = ""
    pid: int = 0

    @staticmethod
    def read(line: bytes) -> "Reply":
        """The reply that *line* is."""
        return _REPLY.validate_json(line)


_ORDER: TypeAdapter[Order] = TypeAdapter(Order)
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


def main() -> int:
    """Serve until the input ends."""
    if fault := _prepared():
        _say(Reply(fault=fault))
        return 1
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    leaders: set[int] = set()
    pending = b""
    while not stopped:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _reap(leaders)
        if 0 not in ready:
            continue
        text = os.read(0, 65536)
        *lines, pending = (pending + text).split(b"\n")
        leaders |= {_forked(Path(_ORDER.validate_json(line).run)) for line in lines}
        if not text:
            break
    _stop(leaders)
    return 0


def _stop(leaders: set[int]) -> None:
    """Stop every run."""
    for pid in leaders:
        os.kill(pid, signal.SIGHUP)
    for pid in leaders:
        os.waitpid(pid, 0)


def _prepared() -> str:
    """Import everything that ranks need; the reason if that fails."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    try:
        torch = importlib.import_module("torch")
        for name in _PRELOADED:
            importlib.import_module(name)
    except ImportError as error:
        return f"{error.name or 'torch'} is not installed: {error}"
    gc.collect()
    gc.freeze()  # the imported modules stay shared, and no rank searches them for garbage
    _say(Reply(ready=str(torch.__version__)))
    return ""


def _forked(folder: Path) -> int:
    """A leader for the run in *folder*."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        lead(folder)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    _say(Reply(pid=pid))
    return pid


def _reap(leaders: set[int]) -> None:
    for pid in list(leaders):
        done, _ = os.waitpid(pid, os.WNOHANG)
        if done:
            leaders.discard(pid)


def _say(reply: Reply) -> None:
    os.write(1, _REPLY.dump_json(reply) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
