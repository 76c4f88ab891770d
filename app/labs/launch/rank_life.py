"""The life of a rank that another launcher has started, from its place to its outcome."""

import importlib
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from app.labs.launch.leader import record_error, work
from app.labs.launch.limit import allow_connections, stop_after
from app.labs.launch.position import Position, position_in, rank_in
from app.labs.launch.store import shared_store
from app.labs.machines.devices import NO_DEVICES, Devices, find_gpus, has_traces
from app.labs.machines.machine import describe_machine
from app.labs.machines.torch_query import forked
from app.labs.run import JobRecord, LabRun, MachineEvent, RunOutcome
from app.server.db.run_state import RunState


def run_rank(folder: Path) -> NoReturn:
    """Run this rank of the run in *folder* to its end."""
    run, code = LabRun(folder), 0
    rank = rank_in(os.environ)
    try:
        job = run.job
        own = position_in(os.environ, job.ranks, job.nodes)
        rank = own.rank
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(job.ranks), LOCAL_RANK=str(own.local))
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if rank == 0:
            machine = describe_machine(_devices(job, own), own.nodes)
            run.write_event(MachineEvent(at=time.time(), machine=machine))
        allow_connections(job.ranks)
        stop_after(2 * job.starting)  # if rank 0 is stopped before it answers, nothing else does
        store = shared_store(run.folder, job, own)
        if rank == 0:
            run.note_start()
        stop_after(job.seconds)  # before PyTorch's watchdog, which would not say who is late
        work(run.folder, job, rank, store)
        if rank == 0:
            run.write_outcome(RunOutcome(RunState.DONE))
    except BaseException as error:  # noqa: BLE001  # reported in a file, whatever it is
        code = 1
        record_error(run.folder, rank, error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _devices(job: JobRecord, position: Position) -> Devices:
    """The GPUs that ranks use on this node; a fork asks for them, which leaves CUDA to the rank."""
    if job.backend != "nccl" or not has_traces():
        return NO_DEVICES
    importlib.import_module("torch")  # the fork has it then
    found = find_gpus(forked)
    return replace(found, devices=found.devices[: job.ranks // (position.nodes or 1)])
