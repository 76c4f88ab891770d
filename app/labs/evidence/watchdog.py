"""What the watchdog of PyTorch's NCCL process group wrote about a collective that timed out."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from app.labs.runner.job import ranks_shown

_CAUGHT = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d+), "
    r"OpType=(?P<kind>\w+)(?:, NumelIn=(?P<size>\d+))?"
)
_ENQUEUED = re.compile(r"last enqueued (?:NCCL )?work: (?P<number>-?\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Awaited:
    """A collective that a rank waited for: its *number* in the order of its calls."""

    number: int
    kind: str
    size: int | None

    def __str__(self) -> str:
        size = "" if self.size is None else f" of {self.size} elements"
        return f"number {self.number}, {self.kind}{size}"


def awaited_in(log: str) -> Awaited | None:
    """The first collective that timed out, according to the *log* of a rank; None if none did."""
    found = (
        Awaited(int(match["number"]), match["kind"], int(match["size"]) if match["size"] else None)
        for match in _CAUGHT.finditer(log)
    )
    return min(found, key=lambda awaited: awaited.number, default=None)


def laggards_in(logs: Mapping[int, str]) -> str:
    """Which ranks lack the collective that the others waited for; empty if that is not known."""
    awaited = {rank: one for rank, log in logs.items() if (one := awaited_in(log))}
    if not awaited:
        return ""
    last = max(awaited.values(), key=lambda one: one.number)
    if late := _never_called(logs, awaited, last):
        return f"{ranks_shown(late)} did not call the collective that the others waited for ({last})"
    return _odd_ones(awaited)


def all_await_their_first(logs: Mapping[int, str]) -> bool:
    """Whether every rank waited for the same collective, its first."""
    found = {awaited_in(log) for log in logs.values()}
    return len(found) == 1 and all(one and one.number <= 1 for one in found)


def _never_called(logs: Mapping[int, str], awaited: Mapping[int, Awaited], last: Awaited) -> list[int]:
    """The ranks that had not called the collective *last*; none if most ranks are silent."""
    behind = [rank for rank, one in awaited.items() if one.number < last.number]
    silent = [rank for rank in logs if rank not in awaited]
    known = [rank for rank in silent if _called_less_than(logs[rank], last.number)]
    if not known and len(silent) < len(awaited):
        known = silent
    return sorted(behind + known)


def _called_less_than(log: str, number: int) -> bool:
    called = [int(match["number"]) for match in _ENQUEUED.finditer(log)]
    return bool(called) and max(called) < number


def _odd_ones(awaited: Mapping[int, Awaited]) -> str:
    """The ranks whose collective differs from that of most; empty if all are the same."""
    (usual, _), *rest = Counter(awaited.values()).most_common()
    if not rest:
        return ""
    odd = sorted(rank for rank, one in awaited.items() if one != usual)
    called = f"called another collective ({awaited[odd[0]]}) than the others ({usual})"
    return f"{ranks_shown(odd)} {called}"
