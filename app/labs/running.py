"""Runs: started, followed, ended, and found again."""

import contextlib
import fcntl
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.errors import InputError, NotFoundError, UnavailableError, nearest
from app.labs.machine import describe_machine, gpus
from app.labs.reading import Job

INSTALL = "pip install 'wallclock[lab]'"
_STARTING = 60.0  # seconds in which torch must be imported
_YOUNG = 10.0  # seconds in which a leader must be there
_POLL = 0.05
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
    def outcome(self) -> Mapping[str, object]:
        """How it ended; nothing while it runs."""
        try:
            return dict(json.loads((self.folder / "outcome.json").read_text()))
        except FileNotFoundError:
            pass
        if self._is_led():
            return {}
        says = "it was lost: whoever led it has ended without a word, and so have its ranks"
        return {"state": "lost", "cause": says}

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
        for path in sorted(self.folder.glob("rank*.log")):
            if text := path.read_bytes()[-_LOG:].decode(errors="replace").strip():
                parts.append(f"--- {path.stem}\n{text}")
        return "\n".join(parts)

    def _is_led(self) -> bool:
        """Whether its leader lives, or is about to."""
        alive = self.folder / "alive"
        if not alive.exists():
            return time.time() - (self.folder / "job.json").stat().st_mtime < _YOUNG
        with alive.open() as held:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        # It may have written its outcome since that was looked for.
        return (self.folder / "outcome.json").exists()


class Runner:
    """Starts runs on this machine, one at a time on its devices; *folder* keeps them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._zygote: subprocess.Popen[bytes] | None = None
        self._told = b""
        self._pids: dict[str, int] = {}

    def warm(self) -> str:
        """Have torch imported, once; its version.

        Raises:
            UnavailableError: torch cannot be imported, or this is no Linux.
        """
        if sys.platform != "linux":
            raise UnavailableError("labs run on Linux; recorded runs are shown everywhere")
        if self._zygote and self._zygote.poll() is None:
            return ""
        self.close()
        self._told = b""
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "app.labs.zygote"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        told = self._answer(self._zygote, _STARTING)
        if "ready" in told:
            return str(told["ready"])
        self.close()
        raise UnavailableError(
            f"labs need torch: {told.get('fault', 'it could not be imported')}. {INSTALL}"
        )

    def start(self, job: Job, backend: str = "auto", patience: float = 1.0) -> Run:
        """Start *job*; it waits up to *patience* seconds until its devices are free.

        Raises:
            InputError: the devices for it are not here.
            UnavailableError: torch is not there, or the run cannot be written down.
        """
        chosen = chosen_backend(job, backend)
        self.warm()
        name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{job.lab.name}-{secrets.token_hex(3)}"
        asked = {
            "id": name, "lab": job.lab.name, "ranks": job.ranks, "values": job.values,
            "backend": chosen, "worker": str(job.lab.worker), "seconds": job.lab.seconds,
            "patience": patience, "devices": "gpu" if chosen == "nccl" else "cpu",
            "command": job.command, "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe_machine(),
        }  # fmt: skip
        run = Run(self.folder / name)
        try:
            run.folder.mkdir(parents=True)
            (run.folder / "job.json").write_text(json.dumps(asked))
        except OSError as error:
            raise UnavailableError(f"the run cannot be written down: {error}") from error
        self._pids[name] = int(str(self._tell(run.folder)["pid"]))
        return run

    def follow(self, run: Run) -> Iterator[dict[str, object]]:
        """What *run* reports, as it comes, until it has ended."""
        seen = 0
        while True:
            outcome = run.outcome
            events = run.events()
            yield from events[seen:]
            seen = len(events)
            if outcome:
                return
            time.sleep(_POLL)

    def cancel(self, run: Run) -> None:
        """End *run*; its ranks are gone soon after."""
        if pid := self._pids.get(run.id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """End every run, and the process that has torch."""
        zygote, self._zygote = self._zygote, None
        if zygote is None:
            return
        for pipe in (zygote.stdin, zygote.stdout):
            if pipe:
                pipe.close()
        try:
            zygote.wait(timeout=5)
        except subprocess.TimeoutExpired:
            zygote.kill()
            zygote.wait()

    def run_called(self, name: str) -> Run:
        """The run with that name.

        Raises:
            NotFoundError: there is none; the message offers the closest.
        """
        known = [path.name for path in self.folder.glob("*/") if (path / "job.json").exists()]
        if name not in known:
            raise NotFoundError(f"no run is called {name[:80]!r}{nearest(name[:80], known)}")
        return Run(self.folder / name)

    def _tell(self, folder: Path) -> Mapping[str, object]:
        zygote = self._zygote
        told: Mapping[str, object] = {}
        if zygote and zygote.stdin:
            with contextlib.suppress(BrokenPipeError):
                zygote.stdin.write(json.dumps({"run": str(folder)}).encode() + b"\n")
                zygote.stdin.flush()
                told = self._answer(zygote, _STARTING)
        if "pid" not in told:
            raise UnavailableError("the process that starts runs has ended; try again")
        return told

    def _answer(self, zygote: "subprocess.Popen[bytes]", seconds: float) -> Mapping[str, object]:
        """The next line of *zygote*; nothing if it ended or said nothing for *seconds*."""
        descriptor = zygote.stdout.fileno() if zygote.stdout else -1
        end = time.monotonic() + seconds
        while b"\n" not in self._told:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            text = os.read(descriptor, 65536) if ready else b""
            if not text:
                return {}
            self._told += text
        line, _, self._told = self._told.partition(b"\n")
        return dict(json.loads(line))


def chosen_backend(job: Job, asked: str) -> str:
    """nccl with a GPU for every rank, gloo otherwise; emulated and counted labs need no GPU.

    Raises:
        InputError: *asked* cannot be had here.
    """
    have = len(gpus())
    if asked == "nccl" and have < job.ranks:
        raise InputError(
            f"NCCL wants a GPU for every rank: {job.ranks} ranks, and this machine has {have}; "
            "take fewer ranks, or gloo, which runs on the processors"
        )
    if asked == "gloo" or job.lab.links != "real":
        return "gloo"
    if job.lab.needs_gpu and have < job.ranks:
        raise InputError(f"{job.lab.name} needs {job.ranks} GPUs, and this machine has {have}")
    return "nccl" if have >= job.ranks else "gloo"
