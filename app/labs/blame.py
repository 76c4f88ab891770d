"""Find the rank that failed first, and why it failed."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

# The errors of a rank that only lost its peer.
_CONSEQUENCES = (
    "Connection closed by peer", "Connection reset by peer", "Broken pipe", "ncclRemoteError",
    "Timed out waiting", "timed out", "connectFullMesh",
)  # fmt: skip
# How srun reports tasks: "srun: error: node1: tasks 0,2-3: Killed".
_TASKS = re.compile(r"srun: error: \S+: tasks? (?P<ranks>[\d,-]+): (?P<what>.+)")
_EXITED = re.compile(r"Exited with exit code (\d+)")
_SIGNALS = {
    "Killed": signal.SIGKILL,
    "Segmentation fault": signal.SIGSEGV,
    "Terminated": signal.SIGTERM,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Out Of Memory": signal.SIGKILL,
    "Alarm clock": signal.SIGALRM,
}


@dataclass(frozen=True, slots=True)
class RankError:
    """`errorN.json`: the exception that ended *rank*, and when."""

    rank: int
    at: float
    what: str

    def __str__(self) -> str:
        return f"rank {self.rank}: {self.what}"

    def as_json(self) -> bytes:
        """The contents of the file."""
        return _ERROR.dump_json(self)

    @property
    def lost_its_peer(self) -> bool:
        """Whether the error only follows from that of another rank."""
        return any(word in self.what for word in _CONSEQUENCES)


_ERROR: TypeAdapter[RankError] = TypeAdapter(RankError)


def blame(folder: Path, codes: Mapping[int, int], first: int = 0) -> str:
    """The rank of the run in *folder* that failed first, and why; empty if none is known to.

    *codes* are the exit codes by rank, signals as negative numbers; the rank *first* failed first.
    """
    paths = folder.glob("error*.json")
    reported = sorted((_ERROR.validate_json(p.read_bytes()) for p in paths), key=lambda e: e.at)
    if own := next((error for error in reported if not error.lost_its_peer), None):
        return str(own)
    killed = {rank: code for rank, code in codes.items() if code < 0 and code != -signal.SIGTERM}
    for rank, code in killed.items():
        memory = "; did it run out of memory?" if code == -signal.SIGKILL else ""
        return f"rank {rank} was killed by {signal.Signals(-code).name}{memory}"
    silent = set(codes) - {error.rank for error in reported}
    for rank in sorted(rank for rank in silent if codes[rank] > 0):
        return f"rank {rank} exited with code {codes[rank]}"
    if reported:
        return str(reported[0])
    return f"rank {first} exited with code {codes[first]}" if first in codes else ""


def codes_of_srun(log: str) -> Mapping[int, int]:
    """The exit codes of tasks by rank, as srun's *log* has them.

    >>> codes_of_srun("srun: error: n1: tasks 0,2-3: Killed")
    {0: -9, 2: -9, 3: -9}
    >>> codes_of_srun("srun: error: n1: task 1: Exited with exit code 3")
    {1: 3}
    """
    codes: dict[int, int] = {}
    for match in _TASKS.finditer(log):
        what = match["what"]
        exited = _EXITED.search(what)
        number = next((n for word, n in _SIGNALS.items() if word in what), None)
        code = int(exited[1]) if exited else -number if number else 1
        for part in match["ranks"].split(","):
            low, _, high = part.partition("-")
            for rank in range(int(low), int(high or low) + 1):
                codes.setdefault(rank, code)
    return codes
