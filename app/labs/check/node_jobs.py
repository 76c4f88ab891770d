"""The check of each node alone: a job of Slurm on every one of them."""

import contextlib
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.core.errors import InputError, UnavailableError
from app.labs.check.node_comparison import NodeCheck, read_node_check
from app.labs.launch.slurm import Pace
from app.labs.launch.slurm_job import QueuedJob, SiteLines, last_line, read_queue, resource_options, slurm_output
from app.labs.run import new_name
from app.labs.runner.job import write_whole
from app.server.config import Settings

ALL = "all"
_MINUTES, _QUICK_MINUTES, _ENDING = 30, 10, 1  # the last one is left for the end of the job
_KILL = 10  # seconds from SIGTERM to SIGKILL
_AWAY = re.compile(r"\A(?:down|drain|fail|unk|.*\*$)", re.IGNORECASE)  # * does not answer
_SCRIPT = """\
#!/bin/bash
{site_header}
{site_setup}
export WALLCLOCK_LAB_LAUNCHER=local WALLCLOCK_RUNS={runs}
timeout --signal=TERM --kill-after={kill} {seconds} \\
  srun --ntasks=1 --cpu-bind=none {words}{python} -m app lab check --json{options} > {report}.new
mv {report}.new {report}
"""


@dataclass(frozen=True, slots=True)
class _NodeJob:
    """The job *number* of Slurm on *node*, and when it was submitted."""

    node: str
    number: str
    at: float = field(default_factory=time.monotonic)


def node_states(names: str, partition: str) -> Mapping[str, str]:
    """The state of each node in *names*, as Slurm writes lists of nodes, or of all of them.

    Raises:
        InputError: Slurm knows no such nodes.
        UnavailableError: Slurm does not answer.
    """
    which = [] if names == ALL else [f"--nodes={names}"]
    where = [f"--partition={partition}"] if partition else []
    done = slurm_output("sinfo", "--noheader", "--Node", "--format=%N %T", *which, *where)
    if done.returncode:
        raise UnavailableError(f"sinfo: {last_line(done.stderr)}")
    found = dict(line.split()[:2] for line in done.stdout.splitlines() if line.strip())
    if not found:
        raise InputError(f"Slurm knows no nodes {names}")
    return found


def check_nodes(settings: Settings, names: str, *, quick: bool, pace: Pace | None = None) -> Iterator[NodeCheck]:
    """The check of each node in *names*, as soon as it has ended.

    Raises:
        InputError: Slurm knows no such nodes.
        UnavailableError: Slurm does not answer.
    """
    states = node_states(names, settings.slurm_partition)
    jobs = _NodeJobs(settings, quick=quick, pace=pace or Pace())
    try:
        for node, state in states.items():
            if _AWAY.match(state):
                yield NodeCheck(node, None, f"Slurm says that it is {state}")
            elif says := jobs.submit(node):
                yield NodeCheck(node, None, says)
        yield from jobs.follow()
    finally:
        jobs.cancel()


class _NodeJobs:
    """The jobs of one check, whose files are in a folder of their own."""

    def __init__(self, settings: Settings, *, quick: bool, pace: Pace) -> None:
        self._settings, self._quick, self._pace = settings, quick, pace
        self._site = SiteLines.read(settings.slurm_site)
        self._folder = settings.runs / new_name("check")
        self._jobs: list[_NodeJob] = []
        self._ended: dict[str, float] = {}
        try:
            self._folder.mkdir(parents=True)
        except OSError as error:
            raise UnavailableError(f"{self._folder}: {error.strerror}") from error

    def submit(self, node: str) -> str:
        """Submit the check of *node*; why Slurm rejects it, or nothing."""
        script = self._folder / f"{node}.sh"
        write_whole(script, self._script(node).encode())
        done = slurm_output("sbatch", "--parsable", *self._options(node), str(script))
        if done.returncode:
            return f"Slurm rejected it: {last_line(done.stderr)}"
        self._jobs.append(_NodeJob(node, done.stdout.strip().split(";")[0]))
        return ""

    def follow(self) -> Iterator[NodeCheck]:
        """The check of each node that was submitted, as soon as it has ended."""
        while self._jobs:
            time.sleep(self._pace.looks)
            try:
                queue = read_queue()
            except UnavailableError:
                continue  # jobs go on without the controller
            for job in tuple(self._jobs):
                if found := self._result_of(job, queue.get(job.number)):
                    self._jobs.remove(job)
                    yield found

    def cancel(self) -> None:
        """Cancel what has not ended."""
        if numbers := [job.number for job in self._jobs]:
            with contextlib.suppress(UnavailableError):
                slurm_output("scancel", *numbers)

    def _result_of(self, job: _NodeJob, queued: QueuedJob | None) -> NodeCheck | None:
        """The check of a job that has ended; None while it has not."""
        report = self._report_of(job.node)
        if queued and queued.is_waiting:
            return self._waited(job, queued)
        if queued and queued.is_going:
            return None
        ended = self._ended.setdefault(job.number, time.monotonic())
        if not report.exists() and time.monotonic() - ended < self._pace.files:
            return None  # the last files of a node may arrive later than the news
        state = queued.state.lower() if queued else "gone"
        why = f"its job is {state}: {_last_words(_text_of(report.with_suffix('.log')))}"
        return read_node_check(job.node, _text_of(report).encode(), why)

    def _waited(self, job: _NodeJob, queued: QueuedJob) -> NodeCheck | None:
        seconds = time.monotonic() - job.at
        never = queued.never_starts and seconds > self._pace.files
        if not never and seconds < self._settings.slurm_patience:
            return None
        slurm_output("scancel", job.number)
        why = f"it waited {seconds:.0f} s in Slurm's queue: {queued.reason}"
        if never:
            why = f"Slurm would never start it: {queued.reason}"
        return NodeCheck(job.node, None, why)

    def _report_of(self, node: str) -> Path:
        return self._folder / f"{node}.json"

    def _script(self, node: str) -> str:
        settings, report = self._settings, self._report_of(node)
        return _SCRIPT.format(
            site_header=self._site.header, site_setup=self._site.setup, kill=_KILL,
            runs=shlex.quote(str(self._folder / node)), report=shlex.quote(str(report)),
            seconds=60 * (self._minutes - _ENDING), options=" --quick" if self._quick else "",
            words=f"{settings.slurm_srun} " if settings.slurm_srun else "",
            python=shlex.quote(settings.slurm_python or sys.executable),
        )  # fmt: skip

    @property
    def _minutes(self) -> int:
        return _QUICK_MINUTES if self._quick else _MINUTES

    def _options(self, node: str) -> Sequence[str]:
        """The options of sbatch: the whole node, whatever else the settings say."""
        gpus = self._settings.slurm_gpus
        whole = self._settings.model_copy(update={"slurm_exclusive": True})
        log = str(self._report_of(node).with_suffix(".log")).replace("%", "%%")
        return [
            "--job-name=lab-check-node", "--nodes=1", "--ntasks=1", f"--nodelist={node}",
            f"--time={self._minutes}", "--no-requeue", f"--output={log}",
            *resource_options(max(1, gpus), "nccl" if gpus else "gloo", whole, self._site),
        ]  # fmt: skip


def _last_words(log: str) -> str:
    """The last line of *log* that is not srun's, which only tells that there was an error."""
    lines = log.splitlines()
    return last_line("\n".join(line for line in lines if not line.startswith("srun:")) or log)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
