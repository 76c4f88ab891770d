"""What Slurm is asked for, and its queue as squeue prints it."""

import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import InputError, UnavailableError
from app.labs.spec import LabJob
from app.server.config import Settings

_ENDING = 30.0  # seconds that a run may take beyond its limits: its ranks keep them themselves
_KILL = 10  # seconds from SIGTERM to SIGKILL
_MINUTE = 60
# How the site's lines may ask for GPUs, and for processors per rank.
_GPUS = re.compile(r"^#SBATCH\b.*\s(-G|--gpus\b|--gpus-per-\w+|--gres=\S*gpu)", re.MULTILINE)
_CPUS = re.compile(r"^#SBATCH\b.*\s(-c|--cpus-per-\w+)", re.MULTILINE)
_SCRIPT = """\
#!/bin/bash
{site_header}
note() {{ echo "$1" > {folder}/exit.new && mv {folder}/exit.new {folder}/exit; }}
trap 'note $?' EXIT  # the lines of the site may end this, too
{site_setup}
# Since 22.05, srun does not take this from sbatch.
cpus=${{SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}}
timeout --signal=TERM --kill-after={kill} {seconds} \\
  srun --kill-on-bad-exit=1 --label $cpus {words}\\
  {python} -m app.labs.runner {folder}/job.json
code=$?
note $code
exit $code
"""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Nodes with as many ranks on each."""

    nodes: int
    per_node: int


@dataclass(frozen=True, slots=True)
class SiteLines:
    """The lines of the site's file: those for sbatch, and those for the shell."""

    header: str = ""
    setup: str = ""

    @classmethod
    def read(cls, path: Path | None) -> "SiteLines":
        """Those of the file at *path*.

        Raises:
            InputError: it cannot be read.
        """
        if path is None:
            return cls()
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"WALLCLOCK_SLURM_SITE cannot be read: {error}") from error
        header = [line for line in lines if line.startswith("#SBATCH")]
        return cls("\n".join(header), "\n".join(line for line in lines if line not in header))


def allocation_of(job: LabJob, backend: str, settings: Settings) -> Allocation:
    """The nodes of *job*: those that it names, or as few as have a GPU for each of its ranks.

    Over gloo, ranks take one node unless the job names more.

    Raises:
        InputError: there are not as many nodes, or they do not have the GPUs.
    """
    ranks, gpus, most = job.ranks, settings.slurm_gpus, settings.slurm_nodes
    on_gpus = backend == "nccl"
    nodes = job.nodes or (math.ceil(ranks / max(1, gpus)) if on_gpus else 1)
    if nodes > most:
        why = "" if job.nodes else f", since a node has {_counted(gpus, 'GPU')}"
        raise InputError(
            f"{_counted(ranks, 'rank')} on {_counted(nodes, 'node')}{why}: a run may take "
            f"{_counted(most, 'node')} here, by WALLCLOCK_SLURM_NODES"
        )
    if on_gpus and ranks > nodes * gpus:
        raise InputError(
            f"{_counted(ranks, 'rank')} on {_counted(nodes, 'node')} need "
            f"{math.ceil(ranks / nodes)} GPUs per node, and a node has {gpus}"
        )
    if ranks % nodes:
        raise InputError(
            f"{ranks} ranks take {nodes} nodes of {gpus} GPUs, and cannot be spread evenly over "
            f"them; take {ranks - ranks % nodes} or {ranks - ranks % nodes + nodes} ranks"
        )
    return Allocation(nodes, ranks // nodes)


def options_of(job: LabJob, backend: str, settings: Settings, site: SiteLines) -> Sequence[str]:
    """The options of sbatch for *job*, whose nodes are chosen.

    Where the site's lines ask for GPUs, or for processors per rank, these are left to them: Slurm
    refuses a mixture.
    """
    nodes = job.nodes or 1
    per_node = job.ranks // nodes
    minutes = math.ceil(_longest(job, settings) / _MINUTE) + 1
    return [
        f"--job-name=lab-{job.lab.name}",
        f"--nodes={nodes}",
        f"--ntasks={job.ranks}",
        f"--ntasks-per-node={per_node}",
        f"--time={minutes}",
        "--no-requeue",
        "--open-mode=append",
        *resource_options(per_node, backend, settings, site),
    ]


def script_of(job: LabJob, folder: Path, settings: Settings, site: SiteLines) -> str:
    """The script of *job*, whose run is in *folder*."""
    return _SCRIPT.format(
        site_header=site.header,
        site_setup=site.setup,
        kill=_KILL,
        seconds=round(_longest(job, settings)),
        words=f"{settings.slurm_srun} " if settings.slurm_srun else "",
        python=shlex.quote(settings.slurm_python or sys.executable),
        folder=shlex.quote(str(folder)),
    )


def _longest(job: LabJob, settings: Settings) -> float:
    """Seconds from the start of the script to its end, at most."""
    return settings.slurm_starting + job.lab.seconds + _ENDING


def resource_options(per_node: int, backend: str, settings: Settings, site: SiteLines) -> Iterator[str]:
    """The options of sbatch for what *per_node* ranks over *backend* take of a node."""
    if settings.slurm_partition:
        yield f"--partition={settings.slurm_partition}"
    if backend == "nccl" and not _GPUS.search(site.header):
        yield from shlex.split(settings.slurm_gpu_options.replace("{gpus}", str(per_node)))
    if backend == "nccl" and settings.slurm_cpus and not _CPUS.search(site.header):
        yield f"--cpus-per-task={settings.slurm_cpus}"
    if settings.slurm_exclusive:
        yield "--exclusive"
    if settings.slurm_memory:
        amount, unit = settings.slurm_memory[:-1], settings.slurm_memory[-1]
        yield f"--mem={per_node * int(amount)}{unit}"
    elif settings.slurm_exclusive:
        yield "--mem=0"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_PATIENCE = 20.0  # seconds for a command of Slurm
_FIELDS = "--format=%i|%T|%r"
_NEVER = {
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
}
_WAITING = {"PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED"}
_GOING = {"RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"}


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job in Slurm's queue; *place* is its position among the *waiting* jobs, from 1."""

    state: str
    reason: str
    place: int
    waiting: int

    @property
    def is_waiting(self) -> bool:
        """Whether it has not begun."""
        return self.state in _WAITING

    @property
    def is_going(self) -> bool:
        """Whether it has begun, and Slurm has not cleaned up after it."""
        return self.state in _GOING

    @property
    def never_starts(self) -> bool:
        """Whether Slurm would never start it as it was asked for."""
        return self.reason in _NEVER


def read_queue() -> Mapping[str, QueuedJob]:
    """All jobs of this user by their numbers, also those that have ended a moment ago.

    Raises:
        UnavailableError: Slurm does not answer.
    """
    done = slurm_output("squeue", "--me", "--noheader", "--states=all", "--sort=-p,i", _FIELDS)
    if done.returncode:
        raise UnavailableError(last_line(done.stderr))
    rows = [line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") >= 2]  # noqa: PLR2004
    waiting = [number for number, state, _ in rows if state == "PENDING"]
    return {
        number: QueuedJob(state, reason, waiting.index(number) + 1 if number in waiting else 0, len(waiting))
        for number, state, reason in rows
    }


def slurm_output(*command: str) -> "subprocess.CompletedProcess[str]":
    """The output of a Slurm command.

    Raises:
        UnavailableError: it cannot be run, or does not answer.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{command[0]} does not answer within {_PATIENCE:g} s") from None
    except OSError as error:
        raise UnavailableError(f"{command[0]} cannot be run: {error.strerror}") from error


def last_line(text: str) -> str:
    """The last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no output"
