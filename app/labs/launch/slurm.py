"""Runs as jobs of Slurm: submitted with sbatch, followed with squeue, ended with scancel.

Neither an accounting database nor the REST service is needed; the folder of the runs must be seen
by the nodes.
"""

import contextlib
import json
import math
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.config import Settings
from app.errors import InputError, UnavailableError
from app.labs.blame import blame, codes_of_srun
from app.labs.files import write_whole
from app.labs.launch.local import chosen_backend
from app.labs.run import Launcher, Run, written
from app.labs.spec import Job

_STARTING = 120.0  # seconds in which torch is imported on all nodes
_KILL = 10  # seconds from asking ranks to end to ending them
_PATIENCE = 20.0  # seconds for a command of Slurm
_EVERY = 1.0  # seconds from one look at Slurm's queue to the next
_WRITING = 3.0  # seconds until files of a node are seen here
_MINUTE = 60
_EXPIRED = 124  # what timeout(1) ends with
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
class _Job:
    """A job in Slurm's queue; *place* counts those that wait, from 1."""

    state: str
    reason: str
    place: int
    waiting: int


class Slurm(Launcher):
    """Starts runs on a cluster; Slurm keeps their order."""

    ends_with_us = False

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.runs)
        self.host = "slurm"
        self._settings = settings
        self._jobs: Mapping[str, _Job] = {}
        self._looked = -math.inf
        self._silent = ""
        self._ended: dict[str, float] = {}

    def trouble(self) -> str:
        """Whether Slurm's commands are here."""
        missing = [name for name in ("sbatch", "squeue", "scancel") if not shutil.which(name)]
        if missing:
            return f"Slurm's command {missing[0]} is not here, and WALLCLOCK_LAB_LAUNCHER is slurm"
        return ""

    def backend_of(self, job: Job, asked: str = "auto") -> str:
        """What carries the messages of *job* on the nodes that a run may have."""
        return chosen_backend(job, asked, self._settings.slurm_gpus * self._settings.slurm_nodes)

    def pool_of(self, name: str, backend: str) -> str:
        """Its own: Slurm gives devices to one job at a time."""
        return f"slurm:{name}"

    def start(self, job: Job, backend: str = "auto", patience: float = 1.0, name: str = "") -> Run:
        """Submit *job*; it waits in Slurm's queue as long as the settings say."""
        if says := self.trouble():
            raise UnavailableError(says)
        chosen = self.backend_of(job, backend)
        header, setup = self._site()
        run = written(self.folder, job, chosen, name, launcher="slurm")
        script = _SCRIPT.format(
            site_header=header, site_setup=setup, kill=_KILL,
            seconds=round(job.lab.seconds + _STARTING),
            python=shlex.quote(self._settings.slurm_python or sys.executable),
            folder=shlex.quote(str(run.folder)),
        )  # fmt: skip
        path = run.folder / "job.sh"
        write_whole(path, script)
        done = _asked("sbatch", "--parsable", *self._options(job, chosen, run.folder), str(path))
        if done.returncode:
            cause = f"Slurm did not take it: {_line(done.stderr)}"
            _write(run.folder, {"state": "failed", "cause": cause})
            raise UnavailableError(cause)
        number = done.stdout.strip().split(";")[0]
        write_whole(run.folder / "slurm.json", json.dumps({"job": number, "at": time.time()}))
        self._looked = -math.inf
        return run

    def cancel(self, run: Run) -> None:
        """End *run*, whether it waits or goes on."""
        with contextlib.suppress(UnavailableError, FileNotFoundError):
            _asked("scancel", self._submitted(run)[0])
            (run.folder / "cancelled").touch()

    def close(self) -> None:
        """Nothing: jobs go on without this process."""

    def outcome_of(self, run: Run) -> Mapping[str, object]:
        """How *run* ended, worked out from what Slurm and the ranks left behind."""
        if run.has_ended:
            return run.outcome
        try:
            number, at = self._submitted(run)
        except FileNotFoundError:
            return {"state": "lost", "cause": "it never came to Slurm"}
        self._look()
        job = self._jobs.get(number)
        if self._silent or (job and job.state in _GOING):
            return {}
        if job and job.state in _WAITING:
            return self._waited(run, number, job, time.time() - at)
        # What a node wrote last may come a little later than the word that the job has ended.
        if time.monotonic() - self._ended.setdefault(run.id, time.monotonic()) < _WRITING:
            return {} if not run.has_ended else run.outcome
        outcome = _judged(run, job.state if job else "gone")
        _write(run.folder, outcome)
        return outcome

    def says_of(self, run: Run) -> str:
        """Its place in Slurm's queue, and Slurm's reason."""
        if self._silent:
            return f"Slurm does not answer: {self._silent}"
        with contextlib.suppress(FileNotFoundError):
            number = self._submitted(run)[0]
            job = self._jobs.get(number)
            if job and job.state in _WAITING:
                why = f" ({job.reason})" if job.reason not in ("", "None") else ""
                return f"job {number} is number {job.place} of {job.waiting} in Slurm's queue{why}"
            if job:
                return f"job {number} of Slurm"
        return ""

    def _options(self, job: Job, backend: str, folder: Path) -> list[str]:
        """What sbatch is told of *job*; an emulated link needs the clock of one node."""
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
        """The lines of the site for sbatch, and those for the shell."""
        if self._settings.slurm_site is None:
            return "", ""
        try:
            lines = self._settings.slurm_site.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"WALLCLOCK_SLURM_SITE cannot be read: {error}") from error
        header = [line for line in lines if line.startswith("#SBATCH")]
        return "\n".join(header), "\n".join(line for line in lines if line not in header)

    def _submitted(self, run: Run) -> tuple[str, float]:
        """The number of its job, and when it was submitted."""
        told = json.loads((run.folder / "slurm.json").read_text())
        return str(told["job"]), float(told["at"])

    def _look(self) -> None:
        """Ask Slurm how all jobs of this user are, at most once a second."""
        if time.monotonic() - self._looked < _EVERY:
            return
        self._looked = time.monotonic()
        try:
            done = _asked("squeue", "--me", "--noheader", "--states=all", "--sort=-p,i",
                          "--format=%i|%T|%r")  # fmt: skip
        except UnavailableError as error:
            self._silent = str(error)
            return
        self._silent = _line(done.stderr) if done.returncode else ""
        rows = [line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") >= 2]  # noqa: PLR2004
        waiting = [number for number, state, _ in rows if state == "PENDING"]
        if not self._silent:
            self._jobs = {
                number: _Job(
                    state,
                    reason,
                    waiting.index(number) + 1 if number in waiting else 0,
                    len(waiting),
                )
                for number, state, reason in rows
            }

    def _waited(self, run: Run, number: str, job: _Job, seconds: float) -> Mapping[str, object]:
        """Nothing while it may still begin; else it is ended."""
        never = job.reason in _NEVER and seconds > _WRITING
        if not never and seconds < self._settings.slurm_patience:
            return {}
        _asked("scancel", number)
        why = f"Slurm would not start it: {job.reason}"
        if not never:
            why = f"it has waited {seconds:.0f} s in Slurm's queue: {job.reason}"
        outcome = {"state": "failed", "cause": why}
        _write(run.folder, outcome)
        return outcome


def _judged(run: Run, state: str) -> Mapping[str, object]:
    """How a job of Slurm ended that left no word of its own."""
    if state == "CANCELLED" or (run.folder / "cancelled").exists():
        return {"state": "cancelled", "cause": "it was canceled"}
    log = run.log()
    code = (run.folder / "exit").read_text().strip() if (run.folder / "exit").exists() else ""
    seconds = run.asked["seconds"]
    if state == "TIMEOUT" or code == str(_EXPIRED):
        return {"state": "timeout", "cause": f"it took more than its {seconds:g} s"}
    why = blame(run.folder, codes_of_srun(log))
    if state == "OUT_OF_MEMORY":
        why = f"Slurm ended it: it wanted more memory than it may have{why and '; '}{why}"
    if not why and code not in ("", "0"):
        why = f"the job ended with exit code {code}: {_line(log)}"
    if why:
        return {"state": "failed", "cause": why}
    return {"state": "lost", "cause": f"Slurm says {state.lower()}, and the run left no word"}


def _asked(*command: str) -> "subprocess.CompletedProcess[str]":
    """What a command of Slurm says.

    Raises:
        UnavailableError: it is not there, or does not answer.
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
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no word"


def _write(folder: Path, outcome: Mapping[str, object]) -> None:
    """Write the outcome, unless there is one."""
    if not (folder / "outcome.json").exists():
        write_whole(folder / "outcome.json", json.dumps(outcome))
