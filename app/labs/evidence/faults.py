"""The faults that ranks report, and where ranks were when they were stopped."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.core.yaml_file import read_document
from app.labs.runner.job import ranks_shown
from app.labs.spec import FrozenModel

_TABLE = Path(__file__).with_suffix(".yaml")
_LONGEST = 300  # characters of a text that is quoted


class Advice(FrozenModel):
    """What a fault is, in words that go on after the name of a rank, and its cure."""

    what: str
    cure: str

    @property
    def says(self) -> str:
        """Both."""
        return f"{self.what}. {self.cure}"


class Fault(Advice):
    """A fault, and the pattern by which its text is known."""

    pattern: re.Pattern[str]


class Faults(FrozenModel):
    """The contents of `faults.yaml`."""

    causes: tuple[Fault, ...]
    vague: tuple[Fault, ...]
    consequences: tuple[Fault, ...]
    hang: Advice


@cache
def known_faults() -> Faults:
    """The table of faults."""
    return Faults.model_validate(read_document(_TABLE).values)


def cause_in(text: str) -> str:
    """The fault that *text* reports, quoted, and its cure; empty if it names none."""
    return _first(known_faults().causes, text)


def vague_cause_in(text: str) -> str:
    """The same for faults whose texts say little."""
    return _first(known_faults().vague, text)


def consequence_in(text: str) -> str:
    """How the loss of another rank showed itself in *text*; empty if it did not."""
    return _first(known_faults().consequences, text)


def fault_cure(text: str) -> str:
    """The cure of the fault that *text* reports; empty if it names none."""
    return next((fault.cure for fault in known_faults().causes if fault.pattern.search(text)), "")


def _first(faults: tuple[Fault, ...], text: str) -> str:
    for fault in faults:
        if found := fault.pattern.search(text):
            line = " ".join(found.group().split()).strip(" .")
            return f"{fault.what} ({line[:_LONGEST]}{'...' if len(line) > _LONGEST else ''}). {fault.cure}"
    return ""


_FRAME = re.compile(r'  File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<function>.+)')
_THREAD = re.compile(r"^(?:Current thread|Thread) .*$", re.MULTILINE)
_LIBRARY = ("site-packages", "dist-packages", "/lib/python", "<")  # frames that are not ours,
_OURS = "/app/labs/"  # unless this is installed there too
_WAITING = ("/torch/distributed/", "/torch/cuda/")  # where a rank waits for others, or for its GPU
_DECORATORS = ("wrapper", "_fn")  # frames that say nothing


@dataclass(frozen=True, slots=True)
class StackLine:
    """A line of our own code, and the function of torch that it called, if any."""

    where: str
    call: str = ""

    def __str__(self) -> str:
        return f"in {self.call} ({self.where})" if self.call else f"at {self.where}"


def places_of(folder: Path) -> Mapping[int, StackLine]:
    """Where each rank was, for those that have written it."""
    found = {}
    for path in folder.glob("stack*.txt"):
        number = path.stem.removeprefix("stack")
        if number.isdigit() and (place := place_in(path.read_text(errors="replace"))):
            found[int(number)] = place
    return found


def place_in(text: str) -> StackLine | None:
    """Where the main thread was, in a dump of all threads; None if it cannot be seen.

    >>> place_in('''Current thread 0x00007f38983c5b80 (most recent call first):
    ...   File "/x/site-packages/torch/distributed/distributed_c10d.py", line 5356 in barrier
    ...   File "/x/site-packages/torch/distributed/c10d_logger.py", line 83 in wrapper
    ...   File "/x/library/zero/worker.py", line 12 in main
    ... ''')
    StackLine(where='worker.py line 12', call='barrier')
    """
    for thread in reversed(_THREAD.split(text)):  # the main thread comes last
        call = ""
        for frame in map(_FRAME.fullmatch, thread.splitlines()):
            if frame and (_OURS in frame["file"] or not any(part in frame["file"] for part in _LIBRARY)):
                return StackLine(f"{Path(frame['file']).name} line {frame['line']}", call)
            is_a_wait = (
                frame and any(part in frame["file"] for part in _WAITING) and frame["function"] not in _DECORATORS
            )
            if frame and is_a_wait and not call:
                call = frame["function"]
    return None


def late_in(places: Mapping[int, StackLine]) -> str:
    """Which ranks were waiting for none while all others waited in one call; empty if none."""
    late = [rank for rank, place in sorted(places.items()) if not place.call]
    calls = {place.call for place in places.values() if place.call}
    if not late or len(calls) != 1 or 2 * len(late) > len(places):
        return ""
    return odd_one_out(places)


def odd_one_out(places: Mapping[int, StackLine]) -> str:
    """Which ranks kept the others waiting: those that were waiting for none, else the fewest.

    Empty if all were at the same place.
    """
    ranks: dict[StackLine, list[int]] = defaultdict(list)
    for rank, place in sorted(places.items()):
        ranks[place].append(rank)
    if len(ranks) < 2:  # noqa: PLR2004  # one place, or none
        return ""
    few, *rest = sorted(ranks, key=lambda place: (bool(place.call), len(ranks[place])))
    others = ", ".join(f"{ranks_shown(ranks[place])} {_was(ranks[place])} {place}" for place in rest)
    return f"{ranks_shown(ranks[few])} {_was(ranks[few])} {few}, while {others}"


def _was(ranks: Sequence[int]) -> str:
    return "was" if len(ranks) == 1 else "were"


_CAUGHT = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d+), "
    r"OpType=(?P<kind>\w+)(?:, NumelIn=(?P<size>\d+))?"
)
_ENQUEUED = re.compile(r"last enqueued (?:NCCL )?work: (?P<number>-?\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AwaitedCollective:
    """A collective that a rank waited for: its *number* in the order of its calls."""

    number: int
    kind: str
    size: int | None

    def __str__(self) -> str:
        size = "" if self.size is None else f" of {self.size} elements"
        return f"number {self.number}, {self.kind}{size}"


def awaited_in(log: str) -> AwaitedCollective | None:
    """The first collective that timed out, according to the *log* of a rank; None if none did."""
    found = (
        AwaitedCollective(int(match["number"]), match["kind"], int(match["size"]) if match["size"] else None)
        for match in _CAUGHT.finditer(log)
    )
    return min(found, key=lambda awaited: awaited.number, default=None)


def laggards_in(logs: Mapping[int, str]) -> str:
    """Which ranks lack the collective that the others waited for; empty if that is not known."""
    awaited = {rank: one for rank, log in logs.items() if (one := awaited_in(log))}
    if not awaited:
        return ""
    last = max(awaited.values(), key=lambda one: one.number)
    # The ranks that had not called the collective *last*; none if most ranks are silent.
    behind = [rank for rank, one in awaited.items() if one.number < last.number]
    silent = [rank for rank in logs if rank not in awaited]
    numbered = {rank: [int(match["number"]) for match in _ENQUEUED.finditer(logs[rank])] for rank in silent}
    known = [rank for rank, numbers in numbered.items() if numbers and max(numbers) < last.number]
    if not known and len(silent) < len(awaited):
        known = silent
    if late := sorted(behind + known):
        return f"{ranks_shown(late)} did not call the collective that the others waited for ({last})"
    (usual, _), *rest = Counter(awaited.values()).most_common()
    if not rest:
        return ""
    odd = sorted(rank for rank, one in awaited.items() if one != usual)
    called = f"called another collective ({awaited[odd[0]]}) than the others ({usual})"
    return f"{ranks_shown(odd)} {called}"


def all_await_their_first(logs: Mapping[int, str]) -> bool:
    """Whether every rank waited for the same collective, its first."""
    found = {awaited_in(log) for log in logs.values()}
    return len(found) == 1 and all(one and one.number <= 1 for one in found)
