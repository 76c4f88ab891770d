"""What a run is to do, as plain numbers and strings, and how it ended: two files in its folder."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

Value = float | str | tuple[float, ...]
DONE, FAILED, CANCELED, TIMEOUT, LOST = "done", "failed", "cancelled", "timeout", "lost"
TEARDOWN = 60.0  # seconds from SIGKILL until the driver has freed a GPU, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`job.json`: *values* for the *worker* of a *lab*, in base units, on that many *ranks*.

    *seconds* limits the time of the run, *patience* the wait for devices, and *starting* the time from rank 0 to the
    last rank, which meet on the *network*. *gpus* are the UUIDs of the GPUs to lock, without which all *devices* of the
    folder are. *nodes* is None where another program chooses them. *describer* is a module that writes down which
    machine rank 0 is on. A job that *refuses_busy* GPUs fails before it measures them.
    """

    lab: str
    ranks: int
    nodes: int | None = None
    values: Mapping[str, Value]
    backend: str
    links: str | None = None
    worker: str = ""
    seconds: float = 0.0
    devices: str = "cpu"
    gpus: tuple[str, ...] = ()
    patience: float = 0.0
    starting: float = 300.0
    network: str = ""
    describer: str = ""
    refuses_busy: bool = False

    @staticmethod
    def read(folder: Path) -> "Job":
        """The job of the run in *folder*."""
        return _JOB.validate_json((folder / "job.json").read_bytes())


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """`outcome.json`: the *state* in which a run ended, and what is known about its ranks.

    *codes* are exit codes by rank, signals as negative numbers, in the order in which they ended; *first* is the rank
    that failed first. Ranks were *stopped* with SIGTERM, and *killed* if that did not end them; those that are *left*
    had not ended after that. *cause* is for what the files do not show.
    """

    state: str
    cause: str = ""
    seconds: float | None = None
    codes: Mapping[int, int] | None = None
    first: int | None = None
    stopped: tuple[int, ...] = ()
    killed: tuple[int, ...] = ()
    left: tuple[int, ...] = ()

    @staticmethod
    def read(folder: Path) -> "JobOutcome":
        """How the run in *folder* ended."""
        return _OUTCOME.validate_json((folder / "outcome.json").read_bytes())

    def write(self, folder: Path) -> None:
        """Write it to *folder*, all at once."""
        write_whole(folder / "outcome.json", _OUTCOME.dump_json(self, exclude_defaults=True))


_JOB: TypeAdapter[Job] = TypeAdapter(Job)
_OUTCOME: TypeAdapter[JobOutcome] = TypeAdapter(JobOutcome)


def note_start(folder: Path) -> None:
    """Have the time of the run in *folder* count from now on: all ranks are there."""
    (folder / "started").touch()


def stack_of(folder: Path, rank: int) -> Path:
    """The file into which *rank* writes where it is."""
    return folder / f"stack{rank}.txt"


def ranks_shown(ranks: Sequence[int]) -> str:
    """Ranks, in ascending order, as a person would write them.

    >>> ranks_shown([3]), ranks_shown([0, 1, 2, 5]), ranks_shown([0, 1])
    ('rank 3', 'ranks 0-2, 5', 'ranks 0, 1')
    """
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run))  # noqa: PLR2004
        for run in runs
    ]
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(parts)}"


def write_whole(path: Path, content: bytes) -> None:
    """Write *content* all at once or not at all: a reader never sees half of it."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")  # no two writers share it
    try:
        new.write_bytes(content)
        os.replace(new, path)
    except BaseException:  # not even an interrupt leaves a partial file behind
        new.unlink(missing_ok=True)
        raise
