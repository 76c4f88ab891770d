"""Steps 3 and 11: forks of the process with torch, and runs that go wrong on purpose."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.labs.check.collectives import LAB
from app.labs.check.findings import CheckFinding, failed_finding, odd, passed, unknown
from app.labs.check.world import Broke, TorchProcess, World
from app.server.db.columns import RunState

_DEVICE = re.compile(r"/dev/(?:nvidia\d|nvidia-uvm|nvidiactl|kfd|dri/)")
_STARTING = 30.0  # seconds from which on the import of torch is slow
_LIMIT, _QUICK_LIMIT = 20.0, 3.0  # seconds of a run in which a rank is missing
_LATER = 5.0  # seconds after the limit in which everything is over
_RANKS = 4
_MAJORITY = 3  # ranks, of which two outnumber the one that went elsewhere
_EVEN = "of two ranks in different collectives, neither is known to be wrong"
_FIRST_NAMED = re.compile(r"\branks? (\d+)")


def forks(world: World) -> Iterator[CheckFinding]:
    """Whether ranks can be forked, and use the GPUs."""
    if world.is_slurm:
        yield unknown("process with torch", "under Slurm, each rank imports torch by itself")
    else:
        yield from _process_with_torch(world.torch_process())
    yield _products(world)


def _process_with_torch(process: TorchProcess) -> Iterator[CheckFinding]:
    found = f"torch {process.version}, imported in {process.seconds:.1f} s"
    if process.seconds < _STARTING:
        yield passed("process with torch", found)
    else:
        cure = "Install PyTorch on a local disk; a network file system takes this long at each start."
        yield odd("process with torch", found, f"less than {_STARTING:g} s", cure)
    if opened := sorted({path for path in process.files if _DEVICE.match(path)}):
        yield failed_finding(
            "its open files",
            ", ".join(opened),
            "no GPU",
            "Its forks cannot use a GPU that it has initialized; report this, with the version of "
            "torch and the installed packages.",
        )
    else:
        yield passed("its open files", "no GPU among them")


def _products(world: World) -> CheckFinding:
    gpus = world.devices().usable
    if world.is_slurm or not gpus:
        met = world.fail("nothing", 0, 2, "gloo", _LIMIT)
        return _as_expected("forks", met, "two ranks met and summed")
    done = world.fail("products", 0, gpus, "gloo", _LIMIT)
    each = "a fork per GPU multiplied matrices of BF16 on it"
    return _as_expected("forks", done, each if gpus > 1 else "a fork multiplied matrices of BF16")


def _as_expected(name: str, broke: Broke, says: str) -> CheckFinding:
    if broke.state is RunState.DONE:
        return passed(name, f"{says}, in {broke.seconds:.1f} s")
    return failed_finding(name, broke.cause or broke.state.word, says, "")


@dataclass(frozen=True, slots=True)
class _Fault:
    """What goes wrong, with *rank*, in words that begin a line."""

    what: str
    rank: int
    name: str


_FAULTS = (
    _Fault("memory", 1, "out of memory on rank {rank}"),
    _Fault("raises", 1, "an exception on rank {rank}"),
    _Fault("killed", 2, "rank {rank} is killed"),
    _Fault("skips", 3, "rank {rank} skips a collective"),
)


def failures(world: World) -> Iterator[CheckFinding]:
    """Whether runs that fail name the right rank, and leave nothing that stops the next one."""
    gpus = world.devices().usable
    backend = "nccl" if gpus > 1 else "gloo"
    ranks = min(_RANKS, gpus) if gpus > 1 else _RANKS
    limit = _QUICK_LIMIT if world.quick else _LIMIT
    most = math.inf if world.is_slurm else limit + _LATER  # a job also waits for its nodes
    for fault in _FAULTS:
        rank = min(fault.rank, ranks - 1)
        if fault.what == "skips" and ranks < _MAJORITY:
            yield unknown("a rank skips a collective", _EVEN)
            continue
        broke = world.fail(fault.what, rank, ranks, backend, limit)
        yield _judged(fault.name.format(rank=rank), broke, rank, most)
    after = world.fail("nothing", 0, ranks, backend, limit + _LATER)
    yield _as_expected("the next run", after, f"{ranks} ranks over {backend} met and summed")
    if gpus <= 1:
        yield unknown("failures over NCCL", "they need two GPUs")
    elif not world.quick:
        yield from _detours(world)


def _detours(world: World) -> Iterator[CheckFinding]:
    """Whether NCCL takes another way where one is closed."""
    variables, expected = {}, {"NCCL_P2P_DISABLE": "SHM", "NCCL_SHM_DISABLE": "NET"}
    for variable, way in expected.items():
        variables[variable] = "1"
        name = f"with {' and '.join(variables)}"
        ran = world.run(LAB, {"ranks": "2", "sizes": "1MiB"}, "nccl", dict(variables))
        chosen = ran.report.details.get("transport", "")
        if not ran.is_done:
            yield failed_finding(name, ran.report.cause or ran.report.state.word, f"it runs over {way}", "")
        elif way in chosen:
            yield passed(name, f"it runs over {chosen}")
        else:
            cure = "The variable had no effect; see /etc/nccl.conf and ~/.nccl.conf."
            yield odd(name, chosen or "unknown", way, cure)


def _judged(name: str, broke: Broke, rank: int, most: float) -> CheckFinding:
    """Whether a run *broke* as it should: *rank* is to blame, in time, and nothing is left."""
    found = f"{broke.cause} ({broke.seconds:.1f} s)"
    within = "" if most == math.inf else f", within {most:g} s"
    expected = f"rank {rank} is to blame{within}"
    named = _FIRST_NAMED.search(broke.cause)
    if broke.state is RunState.DONE or named is None or int(named[1]) != rank:
        return failed_finding(name, found, expected, "Report this, with the logs of the run.")
    if broke.left:
        pids = ", ".join(map(str, broke.left))
        cure = "End them; a GPU that they hold cannot be used."
        return failed_finding(name, f"{found}; processes left: {pids}", "nothing is left", cure)
    if broke.seconds > most:
        return odd(name, found, expected, "The driver takes long to free a GPU; see dmesg.")
    return passed(name, found, expected)
