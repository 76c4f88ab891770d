"""Which rank failed, and of what."""

import json
import re
import signal
from collections.abc import Mapping
from pathlib import Path

# What a rank says when it was another that failed.
_CONSEQUENCES = (
    "Connection closed by peer", "Connection reset by peer", "Broken pipe", "ncclRemoteError",
    "Timed out waiting", "timed out", "connectFullMesh",
)  # fmt: skip
# What srun says of tasks: "srun: error: node1: tasks 0,2-3: Killed".
_TASKS = re.compile(r"srun: error: \S+: tasks? (?P<ranks>[\d,-]+): (?P<what>.+)")
_EXITED = re.compile(r"Exited with exit code (\d+)")
_SIGNALS = {
    "Killed": signal.SIGKILL,
    "Segmentation fault": signal.SIGSEGV,
    "Terminated": signal.SIGTERM,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Out Of Memory": signal.SIGKILL,
}


def blame(folder: Path, codes: Mapping[int, int], first: int = 0) -> str:
    """Which rank of the run in *folder* failed, and of what; not one that only lost its peer.

    *codes* are the exit codes that are known, negative ones signals; *first* failed first.
    """
    told = [json.loads(path.read_text()) for path in folder.glob("error*.json")]
    own = [one for one in told if not any(word in one["what"] for word in _CONSEQUENCES)]
    if own:
        earliest = min(own, key=lambda one: float(one["at"]))
        return f"rank {earliest['rank']}: {earliest['what']}"
    killed = {rank: code for rank, code in codes.items() if code < 0 and code != -signal.SIGTERM}
    for rank, code in killed.items():
        memory = "; did the memory run out?" if code == -signal.SIGKILL else ""
        return f"rank {rank} was ended by {signal.Signals(-code).name}{memory}"
    silent = set(codes) - {int(one["rank"]) for one in told}
    for rank in sorted(rank for rank in silent if codes[rank] > 0):
        return f"rank {rank} ended with exit code {codes[rank]}"
    if told:
        earliest = min(told, key=lambda one: float(one["at"]))
        return f"rank {earliest['rank']}: {earliest['what']}"
    return f"rank {first} ended with exit code {codes[first]}" if first in codes else ""


def codes_of_srun(log: str) -> Mapping[int, int]:
    """How tasks ended, as srun tells it.

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
