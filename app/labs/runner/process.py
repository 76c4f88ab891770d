"""The process of one rank: its position, its life from the store to its outcome, and its errors.

A leader forks it; Slurm, torchrun or a person start it as `python -m app.labs.runner job.json`.
"""

import faulthandler
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from app.labs.runner.job import DONE, Job, JobOutcome, note_start, stack_of, write_whole
from app.labs.runner.rendezvous import shared_store
from app.labs.runner.torch_version import require_torch

LIBRARY = Path(__file__).parents[1] / "library"
_DESCRIBING = 120.0  # seconds for the description of the machine
_TRACE = 8000  # characters of a traceback
_RANK = ("RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLD = ("WORLD_SIZE", "SLURM_NTASKS")
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID")
_NODES = ("GROUP_WORLD_SIZE", "SLURM_NNODES")
_POD = ("JOB_COMPLETION_INDEX",)


@dataclass(frozen=True, slots=True)
class Position:
    """A *rank* among all ranks, its number on its node, and the number of *nodes*, if known."""

    rank: int
    local: int
    nodes: int | None


def has_rank(environment: Mapping[str, str]) -> bool:
    """Whether *environment* makes this process a rank."""
    return _position_number(environment, _RANK) is not None


def position_in(environment: Mapping[str, str], ranks: int, nodes: int | None) -> Position:
    """The position that Slurm, torchrun, an indexed Job or a person has set in *environment*.

    In an indexed Job of Kubernetes, each pod may have a torchrun of its own, which knows the ranks
    of its pod only. *ranks* and *nodes* are those that the run was to have; *nodes* may be unknown.
    """
    rank, pod = _position_number(environment, _RANK) or 0, _position_number(environment, _POD)
    world, there = _position_number(environment, _WORLD) or ranks, _position_number(environment, _NODES)
    local, pods = _position_number(environment, _LOCAL) or 0, nodes or 1
    if pod is not None and there == 1 and world * pods == ranks:
        return Position(rank + pod * world, local, pods)
    if world != ranks:
        raise ValueError(f"this run has {ranks} ranks, but {world} were started")
    if nodes and there and nodes != there:
        raise ValueError(f"this run has {nodes} nodes, but was started on {there}")
    return Position(rank, local, there or nodes)


def run_rank(folder: Path) -> NoReturn:
    """Run this rank of the run in *folder* to its end."""
    code, rank = 0, _position_number(os.environ, _RANK) or 0
    try:
        job = Job.read(folder)
        own = position_in(os.environ, job.ranks, job.nodes)
        rank = own.rank
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(job.ranks), LOCAL_RANK=str(own.local))
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if rank == 0 and job.describer:
            # Have a process add to the events which machine this is: it may ask CUDA, which a rank may not yet.
            each = job.ranks // (own.nodes or 1)
            subprocess.run(
                [sys.executable, "-m", job.describer, str(folder), str(each), str(own.nodes or 0)],
                timeout=_DESCRIBING,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        allow_connections(job.ranks)
        stop_after(2 * job.starting)  # if rank 0 is stopped before it answers, nothing else does
        store = shared_store(folder, job, rank, own.nodes)
        if rank == 0:
            note_start(folder)
        stop_after(job.seconds)  # before PyTorch's watchdog, which would not say who is late
        work(folder, job, rank, store)
        if rank == 0:
            JobOutcome(DONE).write(folder)
    except BaseException as error:  # noqa: BLE001  # reported in a file, whatever it is
        code = 1
        record_error(folder, rank, error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def work(folder: Path, job: Job, rank: int, store: object = None) -> None:
    """The life of a rank: meet the others, run the worker of the lab, leave."""
    import torch

    require_torch(torch.__version__)
    from app.labs.runner.rank import WorkerRank

    path = Path(job.worker)
    if not path.is_file():  # launched from a machine that has this package elsewhere
        path = LIBRARY / job.lab.replace("-", "_") / "worker.py"
    worker = load_worker(path)
    own = WorkerRank(rank, job.ranks, folder, values=job.values, on_gpu=job.backend == "nccl", seconds=job.seconds)
    own.refuses_busy = job.refuses_busy
    with stack_written_when_late(folder, rank, job.seconds):
        own.join(store)
        worker.main(own)
        own.leave()


def load_worker(path: Path) -> ModuleType:
    """The program of every rank at *path*, imported."""
    spec = importlib.util.spec_from_file_location("lab_worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    return worker


def record_error(folder: Path, rank: int, error: BaseException) -> None:
    """Write the error that ended *rank* to a file; its log has no traceback of an interrupt."""
    if not isinstance(error, KeyboardInterrupt):
        traceback.print_exc()
    found = {"rank": rank, "at": time.time(), "what": f"{type(error).__name__}: {error}"[:_TRACE]}
    write_whole(folder / f"error{rank}.json", json.dumps(found).encode())


def _position_number(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((int(environment[name]) for name in names if environment.get(name)), None)


_EARLY = 1.0  # seconds before the limit; once a rank has ended, the others are elsewhere
_STOPPING = (signal.SIGTERM, signal.SIGALRM)
_FILES, _EACH = 256, 4  # open files of a rank, and for its connections to each of the others


@contextmanager
def stack_written_when_late(folder: Path, rank: int, seconds: float) -> Iterator[None]:
    """While this lasts, *rank* writes its stack shortly before *seconds* are over, or if stopped.

    That works even inside of a collective, where Python handles no signals.
    """
    path = stack_of(folder, rank)
    with path.open("w") as file:
        for number in _STOPPING:
            faulthandler.register(number, file=file, chain=True)
        faulthandler.dump_traceback_later(max(seconds - _EARLY, seconds / 2), file=file)
        try:
            yield
            path.unlink()
        finally:
            faulthandler.cancel_dump_traceback_later()
            for number in _STOPPING:
                faulthandler.unregister(number)


def allow_connections(ranks: int) -> None:
    """Let this process open as many files as it needs to be connected to all *ranks*.

    The limit is often 1,024, and gloo connects every rank to every other.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _FILES + _EACH * ranks
    if resource.RLIM_INFINITY not in (soft, hard):
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def stop_after(seconds: float) -> None:
    """Have SIGALRM end this process after *seconds*, whatever it is doing then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
