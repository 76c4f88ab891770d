"""A run on disk: what it was asked to do, what it reported, and how it ended."""

import contextlib
import fcntl
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter
from pydantic_core import from_json

from app.labs.evidence.blame import blame, cause_of, late_ranks
from app.labs.machines.machine import MachineFacts
from app.labs.runner.events import RankEvent
from app.labs.runner.job import Job, JobOutcome, write_whole
from app.labs.spec import Links, parameters_in
from app.server.db.run_state import RunState

_YOUNG = 10.0  # seconds in which a leader must be there
_LITTLE = 16_384  # bytes of disk, too few to write an outcome
_STARTED = "started"  # a file that is made when the time of the run begins to count
_EARLY = 0.5  # seconds that a time of the file system may be off
_LOG = 20_000  # bytes of each log that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord(Job):
    """`job.json`: what the ranks are told, the parameters *given* as texts, and where it was started.

    *notes* are on the choice of the backend. Only runs of the *launcher* "local" have a leader on
    this machine. Earlier versions wrote fewer fields.
    """

    id: str = ""
    links: Links | None = None
    command: str
    given: Mapping[str, str] = field(default_factory=dict)
    at: str
    machine: MachineFacts
    launcher: Literal["local", "slurm", "by hand"] = "local"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """`outcome.json`: how a run ended, and why if it failed; *codes* are exit codes by rank."""

    state: RunState
    cause: str = ""
    seconds: float | None = None
    codes: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineEvent:
    """Rank 0 runs on another machine than the one that launched it."""

    kind: Literal["machine"] = "machine"
    at: float
    machine: MachineFacts


Event = Annotated[RankEvent | MachineEvent, Field(discriminator="kind")]
_JOB: TypeAdapter[JobRecord] = TypeAdapter(JobRecord)
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class LabRun:
    """A run in its folder."""

    folder: Path

    @property
    def id(self) -> str:
        """Its name."""
        return self.folder.name

    @property
    def job(self) -> JobRecord:
        """What it was asked to do."""
        job = _JOB.validate_json((self.folder / "job.json").read_bytes())
        return job if job.given else replace(job, given=parameters_in(job.command))

    @property
    def outcome(self) -> RunOutcome | None:
        """How it ended; None while it runs."""
        with contextlib.suppress(FileNotFoundError):
            found = JobOutcome.read(self.folder)
            cause = found.cause or cause_of(self.folder, found, self.job.seconds)
            return RunOutcome(RunState(found.state), cause, found.seconds, found.codes)
        if not self.has_begun:
            return RunOutcome(RunState.LOST, "the server stopped before it could start the run")
        if self.job.launcher != "local":
            if self._is_out_of_time():
                return RunOutcome(RunState.TIMEOUT, self.too_late())
            why = blame(self.folder, {})  # its launcher knows more
            return RunOutcome(RunState.FAILED, why) if why else None
        if self._is_led():
            return None
        says = "its leader process died without reporting why, and its ranks were killed"
        full = "; the disk that stores runs is full" if shutil.disk_usage(self.folder).free < _LITTLE else ""
        return RunOutcome(RunState.LOST, f"{says}{full}")

    @property
    def has_begun(self) -> bool:
        """Whether its job is written."""
        return (self.folder / "job.json").exists()

    @property
    def has_started(self) -> bool:
        """Whether all its ranks are there, if another launcher starts them."""
        return (self.folder / _STARTED).exists()

    @property
    def has_ended(self) -> bool:
        """Whether its outcome is written."""
        return (self.folder / "outcome.json").exists()

    @property
    def size(self) -> int:
        """How much it has reported, in bytes."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "events.jsonl").stat().st_size
        return 0

    def events(self) -> list[Event]:
        """What it has reported so far."""
        try:
            lines = (self.folder / "events.jsonl").read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                plain = from_json(line)
            except ValueError:  # half written: it is still coming, or the disk was full
                continue
            found.append(_EVENT.validate_python(plain))
        return found

    def log(self) -> str:
        """What its ranks printed."""
        parts = []
        logs = sorted(self.folder.glob("rank*.log"), key=lambda path: (len(path.name), path.name))
        for path in (*logs, *self.folder.glob("slurm.log")):
            if text := path.read_bytes()[-_LOG:].decode(errors="replace").strip():
                parts.append(f"--- {path.stem}\n{text}")
        return "\n".join(parts)

    def leader(self) -> int | None:
        """The process that leads it; None if that has exited, or has not started yet."""
        with contextlib.suppress(FileNotFoundError), (self.folder / "alive").open() as held:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(held.read() or 0) or None
        return None

    def write_job(self, job: JobRecord) -> None:
        """Make the folder, and write what the run is to do."""
        self.folder.mkdir(parents=True)
        write_whole(self.folder / "job.json", _JOB.dump_json(job, exclude_none=True))

    def write_event(self, event: MachineEvent) -> None:
        """Add *event* to those that the ranks report."""
        with (self.folder / "events.jsonl").open("ab") as file:
            file.write(_EVENT.dump_json(event, exclude_none=True) + b"\n")

    def write_outcome(self, outcome: RunOutcome) -> None:
        """Write how the run ended."""
        JobOutcome(str(outcome.state), outcome.cause, outcome.seconds, outcome.codes).write(self.folder)

    def too_late(self) -> str:
        """That it was stopped when its time was up, and which ranks kept the others waiting."""
        late = late_ranks(self.folder)
        return f"it took more than its {self.job.seconds:g} s{late and f': {late}'}"

    def _is_out_of_time(self) -> bool:
        """Whether a rank has written where it was, as it does when it is stopped, that late.

        By the clock of the file system alone: the ranks may be on other machines.
        """
        with contextlib.suppress(FileNotFoundError):
            limit = (self.folder / _STARTED).stat().st_mtime + self.job.seconds - _EARLY
            stacks = (path.stat() for path in self.folder.glob("stack*.txt"))
            return any(one.st_size and one.st_mtime >= limit for one in stacks)
        return False

    def _is_led(self) -> bool:
        """Whether its leader is alive, or about to start."""
        if not (self.folder / "alive").exists():
            return time.time() - (self.folder / "job.json").stat().st_mtime < _YOUNG
        # Without a leader, it may have written its outcome since the caller looked for one.
        return bool(self.leader()) or self.has_ended


def new_name(lab: str) -> str:
    """A unique name for a run of *lab*."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{lab}-{secrets.token_hex(5)}"
