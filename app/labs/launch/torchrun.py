"""Runs that another program starts: torchrun on each node, or a rank at a time."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from app.labs.launch.base import write_run
from app.labs.run import LabRun
from app.labs.spec import LabJob

_STARTING = 1800.0  # seconds until all nodes are free, and have the image
_PROGRAM = "app.labs.runner"


def prepared(job: LabJob, folder: Path, backend: str, notes: Sequence[str] = (), network: str = "") -> LabRun:
    """The run of *job*, which begins when its ranks are started; it needs no leader.

    Raises:
        UnavailableError: it cannot be stored.
    """
    return write_run(folder, job, backend, launcher="by hand", notes=notes, starting=_STARTING, network=network)


def instructions(run: LabRun) -> str:
    """How to start the ranks of *run*."""
    job, program = run.job, f"-m {_PROGRAM} {quote(str(run.folder.absolute() / 'job.json'))}"
    nodes = job.nodes or 1
    if nodes > 1:
        where = f"On each of {nodes} nodes, where HOST is the first and N is 0 there"
        meeting = f"--nnodes={nodes} --node-rank=N --master-addr=HOST"
    else:
        where, meeting = "On one machine", "--standalone"
    return (
        f"run {run.id}\n{where}:\n"
        f"    torchrun {meeting} --nproc-per-node={job.ranks // nodes} {program}\n"
        f"Or start each rank with RANK, WORLD_SIZE={job.ranks} and, with several GPUs on a "
        f"machine, LOCAL_RANK set:\n"
        f"    python {program}\n"
    )
