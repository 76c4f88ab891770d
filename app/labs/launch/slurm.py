"""Runs as Slurm jobs: submitted with sbatch, followed with squeue, stopped with scancel."""

import contextlib
import json
import math
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import from_json

from app.core.errors import InputError, UnavailableError
from app.labs.evidence.blame import blame, codes_of_srun
from app.labs.launch.base import Launcher, write_run
from app.labs.machines.devices import Devices, promised_gpus
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.job import write_whole
from app.labs.spec import LabJob
from app.server.config import Settings
from app.server.db.run_state import RunState

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
class SiteLines:
    """The lines of the site's file: those for sbatch, and those for the shell."""

    header: str = ""
    setup: str = ""

    @classmethod
    def read(cls, path: Path | None) -> "SiteLines":
        """Those of the file at *path*."""
        if path is None:
            return cls()
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"WALLCLOCK_SLURM_SITE cannot be read: {error}") from error
        header = [line for line in lines if line.startswith("#SBATCH")]
        return cls("\n".join(header), "\n".join(line for line in lines if line not in header))


def nodes_of_job(job: LabJob, backend: str, settings: Settings) -> int:
    """The nodes of *job*: those that it names, or as few as have a GPU for each of its ranks.

    Over gloo, ranks take one node unless the job names more.
    """
    ranks, gpus, most = job.ranks, settings.slurm_gpus, settings.slurm_nodes
    on_gpus = backend == "nccl"
    nodes = job.nodes or (math.ceil(ranks / max(1, gpus)) if on_gpus else 1)
    if nodes > most:
        why = "" if job.nodes else f", since a node has {_counted_jobs(gpus, 'GPU')}"
        raise InputError(
            f"{_counted_jobs(ranks, 'rank')} on {_counted_jobs(nodes, 'node')}{why}: a run may take "
            f"{_counted_jobs(most, 'node')} here, by WALLCLOCK_SLURM_NODES"
        )
    if on_gpus and ranks > nodes * gpus:
        raise InputError(
            f"{_counted_jobs(ranks, 'rank')} on {_counted_jobs(nodes, 'node')} need "
            f"{math.ceil(ranks / nodes)} GPUs per node, and a node has {gpus}"
        )
    if ranks % nodes:
        raise InputError(
            f"{ranks} ranks take {nodes} nodes of {gpus} GPUs, and cannot be spread evenly over "
            f"them; take {ranks - ranks % nodes} or {ranks - ranks % nodes + nodes} ranks"
        )
    return nodes


def options_of(job: LabJob, backend: str, settings: Settings, site: SiteLines) -> Sequence[str]:
    """The options of sbatch for *job*, whose nodes are chosen.

    Where the site's lines ask for GPUs, or for processors per rank, these are left to them: Slurm refuses a mixture.
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


def _counted_jobs(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_PATIENCE = 20.0  # seconds for a command of Slurm
_FIELDS = "--format=%i|%T|%r"
_NEVER = {  # reasons of a job that would not start, however long it waited
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


def read_queue() -> Mapping[str, QueuedJob]:
    """All jobs of this user by their numbers, also those that have ended a moment ago."""
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
    """The output of a Slurm command."""
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


_EXPIRED = 124  # the exit code of timeout(1)
_NEVER_MET = (
    "its ranks had not met after {seconds:g} s, as happens where PyTorch or a container is "
    "imported slowly; WALLCLOCK_SLURM_STARTING gives them more time"
)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between looks at Slurm's queue, and until files written on a node appear here."""

    looks: float = 1.0
    files: float = 3.0


class SlurmLauncher(Launcher):
    """Starts runs on a cluster; Slurm decides their order."""

    ends_with_us = False

    def __init__(self, settings: Settings, pace: Pace | None = None) -> None:
        super().__init__(settings.runs)
        self.host = "slurm"
        self.most_nodes = settings.slurm_nodes
        self._settings = settings
        self._pace = pace or Pace()
        self._jobs: Mapping[str, QueuedJob] = {}
        self._looked = -math.inf
        self._silent = ""
        self._ended: dict[str, float] = {}

    def trouble(self) -> str:
        """Whether Slurm's commands are installed."""
        missing = [name for name in ("sbatch", "squeue", "scancel") if not shutil.which(name)]
        if missing:
            return f"{missing[0]} is not installed, and WALLCLOCK_LAB_LAUNCHER is slurm"
        return ""

    def devices(self, patience: float | None = None) -> Devices:
        """The GPUs of the nodes that a run may use, as the settings promise them."""
        return promised_gpus(self._settings.slurm_gpus, self._settings.slurm_nodes)

    def pool_of(self, name: str, backend: str) -> str:
        """A pool of its own: Slurm gives devices to one job at a time."""
        return f"slurm:{name}"

    def with_nodes(self, job: LabJob, backend: str) -> LabJob:
        """*job* on as many nodes as it names, or as it takes."""
        return job.on_nodes(nodes_of_job(job, backend, self._settings))

    def start(
        self, job: LabJob, backend: str = "gloo", patience: float = 1.0, name: str = "", notes: Sequence[str] = ()
    ) -> LabRun:
        """Submit *job*; it waits in Slurm's queue for as long as the settings allow."""
        if says := self.trouble():
            raise UnavailableError(says)
        job = self.with_nodes(job, backend)
        settings, site = self._settings, SiteLines.read(self._settings.slurm_site)
        run = write_run(
            self.folder,
            job,
            backend,
            name,
            launcher="slurm",
            notes=notes,
            starting=settings.slurm_starting,
            network=settings.lab_network,
        )
        path = run.folder / "job.sh"
        write_whole(path, script_of(job, run.folder, settings, site).encode())
        options = options_of(job, backend, settings, site)
        log = str(run.folder / "slurm.log").replace("%", "%%")  # Slurm would fill in %j
        output = f"--output={log}"
        done = slurm_output("sbatch", "--parsable", *options, output, str(path))
        if done.returncode:
            cause = f"Slurm rejected it: {last_line(done.stderr)}"
            _end(run, RunOutcome(RunState.FAILED, cause))
            raise UnavailableError(cause)
        submitted = {"job": done.stdout.strip().split(";")[0], "at": time.time()}
        write_whole(run.folder / "slurm.json", json.dumps(submitted).encode())
        self._looked = -math.inf
        return run

    def cancel(self, run: LabRun) -> None:
        """Stop *run*, whether it is waiting or running."""
        with contextlib.suppress(UnavailableError, FileNotFoundError):
            slurm_output("scancel", _submitted(run)[0])
            (run.folder / "cancelled").touch()

    def close(self) -> None:
        """Do nothing: jobs continue without this process."""

    def outcome_of(self, run: LabRun) -> RunOutcome | None:
        """How *run* ended, according to Slurm's queue and the files of its ranks."""
        if run.has_ended:
            return run.outcome
        try:
            number, at = _submitted(run)
        except FileNotFoundError:
            return RunOutcome(RunState.LOST, "it was never submitted to Slurm")
        self._look()
        job = self._jobs.get(number)
        if self._silent or (job and job.state in _GOING):
            return None
        if job and job.is_waiting:
            seconds = time.time() - at
            # None while it may still start; else it is canceled.
            never = job.reason in _NEVER and seconds > self._pace.files
            if not never and seconds < self._settings.slurm_patience:
                return None
            slurm_output("scancel", number)
            why = f"Slurm would never start it: {job.reason}"
            if not never:
                why = f"it waited {seconds:.0f} s in Slurm's queue: {job.reason}"
            return _end(run, RunOutcome(RunState.FAILED, why))
        # The last files of a node may arrive a little later than the news that the job has ended.
        if time.monotonic() - self._ended.setdefault(run.id, time.monotonic()) < self._pace.files:
            return run.outcome if run.has_ended else None
        return _end(run, _judged(run, job.state if job else "gone"))

    def says_of(self, run: LabRun) -> str:
        """Its place in Slurm's queue, and Slurm's reason."""
        if self._silent:
            return f"Slurm does not answer: {self._silent}"
        with contextlib.suppress(FileNotFoundError):
            number, _ = _submitted(run)
            job = self._jobs.get(number)
            if job and job.is_waiting:
                why = f" ({job.reason})" if job.reason not in ("", "None") else ""
                return f"job {number} is number {job.place} of {job.waiting} in Slurm's queue{why}"
            if job:
                return f"Slurm job {number}"
        return ""

    def _look(self) -> None:
        """Read the state of all jobs of this user, at most once a second."""
        if time.monotonic() - self._looked < self._pace.looks:
            return
        self._looked = time.monotonic()
        try:
            self._jobs, self._silent = read_queue(), ""
        except UnavailableError as error:
            self._silent = str(error)


def _submitted(run: LabRun) -> tuple[str, float]:
    """The number of the run's Slurm job, and when it was submitted."""
    plain = from_json((run.folder / "slurm.json").read_bytes())
    return str(plain["job"]), float(plain["at"])


def _judged(run: LabRun, state: str) -> RunOutcome:
    """How a job ended that wrote no outcome itself."""
    if state == "CANCELLED" or (run.folder / "cancelled").exists():
        return RunOutcome(RunState.CANCELED, "stopped on request")
    codes = codes_of_srun(run.folder)
    code = (run.folder / "exit").read_text().strip() if (run.folder / "exit").exists() else ""
    is_out_of_time = state == "TIMEOUT" or code == str(_EXPIRED)
    if is_out_of_time and not run.has_started:
        return RunOutcome(RunState.TIMEOUT, _NEVER_MET.format(seconds=run.job.starting))
    if is_out_of_time or -signal.SIGALRM in codes.values():
        return RunOutcome(RunState.TIMEOUT, run.too_late())
    why = blame(run.folder, codes, next(iter(codes), None))
    if state == "OUT_OF_MEMORY":
        why = f"Slurm killed it: it exceeded its memory limit{why and '; '}{why}"
    if not why and code not in ("", "0"):
        why = f"the job exited with code {code}: {last_line(run.log())}"
    if why:
        return RunOutcome(RunState.FAILED, why)
    return RunOutcome(RunState.LOST, f"Slurm reports {state.lower()}, and the run left no outcome")


def _end(run: LabRun, outcome: RunOutcome) -> RunOutcome:
    """Write *outcome*, unless there is one already."""
    if not run.has_ended:
        run.write_outcome(outcome)
    return outcome
