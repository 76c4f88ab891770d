"""A run in its folder, and what whoever launches runs has in common."""

import contextlib
import fcntl
import json
import secrets
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.errors import NotFoundError, UnavailableError, nearest
from app.labs.blame import blame
from app.labs.files import write_whole
from app.labs.machine import describe_machine
from app.labs.spec import Job, given_in

_YOUNG = 10.0  # seconds in which a leader must be there
_POLL, _LOOK = 0.05, 1.0  # seconds from one look at a run to the next, at a glance and closely
ELSEWHERE = ("slurm", "by hand")  # launchers whose runs have no leader on this machine
_LITTLE = 16_384  # bytes, with which no outcome can be written
_LOG = 20_000  # bytes of a log that are shown


@dataclass(frozen=True, slots=True)
class Run:
    """A run, in its folder: what was asked, what happened, how it ended."""

    folder: Path

    @property
    def id(self) -> str:
        """Its name."""
        return self.folder.name

    @property
    def asked(self) -> Mapping[str, object]:
        """What was asked for, and what it runs on."""
        return dict(json.loads((self.folder / "job.json").read_text()))

    @property
    def given(self) -> Mapping[str, str]:
        """All its parameters as texts; those of earlier versions are in the command alone."""
        given = self.asked.get("given")
        return dict(given) if isinstance(given, dict) else given_in(str(self.asked["command"]))

    @property
    def outcome(self) -> Mapping[str, object]:
        """How it ended; nothing while it runs."""
        try:
            return dict(json.loads((self.folder / "outcome.json").read_text()))
        except FileNotFoundError:
            pass
        if not self.has_begun:
            return {"state": "lost", "cause": "whoever was to start it has ended"}
        if str(self.asked.get("launcher", "")) in ELSEWHERE:
            why = blame(self.folder, {})  # whoever launched it knows more
            return {"state": "failed", "cause": why} if why else {}
        if self._is_led():
            return {}
        says = "it was lost: whoever led it has ended without a word, and so have its ranks"
        full = "; the disk is full on which runs are kept" if self._is_on_full_disk() else ""
        return {"state": "lost", "cause": f"{says}{full}"}

    @property
    def has_begun(self) -> bool:
        """Whether it is written down what it is to do."""
        return (self.folder / "job.json").exists()

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

    def events(self) -> list[dict[str, object]]:
        """What it has reported so far."""
        try:
            text = (self.folder / "events.jsonl").read_text()
        except FileNotFoundError:
            return []
        found = []
        for line in text.splitlines():
            with contextlib.suppress(ValueError):  # the last line may be half written
                found.append(json.loads(line))
        return found

    def log(self) -> str:
        """What its ranks printed."""
        parts = []
        for path in sorted([*self.folder.glob("rank*.log"), *self.folder.glob("slurm.log")]):
            if text := path.read_bytes()[-_LOG:].decode(errors="replace").strip():
                parts.append(f"--- {path.stem}\n{text}")
        return "\n".join(parts)

    def _is_on_full_disk(self) -> bool:
        return shutil.disk_usage(self.folder).free < _LITTLE

    def leader(self) -> int | None:
        """The process that leads it; None when it has none any more, or not yet."""
        with contextlib.suppress(FileNotFoundError), (self.folder / "alive").open() as held:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(held.read() or 0) or None
        return None

    def _is_led(self) -> bool:
        """Whether its leader lives, or is about to."""
        if not (self.folder / "alive").exists():
            return time.time() - (self.folder / "job.json").stat().st_mtime < _YOUNG
        if self.leader():
            return True
        # It may have written its outcome since that was looked for.
        return (self.folder / "outcome.json").exists()


class Launcher(ABC):
    """Starts runs, and knows how they go; *folder* keeps them all."""

    host: str  # the machine or cluster that they run on
    ends_with_us = True  # whether runs end when this process does

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def trouble(self) -> str:
        """Why nothing can run here, with the cure; empty when all seems well."""

    @abstractmethod
    def backend_of(self, job: Job, asked: str = "auto") -> str:
        """What carries the messages of *job*: nccl with a GPU for every rank, gloo otherwise.

        Raises:
            InputError: the devices for it are not there.
        """

    @abstractmethod
    def pool_of(self, name: str, backend: str) -> str:
        """The devices that run *name* needs to itself."""

    @abstractmethod
    def start(self, job: Job, backend: str = "auto", patience: float = 1.0, name: str = "") -> Run:
        """Start *job*; it waits up to *patience* seconds until its devices are free.

        Raises:
            InputError: the devices for it are not there.
            UnavailableError: it cannot be started.
        """

    @abstractmethod
    def cancel(self, run: Run) -> None:
        """End *run*; its ranks are gone soon after."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what runs need; those that cannot go on without this process are ended."""

    def outcome_of(self, run: Run) -> Mapping[str, object]:
        """How *run* ended; nothing while it runs."""
        return run.outcome

    def says_of(self, run: Run) -> str:
        """What *run* waits for, in a few words."""
        return ""

    def follow(self, run: Run) -> Iterator[dict[str, object]]:
        """What *run* reports, as it comes, until it has ended; and what it waits for.

        It looks at little, so as not to disturb the ranks.
        """
        seen, said, size, looked = 0, "", -1, 0.0
        while True:
            outcome: Mapping[str, object] = {}
            if run.has_ended or time.monotonic() - looked >= _LOOK:
                outcome, looked = self.outcome_of(run), time.monotonic()
                if not outcome and (says := self.says_of(run)) != said:
                    yield {"kind": "waits", "says": says}
                    said = says
            if outcome or run.size != size:
                size, events = run.size, run.events()
                yield from events[seen:]
                seen = len(events)
            if outcome:
                return
            time.sleep(_POLL)

    def run_called(self, name: str) -> Run:
        """The run with that name.

        Raises:
            NotFoundError: there is none; the message offers the closest.
        """
        known = [path.name for path in self.folder.glob("*/") if (path / "job.json").exists()]
        if name not in known:
            raise NotFoundError(f"no run is called {name[:80]!r}{nearest(name[:80], known)}")
        return Run(self.folder / name)


def written(folder: Path, job: Job, backend: str, name: str = "", **more: object) -> Run:
    """The new run of *job* in *folder*, written down.

    Raises:
        UnavailableError: that cannot be done.
    """
    run = Run(folder / (name or named(job.lab.name)))
    asked = {
        "id": run.id, "lab": job.lab.name, "ranks": job.ranks, "values": job.values,
        "backend": backend, "worker": str(job.lab.worker), "seconds": job.lab.seconds,
        "devices": "gpu" if backend == "nccl" else "cpu", "command": job.command,
        "given": dict(job.given), "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(), **more,
    }  # fmt: skip
    try:
        run.folder.mkdir(parents=True)
        write_whole(run.folder / "job.json", json.dumps(asked))
    except OSError as error:
        raise UnavailableError(f"the run cannot be written down: {error}") from error
    return run


def named(lab: str) -> str:
    """A name for a run of *lab* that no other has."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{lab}-{secrets.token_hex(3)}"
