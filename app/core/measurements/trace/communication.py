"""Which kernels communicate, what they do, and how many bytes they move."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.core.measurements.trace.events import Arguments
from app.core.units import Seconds

_KINDS = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"userbuffers\w*_rs|reduce_?scatter(?!_?all)", "reduce_scatter"),
        (r"userbuffers\w*_ag", "all_gather"),
        (r"all_?reduce|cross_device_reduce|quick_?reduce|lamport|userbuffers_fp16", "all_reduce"),
        (r"all_?gather", "all_gather"),
        (r"all_?to_?all|a2a|(?:deep|hybrid)_?ep|(?:dispatch|combine)Kernel", "alltoall"),
        (r"\bEp(?:Dispatch|Combine)", "alltoall"),
        (r"broadcast", "broadcast"),
        (r"send|recv|p2p", "sendrecv"),
        (r"barrier", "barrier"),
        (r"reduce", "reduce"),
        (r"gather", "gather"),
        (r"scatter", "scatter"),
    )
)
# Bytes of an element by the names without a number of bits; PyTorch prints those of C++ and of
# Python, such as Float and float32.
_WIDTHS: Mapping[str, int] = {
    "float": 4,
    "double": 8,
    "half": 2,
    "int": 4,
    "long": 8,
    "short": 2,
    "byte": 1,
    "char": 1,
    "bool": 1,
    "complexhalf": 4,
    "complexfloat": 8,
    "complexdouble": 16,
    "cfloat": 8,
    "cdouble": 16,
}
_BITS = re.compile(r"(?:b?float|q?u?int|complex|bits|b?f|u|i)(8|16|32|64|128)")
_PACKED = re.compile(r"(?:float[48]|q?u?int[1-7]|bits[124]).*")  # a whole byte each
_WHOLE = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0}
_LARGEST = 1 << 62  # no count or identifier is larger


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCall:
    """A collective of one rank."""

    kind: str
    begin: float  # microseconds, as in the file
    time: Seconds
    size: int | None  # bytes, if known
    ranks: int  # of its group, 0 if unknown
    group: str  # names the group, the same on each of its ranks; empty if unknown

    @property
    def moved(self) -> float | None:
        """The bytes that count for the bus bandwidth."""
        if self.size is None or self.ranks <= 1:
            return None
        return bus_factor(self.kind, self.ranks) * self.size


def collective_kind(name: str) -> str:
    """The collective that a kernel or operator is called after."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), "other")


def bus_factor(kind: str, ranks: int) -> float:
    """Bus bandwidth divided by algorithm bandwidth.

    Source:
        nccl-tests, doc/PERFORMANCE.md.
    """
    return _WHOLE[kind] * (ranks - 1) / ranks if kind in _WHOLE else 1.0


def collective_bytes(kind: str, said: Arguments) -> int | None:
    """The bytes of a collective: what comes out of an all-gather, what goes into the others."""
    count = whole_number(said.received if kind == "all_gather" else said.given)
    width = _width(said.dtype)
    return None if count is None or count < 0 or width is None else count * width


def _width(dtype: object) -> int | None:
    if not isinstance(dtype, str):
        return None
    name = dtype.lower().removeprefix("c10::").removeprefix("torch.").removeprefix("nccl")
    if bits := _BITS.fullmatch(name):
        return int(bits[1]) // 8
    return 1 if _PACKED.fullmatch(name) else _WIDTHS.get(name)


def whole_number(value: object) -> int | None:
    """*value* as a count or identifier, if it is one, also as text."""
    try:
        number = int(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) < _LARGEST else None


def group_of(said: Arguments, known: Mapping[str, tuple[int, ...]]) -> str:
    """A name of the group that is the same on each of its ranks, from what the event says.

    The profiler's own names count the groups of one rank, so that two ranks may call different
    groups alike; the list of ranks, of the event or of the *known* groups, has no such trap.
    """
    if ranks := _ranks(said.group_ranks):
        return ranks
    name = str(said.group_name or "")
    return ",".join(map(str, known[name])) if name in known else ""


def _ranks(value: object) -> str:
    """The ranks of a group as text; nothing if the list is shortened."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, list) or not all(isinstance(one, int) for one in found):
        return ""
    return ",".join(map(str, found))


def known_groups(distributed: Mapping[str, object] | None) -> Mapping[str, tuple[int, ...]]:
    """The ranks of each process group that the job's record lists, by the group's name."""
    listed = (distributed or {}).get("pg_config")
    found: dict[str, tuple[int, ...]] = {}
    for one in listed if isinstance(listed, list) else ():
        ranks = one.get("ranks") if isinstance(one, dict) else None
        if isinstance(ranks, list) and ranks and all(isinstance(rank, int) for rank in ranks):
            found[str(one.get("pg_name"))] = tuple(ranks)
    return found
