"""Find the rank that failed first, and why it failed."""

import os
import re
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json

from app.labs.evidence import faults
from app.labs.runner.job import CANCELED, FAILED, LOST, TEARDOWN, TIMEOUT, JobOutcome, ranks_shown, stack_of

_SURE = 0.9  # of the time left: samples that take more would not have ended


def read_event_lines(folder: Path) -> list[dict[str, Any]]:
    """What the ranks of the run in *folder* have reported, line by line."""
    path = folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [from_json(line) for line in lines if line.endswith(b"\n")]


def _job_in(folder: Path) -> dict[str, Any]:
    """What the run in *folder* was to do; empty if that is not known."""
    path = folder / "job.json"
    return dict(from_json(path.read_bytes())) if path.exists() else {}


def overtime_in(events: Sequence[dict[str, Any]], limit: float) -> str:
    """That the last samples which were begun do not fit into the *limit*; empty if they do.

    Their number and length are those that the ranks had told when they began them.
    """
    ready = next((one for one in events if one["kind"] == "ready"), None)
    begun = [one for one in events if one["kind"] in ("timing", "measure")]
    if ready is None or not begun or begun[-1]["kind"] != "timing" or not limit:
        return ""
    last = begun[-1]
    left = limit - (last["at"] - ready["at"])
    needed = last["samples"] * last["each"]
    if needed < _SURE * left:
        return ""
    whole = limit - left + needed
    return (
        f"its parameters take about {whole:.0f} s or more: {last['samples']} samples of {last['each']:.3g} s each were "
        f"begun when {max(0.0, left):.0f} s were left. Take smaller or fewer sizes"
    )


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


_GAVE_UP = (signal.SIGTERM, signal.SIGABRT, signal.SIGALRM)  # told to end, aborted, out of time
_THROWN = re.compile(r"^ *what\(\): *(.+)$", re.MULTILINE)  # by the C++ of a rank that aborts
_LONGEST = 300  # characters that are quoted
_WRONG = "WrongDataError"
_DESERTED = "the process that started it exited, so its ranks were stopped"
_NEVER = ", as happens when a collective waits for a rank that never calls it"
_SAME = "all ranks must call the same collectives, in the same order"


@dataclass(frozen=True, slots=True)
class RankError:
    """`errorN.json`: the exception that ended *rank*, and when."""

    rank: int
    at: float
    what: str

    def __str__(self) -> str:
        name, _, says = self.what.partition(": ")
        if name == _WRONG:  # which rank has it is in the words: all of them stop
            return says
        return f"rank {self.rank}: {faults.cause_in(self.what) or self.what}"


_ERROR: TypeAdapter[RankError] = TypeAdapter(RankError)


@dataclass(frozen=True)
class _Evidence:
    """What is left of a run: exit codes in the order in which ranks ended, reports and logs."""

    folder: Path
    codes: Mapping[int, int]
    first: int | None

    @property
    def first_code(self) -> int:
        """The exit code of the rank that failed first."""
        return 0 if self.first is None else self.codes.get(self.first, 0)

    @cached_property
    def errors(self) -> list[RankError]:
        """What the ranks reported, in the order of time."""
        found = (_ERROR.validate_json(path.read_bytes()) for path in self.folder.glob("error*.json"))
        return sorted(found, key=lambda error: error.at)

    @cached_property
    def logs(self) -> Mapping[int, str]:
        """What each rank printed and reported, the rank that ended first before the others."""
        logs = dict(logs_of(self.folder))
        for error in self.errors:
            logs[error.rank] = f"{logs.get(error.rank, '')}\n{error.what}"
        ended = [rank for rank in (self.first, *self.codes) if rank in logs]
        order = dict.fromkeys([*ended, *(error.rank for error in self.errors), *sorted(logs)])
        return {rank: logs[rank] for rank in order if rank is not None}

    @cached_property
    def silent(self) -> list[int]:
        """The ranks that ended without a report."""
        return [rank for rank in self.codes if all(error.rank != rank for error in self.errors)]


def blame(folder: Path, codes: Mapping[int, int], first: int | None = None) -> str:
    """The rank of the run in *folder* that failed first, why, and a cure; empty if none is known.

    *codes* are the exit codes by rank, signals as negative numbers, of the ranks that ended by
    themselves, in that order; *first* is the rank that failed first.
    """
    evidence = _Evidence(folder, codes, first)
    if not evidence.errors and not any(codes.values()):
        return ""  # nothing has failed, whatever the logs say
    return next((says for look in _LOOKS for says in look(evidence)), "")


def cause_of(folder: Path, outcome: JobOutcome, seconds: float) -> str:
    """Why the run in *folder*, whose limit was *seconds*, ended as its leader has written."""
    cause = {CANCELED: "stopped on request", LOST: _DESERTED}.get(outcome.state, "")
    if outcome.state == FAILED:
        ours = (-signal.SIGTERM, -signal.SIGKILL)
        codes = (outcome.codes or {}).items()
        own = {rank: code for rank, code in codes if not (rank in outcome.stopped and code in ours)}
        cause = blame(folder, own, outcome.first)
    if outcome.state == TIMEOUT:
        late = late_ranks(folder, outcome.killed)
        cause = f"it took more than its {seconds:g} s{f': {late}' if late else _NEVER}"
    if not outcome.left:
        return cause
    still = f"{TEARDOWN:g} s after SIGKILL, so its devices may still be in use"
    return f"{cause}; {ranks_shown(outcome.left)} had not ended {still}"


def late_ranks(folder: Path, killed: Sequence[int] = ()) -> str:
    """Why the run in *folder* was not over when its time was up; empty if that is not known.

    A rank that had to be *killed* and could not even write its stack comes first. Then come the run's
    own parameters: one that is too long finds its ranks anywhere. Then a rank that kept the others
    waiting, because it was late or because it was in another call.
    """
    if says := _hung(folder, killed):
        return says
    if says := overtime_in(read_event_lines(folder), float(_job_in(folder).get("seconds", 0.0))):
        return says
    places = faults.places_of(folder)
    if late := faults.late_in(places):
        return f"{late}; the others waited for it"
    if says := faults.odd_one_out(places) or faults.laggards_in(logs_of(folder)):
        return f"{says}; {_SAME}"
    who = "every rank" if len(places) > 1 else "its rank"
    found = [f"{who} was {place}" for place in list(places.values())[:1]]
    found += filter(None, [_busy_before(folder)])
    if _lost_between_gpus(folder):
        found.append(faults.known_faults().hang.says)
    return "; ".join(found)


def _killed_first(evidence: _Evidence) -> Iterator[str]:
    """The rank that ended first, if the system killed it."""
    if evidence.first is not None:
        yield from _killed(replace(evidence, codes={evidence.first: evidence.first_code}))


def _told_to_end(evidence: _Evidence) -> Iterator[str]:
    """The rank that ended first, if another program told it to end: all others lost it."""
    if evidence.first is not None and evidence.first_code == -signal.SIGTERM:
        yield (
            f"rank {evidence.first} was told to end (SIGTERM), and not by this run: look for what frees memory "
            "(earlyoom, systemd-oomd), for a scheduler that takes the machine back, or for a person"
        )


def _reported(evidence: _Evidence) -> Iterator[str]:
    """A rank that reported an error of its own."""
    for error in evidence.errors:
        vague = faults.vague_cause_in(error.what) or faults.consequence_in(error.what)
        if not (bool(vague) and not faults.cause_in(error.what)):
            yield str(error)


def _killed(evidence: _Evidence) -> Iterator[str]:
    """A rank that the system killed; one that was told to end, or gave up, is another matter."""
    for rank, code in evidence.codes.items():
        if code < 0 and -code not in _GAVE_UP:
            memory = "; did it run out of memory?" if code == -signal.SIGKILL else ""
            yield f"rank {rank} was killed by {signal.Signals(-code).name}{memory}"


def _exited(evidence: _Evidence) -> Iterator[str]:
    """A rank that gave up without a word."""
    for rank in sorted(evidence.silent):
        if evidence.codes[rank] > 0 and not faults.cause_in(evidence.logs.get(rank, "")):
            yield f"rank {rank} exited with code {evidence.codes[rank]}"


def _logged(evidence: _Evidence, find: Callable[[str], str] = faults.cause_in) -> Iterator[str]:
    """A rank in whose log a fault can be found."""
    for rank, log in evidence.logs.items():
        if cause := find(log):
            yield f"rank {rank}: {cause}"


def _awaited(evidence: _Evidence) -> Iterator[str]:
    """A rank that did not call the collective that the others waited for."""
    if late := faults.laggards_in(evidence.logs):
        yield f"{late}; {_SAME}"
    elif faults.all_await_their_first(evidence.logs) and _lost_between_gpus(evidence.folder):
        yield faults.known_faults().hang.says


def _aborted(evidence: _Evidence) -> Iterator[str]:
    """A rank that ended itself, for a reason that the table of faults does not have."""
    for rank, code in evidence.codes.items():
        thrown = _THROWN.search(evidence.logs.get(rank, ""))
        says = thrown[1] if thrown else ""
        if code == -signal.SIGABRT and not faults.consequence_in(says):
            yield f"rank {rank} was killed by SIGABRT{says and f' ({says[:_LONGEST]})'}"


def _left(evidence: _Evidence) -> Iterator[str]:
    """A rank that ended well while the others still needed it."""
    for rank in sorted(evidence.silent):
        if evidence.codes[rank] == 0 and evidence.errors:
            yield f"rank {rank} ended before the others had finished"


def _lost(evidence: _Evidence) -> Iterator[str]:
    """A rank that lost another one, where nothing is known of that."""
    for rank, log in evidence.logs.items():
        if consequence := faults.consequence_in(log):
            yield f"rank {rank} {consequence}"
    for error in evidence.errors:
        yield str(error)
    if evidence.first is not None and evidence.first in evidence.codes:
        yield f"rank {evidence.first} exited with code {evidence.first_code}"


# The places to look for the rank that failed, the surest first.
_LOOKS: tuple[Callable[[_Evidence], Iterator[str]], ...] = (
    _killed_first, _told_to_end, _reported, _killed, _exited, _logged, _awaited,
    partial(_logged, find=faults.vague_cause_in), _aborted, _left, _lost,
)  # fmt: skip


def _hung(folder: Path, killed: Sequence[int]) -> str:
    """The ranks that had to be *killed* and wrote no stack, though they were to; empty if there are none."""
    silent = [rank for rank in killed if (path := stack_of(folder, rank)).exists() and not path.stat().st_size]
    if not silent:
        return ""
    it, were = ("it", "was") if len(silent) == 1 else ("they", "were")
    calls = {place.call for place in faults.places_of(folder).values() if place.call}
    others = f"; the others waited in {', '.join(sorted(calls))}" if calls else ""
    return (
        f"{ranks_shown(silent)} wrote no stack and had to be killed: {it} {were} stopped (SIGSTOP, a freezer), or "
        f"hung in the kernel or in the driver{others}"
    )


def _busy_before(folder: Path) -> str:
    """That the machine had more to do than cores when the run began; empty if it had not, or nobody knows."""
    load, cores = (_job_in(folder).get("machine", {}).get(name) for name in ("load", "cores"))
    if not isinstance(load, int | float) or not isinstance(cores, int | float) or not load > cores > 0:
        return ""
    return f"the load before the run was {load:g} on {cores:g} cores, so others may have taken its time"


def _lost_between_gpus(folder: Path) -> bool:
    """Whether no collective ever finished on GPUs of one machine."""
    job, events = _job_in(folder), read_event_lines(folder)
    nodes = {event["machine"].get("nodes") or 1 for event in events if event["kind"] == "machine"}
    has_measured = any(event["kind"] in ("check", "measure") for event in events)
    is_one = job.get("launcher") != "by hand" and nodes <= {1}
    return job.get("backend") == "nccl" and is_one and not has_measured
