"""Runs as Slurm jobs: submitted with sbatch, followed with squeue, stopped with scancel.

Neither the accounting database nor the REST service is needed; the folder of runs must be on a
file system that the nodes share.
"""

import contextlib
import math
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from app.config import Settings
from app.db.run_state import State
from app.errors import InputError, UnavailableError
from app.labs.blame import blame, late_ranks
from app.labs.devices import Devices, promised
from app.labs.evidence.logs import codes_of_srun
from app.labs.launch.base import Launcher, written
from app.labs.run import Run, RunOutcome, write_whole
from app.labs.spec import Job

_STARTING = 120.0  # seconds to import torch on all nodes
_KILL = 10  # seconds from SIGTERM to SIGKILL
_PATIENCE = 20.0  # seconds for a command of Slurm
_EVERY = 1.0  # seconds between looks at Slurm's queue
_WRITING = 3.0  # seconds until files written on a node appear here
_MINUTE = 60
_EXPIRED = 124  # the exit code of timeout(1)
_NEVER = {
    "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints",
    "InvalidAccount", "InvalidQOS",
}  # fmt: skip
_WAITING = {"PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED"}
_GOING = {"RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"}
_SCRIPT = """\
#!/bin/bash
{site_header}
{site_setup}
timeout --signal=TERM --kill-after={kill} {seconds} \\
  srun --kill-on-bad-exit=1 --label {python} -m app.labs.launch.rank_main {folder}
code=$?
echo $code > {folder}/exit.new && mv {folder}/exit.new {folder}/exit
exit $code
"""


@dataclass(frozen=True, slots=True)
class _Submitted:
    """`slurm.json`: the number of a run's Slurm job, and when it was submitted."""

    job: str
    at: float


_SUBMITTED: TypeAdapter[_Submitted] = TypeAdapter(_Submitted)


@dataclass(frozen=True, slots=True)
class _QueuedJob:
    """A job in Slurm's queue; *place* is its position among the *waiting* jobs, from 1."""

    state: str
    reason: str
    place: int
    waiting: int


class SlurmLauncher(Launcher):
    """Starts runs on a cluster; Slurm decides their order."""

    ends_with_us = False

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.runs)
        self.host = "slurm"
        self._settings = settings
        self._jobs: Mapping[str, _QueuedJob] = {}
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
        return promised(self._settings.slurm_gpus * self._settings.slurm_nodes)

    def pool_of(self, name: str, backend: str) -> str:
        """A pool of its own: Slurm gives devices to one job at a time."""
        return f"slurm:{name}"

    def start(
        self,
        job: Job,
        backend: str = "gloo",
        patience: float = 1.0,
        name: str = "",
        notes: Sequence[str] = (),
    ) -> Run:
        """Submit *job*; it waits in Slurm's queue for as long as the settings allow."""
        if says := self.trouble():
            raise UnavailableError(says)
        header, setup = self._site()
        run = written(self.folder, job, backend, name, launcher="slurm", notes=notes)
        script = _SCRIPT.format(
            site_header=header, site_setup=setup, kill=_KILL,
            seconds=round(job.lab.seconds + _STARTING),
            python=shlex.quote(self._settings.slurm_python or sys.executable),
            folder=shlex.quote(str(run.folder)),
        )  # fmt: skip
        path = run.folder / "job.sh"
        write_whole(path, script.encode())
        done = _output_of(
            "sbatch", "--parsable", *self._options(job, backend, run.folder), str(path)
        )
        if done.returncode:
            cause = f"Slurm rejected it: {_line(done.stderr)}"
            _end(run, RunOutcome(State.FAILED, cause))
            raise UnavailableError(cause)
        submitted = _Submitted(done.stdout.strip().split(";")[0], time.time())
        write_whole(run.folder / "slurm.json", _SUBMITTED.dump_json(submitted))
        self._looked = -math.inf
        return run

    def cancel(self, run: Run) -> None:
        """Stop *run*, whether it is waiting or running."""
        with contextlib.suppress(UnavailableError, FileNotFoundError):
            _output_of("scancel", _submitted(run).job)
            (run.folder / "cancelled").touch()

    def close(self) -> None:
        """Do nothing: jobs continue without this process."""

    def outcome_of(self, run: Run) -> RunOutcome | None:
        """How *run* ended, according to Slurm's queue and the files of its ranks."""
        if run.has_ended:
            return run.outcome
        try:
            submitted = _submitted(run)
        except FileNotFoundError:
            return RunOutcome(State.LOST, "it was never submitted to Slurm")
        self._look()
        job = self._jobs.get(submitted.job)
        if self._silent or (job and job.state in _GOING):
            return None
        if job and job.state in _WAITING:
            return self._waited(run, submitted.job, job, time.time() - submitted.at)
        # The last files of a node may arrive a little later than the news that the job has ended.
        if time.monotonic() - self._ended.setdefault(run.id, time.monotonic()) < _WRITING:
            return run.outcome if run.has_ended else None
        return _end(run, _judged(run, job.state if job else "gone"))

    def says_of(self, run: Run) -> str:
        """Its place in Slurm's queue, and Slurm's reason."""
        if self._silent:
            return f"Slurm does not answer: {self._silent}"
        with contextlib.suppress(FileNotFoundError):
            number = _submitted(run).job
            job = self._jobs.get(number)
            if job and job.state in _WAITING:
                why = f" ({job.reason})" if job.reason not in ("", "None") else ""
                return f"job {number} is number {job.place} of {job.waiting} in Slurm's queue{why}"
            if job:
                return f"Slurm job {number}"
        return ""

    def _options(self, job: Job, backend: str, folder: Path) -> list[str]:
        """The options of sbatch for *job*; an emulated link needs the clock of one node."""
        settings, ranks = self._settings, job.ranks
        per_node = min(ranks, settings.slurm_gpus) if backend == "nccl" else ranks
        nodes = math.ceil(ranks / per_node)
        minutes = math.ceil((job.lab.seconds + _STARTING) / _MINUTE) + 1
        options = [
            f"--job-name=lab-{job.lab.name}", f"--nodes={nodes}", f"--ntasks={ranks}",
            f"--ntasks-per-node={per_node}", f"--time={minutes}", "--no-requeue",
            f"--output={folder / 'slurm.log'}", "--open-mode=append",
        ]  # fmt: skip
        if settings.slurm_partition:
            options.append(f"--partition={settings.slurm_partition}")
        if backend == "nccl":
            options.append(f"--gres=gpu:{per_node}")
        return options

    def _site(self) -> tuple[str, str]:
        """The site's lines for sbatch, and those for the shell."""
        if self._settings.slurm_site is None:
            return "", ""
        try:
            lines = self._settings.slurm_site.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"WALLCLOCK_SLURM_SITE cannot be read: {error}") from error
        header = [line for line in lines if line.startswith("#SBATCH")]
        return "\n".join(header), "\n".join(line for line in lines if line not in header)

    def _look(self) -> None:
        """Read the state of all jobs of this user, at most once a second."""
        if time.monotonic() - self._looked < _EVERY:
            return
        self._looked = time.monotonic()
        try:
            done = _output_of("squeue", "--me", "--noheader", "--states=all", "--sort=-p,i",
                          "--format=%i|%T|%r")  # fmt: skip
        except UnavailableError as error:
            self._silent = str(error)
            return
        self._silent = _line(done.stderr) if done.returncode else ""
        rows = [line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") >= 2]  # noqa: PLR2004
        waiting = [number for number, state, _ in rows if state == "PENDING"]
        if not self._silent:
            self._jobs = {
                number: _QueuedJob(
                    state,
                    reason,
                    waiting.index(number) + 1 if number in waiting else 0,
                    len(waiting),
                )
                for number, state, reason in rows
            }

    def _waited(self, run: Run, number: str, job: _QueuedJob, seconds: float) -> RunOutcome | None:
        """None while it may still start; else it is canceled."""
        never = job.reason in _NEVER and seconds > _WRITING
        if not never and seconds < self._settings.slurm_patience:
            return None
        _output_of("scancel", number)
        why = f"Slurm would never start it: {job.reason}"
        if not never:
            why = f"it waited {seconds:.0f} s in Slurm's queue: {job.reason}"
        return _end(run, RunOutcome(State.FAILED, why))


def _submitted(run: Run) -> _Submitted:
    return _SUBMITTED.validate_json((run.folder / "slurm.json").read_bytes())


def _judged(run: Run, state: str) -> RunOutcome:
    """How a job ended that wrote no outcome itself."""
    if state == "CANCELLED" or (run.folder / "cancelled").exists():
        return RunOutcome(State.CANCELED, "stopped on request")
    codes = codes_of_srun(run.folder)
    code = (run.folder / "exit").read_text().strip() if (run.folder / "exit").exists() else ""
    if state == "TIMEOUT" or code == str(_EXPIRED) or -signal.SIGALRM in codes.values():
        late = late_ranks(run.folder)
        says = f"it took more than its {run.job.seconds:g} s{late and f': {late}'}"
        return RunOutcome(State.TIMEOUT, says)
    why = blame(run.folder, codes, next(iter(codes), None))
    if state == "OUT_OF_MEMORY":
        why = f"Slurm killed it: it exceeded its memory limit{why and '; '}{why}"
    if not why and code not in ("", "0"):
        why = f"the job exited with code {code}: {_line(run.log())}"
    if why:
        return RunOutcome(State.FAILED, why)
    return RunOutcome(State.LOST, f"Slurm reports {state.lower()}, and the run left no outcome")


def _output_of(*command: str) -> "subprocess.CompletedProcess[str]":
    """The output of a Slurm command.

    Raises:
        UnavailableError: it cannot be run, or does not answer.
    """
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{command[0]} does not answer within {_PATIENCE:g} s") from None
    except OSError as error:
        raise UnavailableError(f"{command[0]} cannot be run: {error.strerror}") from error


def _line(text: str) -> str:
    """The last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no output"


def _end(run: Run, outcome: RunOutcome) -> RunOutcome:
    """Write *outcome*, unless there is one already."""
    if not run.has_ended:
        run.write_outcome(outcome)
    return outcome
