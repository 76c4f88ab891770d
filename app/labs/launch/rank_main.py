"""One rank that another launcher starts: `python -m app.labs.launch.rank_main FOLDER`.

Its rank comes from the environment, as Slurm, torchrun or an indexed Kubernetes Job set it. All
ranks must see the folder; rank 0 writes its address there, so that no port has to be chosen.
"""

import importlib
import os
import signal
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

from app.db.run_state import State
from app.labs.asking import forked
from app.labs.devices import NO_DEVICES, Devices, has_traces, look
from app.labs.launch.leader import record_error, work
from app.labs.machine import describe_machine
from app.labs.run import MachineEvent, Run, RunOutcome, write_whole

_RANK = ("RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLD = ("WORLD_SIZE", "SLURM_NTASKS")
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID")
_PATIENCE = 300.0  # seconds until all ranks have started
_POLL = 0.05
_OUTSIDE = ("192.0.2.1", 9)  # an address for examples: nothing is sent there


def main() -> int:
    """Run this rank to its end."""
    run = Run(Path(sys.argv[1]))
    rank, code = _number(_RANK), 0
    try:
        job = run.job
        world = _world(job.ranks)
        local = _number(_LOCAL, 0)
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(local))
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if _is_alone():
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        if rank == 0:
            nodes = int(os.environ.get("SLURM_NNODES", "1"))
            machine = describe_machine(_devices(job.backend), nodes)
            run.write_event(MachineEvent(at=time.time(), machine=machine))
        store = _meet(run.folder, rank, world)
        signal.setitimer(signal.ITIMER_REAL, job.seconds)  # its own time begins when all are there
        work(run.folder, job, rank, store)
        if rank == 0:
            run.write_outcome(RunOutcome(State.DONE))
    except BaseException as error:  # noqa: BLE001  # reported in a file, whatever it is
        code = 1
        record_error(run.folder, rank, error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _number(names: tuple[str, ...], otherwise: int | None = None) -> int:
    for name in names:
        if text := os.environ.get(name):
            return int(text)
    if otherwise is None:
        raise SystemExit(f"none of {', '.join(names)} is set: this process does not know its rank")
    return otherwise


def _world(ranks: int) -> int:
    world = _number(_WORLD, ranks)
    if world != ranks:
        raise ValueError(f"this run has {ranks} ranks, but {world} were started")
    return world


def _devices(backend: str) -> Devices:
    """The GPUs of this node, if the ranks use them; a fork asks, which leaves CUDA to the rank."""
    if backend != "nccl" or not has_traces():
        return NO_DEVICES
    importlib.import_module("torch")  # the fork has it then
    return look(forked)


def _is_alone() -> bool:
    """Whether all ranks are on one machine."""
    return os.environ.get("SLURM_NNODES") == "1"


def _meet(folder: Path, rank: int, world: int) -> object:
    """The store in which the ranks find each other."""
    from torch.distributed import TCPStore

    place, patience = folder / "meeting", timedelta(seconds=_PATIENCE)
    if rank == 0:
        host = "127.0.0.1" if _is_alone() else _own_address()
        listening = host if _is_alone() else "0.0.0.0"  # from other nodes
        store = TCPStore(listening, 0, world, True, patience, wait_for_workers=False)
        write_whole(place, f"{host} {store.port}".encode())
        return store
    end = time.monotonic() + _PATIENCE
    while not place.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"rank 0 did not start within {_PATIENCE:g} s")
        time.sleep(_POLL)
    host, port = place.read_text().split()
    return TCPStore(host, int(port), world, False, patience)


def _own_address() -> str:
    """The address at which other nodes reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_OUTSIDE)
            return str(probe.getsockname()[0])
        except OSError:
            return socket.getfqdn()


if __name__ == "__main__":
    sys.exit(main())
