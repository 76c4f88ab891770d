"""One rank that another launcher starts: `python -m app.labs.launch.rank_main FOLDER`.

Its place comes from the environment, as Slurm, torchrun or an indexed Job of Kubernetes set it.
All ranks must see the folder; rank 0 writes into it where the others find it, so that no port
has to be chosen.
"""

import json
import os
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

from app.labs.files import write_whole
from app.labs.launch.leader import record_error, work
from app.labs.machine import describe_machine

_RANK = ("RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLD = ("WORLD_SIZE", "SLURM_NTASKS")
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID")
_PATIENCE = 300.0  # seconds until all ranks are there
_POLL = 0.05
_OUTSIDE = ("192.0.2.1", 9)  # an address for examples: nothing is sent there


def main() -> int:
    """Be that rank."""
    folder = Path(sys.argv[1])
    rank, code = _number(_RANK), 0
    try:
        job = json.loads((folder / "job.json").read_text())
        world = _world(int(job["ranks"]))
        local = _number(_LOCAL, 0)
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(local))
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if _is_alone():
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        if rank == 0:
            _tell_machine(folder)
        work(folder, rank, world, float(job["seconds"]), _meet(folder, rank, world))
        if rank == 0:
            write_whole(folder / "outcome.json", json.dumps({"state": "done", "cause": ""}))
    except BaseException as error:  # noqa: BLE001  # told in a file, whatever it is
        code = 1
        record_error(folder, rank, error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _number(names: tuple[str, ...], otherwise: int | None = None) -> int:
    for name in names:
        if text := os.environ.get(name):
            return int(text)
    if otherwise is None:
        raise SystemExit(f"none of {', '.join(names)} is set: this rank does not know its place")
    return otherwise


def _world(ranks: int) -> int:
    world = _number(_WORLD, ranks)
    if world != ranks:
        raise ValueError(f"this run is of {ranks} ranks, and {world} were started")
    return world


def _is_alone() -> bool:
    """Whether all ranks are on one machine."""
    return os.environ.get("SLURM_NNODES") == "1"


def _tell_machine(folder: Path) -> None:
    machine = {**describe_machine(), "nodes": int(os.environ.get("SLURM_NNODES", "1"))}
    line = json.dumps({"kind": "machine", "at": time.time(), "machine": machine})
    with (folder / "events.jsonl").open("a") as file:
        file.write(line + "\n")


def _meet(folder: Path, rank: int, world: int) -> object:
    """The store in which the ranks find one another."""
    from torch.distributed import TCPStore

    place, patience = folder / "meeting", timedelta(seconds=_PATIENCE)
    if rank == 0:
        host = "127.0.0.1" if _is_alone() else _own_address()
        listening = host if _is_alone() else "0.0.0.0"  # from other nodes
        store = TCPStore(listening, 0, world, True, patience, wait_for_workers=False)
        write_whole(place, f"{host} {store.port}")
        return store
    end = time.monotonic() + _PATIENCE
    while not place.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"rank 0 was not there within {_PATIENCE:g} s")
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
