"""A process that has torch imported, and forks a leader for every run that it is sent.

Importing torch takes seconds, a fork milliseconds. It is ready with what every rank needs; what
some need is imported when there is nothing else to do. The processes, and what stops each of them:

    server or command line          `local.LocalLauncher`
     └─ zygote                      this module, and what its command line names; a session of its own
         ├─ leader of run A         `leader.lead`; a session of its own
         │   ├─ rank 0              `process.work`, and whatever it starts
         │   └─ rank 1
         ├─ leader of run B         waits for the devices that run A has locked
         └─ probe                   `probe.main`: asks torch about the GPUs, and exits

    when                            then
    the server exits, even killed   the zygote reads end of file on its input and sends SIGHUP to
                                    its leaders; so does `LocalLauncher.close`
    the zygote exits, even killed   the kernel sends SIGHUP to each leader (parent-death signal)
    a leader gets SIGHUP            it stops its ranks; the run is lost
    a leader gets SIGTERM           it stops its ranks; the run is canceled (`LocalLauncher.cancel`)
    a rank fails, or time is up     the leader stops the other ranks
    a leader stops its ranks        SIGTERM to each, and SIGKILL a second later
    a leader exits, even killed     the kernel sends SIGKILL to each rank (parent-death signal)
    the zygote exits                the kernel sends SIGKILL to the probe (parent-death signal)

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
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from app.labs.runner.job import Job
from app.labs.runner.leader import STOPPING, die_with_parent, lead
from app.labs.runner.probe import print_into
from app.labs.runner.torch_version import OLDEST, is_older, upgrade_of

PRELOADED = ("torch.distributed", "app.labs.runner.rank")  # and the modules that its command line names
# Each takes a good part of a second: imported when there is time, or before a run that needs it.
_DYNAMO = "torch._dynamo"  # which optimizers, checkpoints and DDP import when they are first used
LATER = (
    _DYNAMO,
    "torch.distributed.fsdp",
    "torch.distributed.optim",
    "torch.distributed.pipelining",
    "torch.distributed.tensor.parallel",
)
_QUIET = 0.5  # seconds without an order, after which there is time for one of these
_LIBRARY = "put the library's folder on LD_LIBRARY_PATH, or install a torch that fits this machine"


@dataclass(frozen=True, slots=True)
class ZygoteOrder:
    """A line of the zygote's input: the folder of a *run* to start, or the file for a *probe*."""

    run: str = ""
    probe: str = ""

    def as_line(self) -> bytes:
        """The order as the zygote reads it."""
        return _ORDER.dump_json(self) + b"\n"


@dataclass(frozen=True, slots=True)
class ZygoteReply:
    """A line of the zygote's output: the version of torch, why there is none, or a new child.

    The *cure* of a fault is empty if torch is to be installed.
    """

    ready: str = ""
    fault: str = ""
    cure: str = ""
    pid: int = 0

    @staticmethod
    def read(line: bytes) -> "ZygoteReply":
        """The reply that *line* is."""
        return _REPLY.validate_json(line)


_ORDER: TypeAdapter[ZygoteOrder] = TypeAdapter(ZygoteOrder)
_REPLY: TypeAdapter[ZygoteReply] = TypeAdapter(ZygoteReply)


def main() -> int:
    """Serve until the input ends."""
    ready = _prepared()
    _say(ready)
    if ready.fault:
        return 1
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    children = _Children()
    pending = b""
    while not stopped:
        is_idle = not (children.leaders or children.probes)  # there is nothing that an import could disturb
        quiet = _QUIET if children.later and is_idle else None
        found, _, _ = select.select([0, wake], [], [], quiet)
        if not found:
            _import(children.later.pop(0))
        if wake in found:
            os.read(wake, 4096)
            children.reap()
        if 0 not in found:
            continue
        text = os.read(0, 65536)
        *lines, pending = (pending + text).split(b"\n")
        for line in lines:
            children.start(_ORDER.validate_json(line))
        if not text:
            break
    children.stop()
    return 0


@dataclass(slots=True)
class _Children:
    """The processes that were forked and still run, and the modules still to import for them."""

    leaders: set[int] = field(default_factory=set)
    probes: set[int] = field(default_factory=set)
    later: list[str] = field(default_factory=lambda: list(LATER))

    def start(self, order: ZygoteOrder) -> None:
        """Fork the child that *order* is for, and say so."""
        if order.probe:
            printed = Path(order.probe)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                die_with_parent(signal.SIGKILL)
                print_into(printed)
            self.probes.add(pid)
        else:
            with suppress(OSError, ValueError):  # its leader says what is wrong
                worker = Path(Job.read(Path(order.run)).worker).read_text(encoding="utf-8")
                trains = "from torch import nn" in worker
                for name in [
                    one for one in self.later if f"from {one} import" in worker or (one == _DYNAMO and trains)
                ]:
                    self.later.remove(name)
                    _import(name)
            pid = _leading(Path(order.run))
            self.leaders.add(pid)
        _say(ZygoteReply(pid=pid))

    def reap(self) -> None:
        """Forget those that have exited."""
        for pids in (self.leaders, self.probes):
            pids -= {pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0]}

    def stop(self) -> None:
        """Stop every run; a probe dies with this process, and is not waited for: it may hang."""
        for pid in self.leaders:
            os.kill(pid, signal.SIGHUP)
        for pid in self.leaders:
            os.waitpid(pid, 0)


def _prepared() -> ZygoteReply:
    """Import what every rank needs; what to tell about it."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    try:
        torch = importlib.import_module("torch")
        version = str(getattr(torch, "__version__", OLDEST))
        if is_older(version, OLDEST):
            fault = f"{version} is installed, and {OLDEST} is the oldest with which they run"
            return ZygoteReply(fault=fault, cure=upgrade_of(OLDEST))
        for name in (*PRELOADED, *sys.argv[1:]):
            importlib.import_module(name)
    except (ImportError, OSError) as error:
        if isinstance(error, ImportError) and ".so" not in str(error):
            return ZygoteReply(fault=f"{error.name or 'torch'} is not installed: {error}")
        return ZygoteReply(fault=f"it is installed, but cannot be loaded: {error}", cure=_LIBRARY)
    _freeze()
    return ZygoteReply(ready=str(torch.__version__))


def _import(name: str) -> None:
    """Import the module *name*; a rank that needs it says why that fails."""
    with suppress(ImportError, OSError):
        importlib.import_module(name)
        _freeze()


def _freeze() -> None:
    """Let modules stay shared with the ranks: none of them is to search them for garbage."""
    gc.collect()
    gc.freeze()


def _leading(folder: Path) -> int:
    """A leader for the run in *folder*."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        lead(folder)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    return pid


def _say(reply: ZygoteReply) -> None:
    os.write(1, _REPLY.dump_json(reply) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
