"""What each rank printed, with every launcher."""

import os
import re
import signal
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_MOST = 1 << 20  # bytes of a rank's log that are read, from its end
_MOST_TOGETHER = 1 << 24  # bytes of the common log of all ranks
_OWN = re.compile(r"(?:rank|nccl)(\d+)")  # what a rank printed, and what its NCCL wrote
_LABEL = re.compile(r"^ *(\d+): ?(.*)$", re.MULTILINE)  # srun --label
# From here on, tasks end because srun or Slurm stopped them: with SIGTERM, then with SIGKILL.
_STOPPED = re.compile(
    r"CANCELLED AT|^srun: error: \S+: tasks? [\d,-]+: Terminated"
    r"|^srun: (?:Force Terminated|Job step aborted|forcing job termination)",
    re.MULTILINE,
)
# How srun reports tasks: "srun: error: node1: tasks 0,2-3: Killed".
_TASKS = re.compile(r"srun: error: \S+: tasks? (?P<ranks>[\d,-]+): (?P<what>.+)")
_EXITED = re.compile(r"Exited with exit code (\d+)")
_SIGNALS = {
    "Killed": signal.SIGKILL,
    "Segmentation fault": signal.SIGSEGV,
    "Terminated": signal.SIGTERM,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Alarm clock": signal.SIGALRM,
    "Out Of Memory": signal.SIGKILL,
}
_BY_SHELL = 128  # a shell adds this to the number of the signal that ended its command


def logs_of(folder: Path) -> Mapping[int, str]:
    """What each rank printed: in logs of its own, or labeled by srun in a common one."""
    lines: dict[int, list[str]] = defaultdict(list)
    for path in sorted(folder.glob("*.log")):
        if number := _OWN.fullmatch(path.stem):
            lines[int(number[1])].append(_tail_of(path, _MOST))
    for rank, line in _LABEL.findall(_log_of_srun(folder)):
        lines[int(rank)].append(line)
    return {rank: "\n".join(found) for rank, found in lines.items()}


def _log_of_srun(folder: Path) -> str:
    path = folder / "slurm.log"
    return _tail_of(path, _MOST_TOGETHER) if path.exists() else ""


def _tail_of(path: Path, most: int) -> str:
    """The last *most* bytes of a file as text."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - most))
        return file.read().decode(errors="replace")


def codes_of_srun(folder: Path) -> Mapping[int, int]:
    """The exit codes of the ranks of a run under Slurm, in the order in which they ended.

    Ranks that srun stopped because another one had failed are left out.
    """
    return codes_in(_log_of_srun(folder))


def codes_in(log: str) -> Mapping[int, int]:
    """The exit codes of tasks by rank, as srun's *log* has them.

    >>> codes_in("srun: error: n1: tasks 0,2-3: Killed")
    {0: -9, 2: -9, 3: -9}
    >>> codes_in("srun: error: n1: task 1: Exited with exit code 3")
    {1: 3}
    """
    stopped = _STOPPED.search(log)
    codes: dict[int, int] = {}
    for match in _TASKS.finditer(log[: stopped.start()] if stopped else log):
        code = _code_in(match["what"])
        for part in match["ranks"].split(","):
            low, _, high = part.partition("-")
            for rank in range(int(low), int(high or low) + 1):
                codes.setdefault(rank, code)
    return codes


def _code_in(what: str) -> int:
    """The exit code that srun describes as *what*.

    >>> _code_in("Exited with exit code 137"), _code_in("Segmentation fault")
    (-9, -11)
    """
    if exited := _EXITED.search(what):
        code = int(exited[1])
        return _BY_SHELL - code if code - _BY_SHELL in set(signal.Signals) else code
    number = next((n for word, n in _SIGNALS.items() if word in what), None)
    return -number if number else 1
