"""Runs as Slurm jobs: submitted with sbatch, followed with squeue, stopped with scancel.

Neither the accounting database nor the REST service is needed; the folder of runs must be on a
file system that the nodes share.
"""

import contextlib
import math
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from app.core.errors import UnavailableError
from app.labs.evidence.blame import blame, codes_of_srun
from app.labs.launch.base import Launcher, write_run
from app.labs.launch.slurm_job import (
    QueuedJob,
    SiteLines,
    allocation_of,
    last_line,
    options_of,
    read_queue,
    script_of,
    slurm_output,
)
from app.labs.machines.devices import Devices, promised
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.job import write_whole
from app.labs.spec import LabJob
from app.server.config import Settings
from app.server.db.columns import RunState

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


@dataclass(frozen=True, slots=True)
class _Submitted:
    """`slurm.json`: the number of a run's Slurm job, and when it was submitted."""

    job: str
    at: float


_SUBMITTED: TypeAdapter[_Submitted] = TypeAdapter(_Submitted)


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
        return promised(self._settings.slurm_gpus, self._settings.slurm_nodes)

    def pool_of(self, name: str, backend: str) -> str:
        """A pool of its own: Slurm gives devices to one job at a time."""
        return f"slurm:{name}"

    def with_nodes(self, job: LabJob, backend: str) -> LabJob:
        """*job* on as many nodes as it names, or as it takes."""
        return job.on_nodes(allocation_of(job, backend, self._settings).nodes)

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
        submitted = _Submitted(done.stdout.strip().split(";")[0], time.time())
        write_whole(run.folder / "slurm.json", _SUBMITTED.dump_json(submitted))
        self._looked = -math.inf
        return run

    def cancel(self, run: LabRun) -> None:
        """Stop *run*, whether it is waiting or running."""
        with contextlib.suppress(UnavailableError, FileNotFoundError):
            slurm_output("scancel", _submitted(run).job)
            (run.folder / "cancelled").touch()

    def close(self) -> None:
        """Do nothing: jobs continue without this process."""

    def outcome_of(self, run: LabRun) -> RunOutcome | None:
        """How *run* ended, according to Slurm's queue and the files of its ranks."""
        if run.has_ended:
            return run.outcome
        try:
            submitted = _submitted(run)
        except FileNotFoundError:
            return RunOutcome(RunState.LOST, "it was never submitted to Slurm")
        self._look()
        job = self._jobs.get(submitted.job)
        if self._silent or (job and job.is_going):
            return None
        if job and job.is_waiting:
            return self._waited(run, submitted.job, job, time.time() - submitted.at)
        # The last files of a node may arrive a little later than the news that the job has ended.
        if time.monotonic() - self._ended.setdefault(run.id, time.monotonic()) < self._pace.files:
            return run.outcome if run.has_ended else None
        return _end(run, _judged(run, job.state if job else "gone"))

    def says_of(self, run: LabRun) -> str:
        """Its place in Slurm's queue, and Slurm's reason."""
        if self._silent:
            return f"Slurm does not answer: {self._silent}"
        with contextlib.suppress(FileNotFoundError):
            number = _submitted(run).job
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

    def _waited(self, run: LabRun, number: str, job: QueuedJob, seconds: float) -> RunOutcome | None:
        """None while it may still start; else it is canceled."""
        never = job.never_starts and seconds > self._pace.files
        if not never and seconds < self._settings.slurm_patience:
            return None
        slurm_output("scancel", number)
        why = f"Slurm would never start it: {job.reason}"
        if not never:
            why = f"it waited {seconds:.0f} s in Slurm's queue: {job.reason}"
        return _end(run, RunOutcome(RunState.FAILED, why))


def _submitted(run: LabRun) -> _Submitted:
    return _SUBMITTED.validate_json((run.folder / "slurm.json").read_bytes())


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
