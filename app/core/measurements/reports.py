"""What was found in a file, in base units: bytes, seconds, bytes per second, FLOP per second."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.core.units import Bytes, BytesPerSecond, FlopsPerSecond, Ratio, Seconds

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | int | None"
# Names of collectives as nccl-tests spells its programs, without "_perf".
COLLECTIVES = (
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "alltoallv", "sendrecv", "broadcast",
    "reduce", "gather", "scatter", "hypercube",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One size of a collective: how long it took, and the two bandwidths that were printed."""

    size: Bytes
    time: Seconds
    algbw: BytesPerSecond
    busbw: BytesPerSecond
    rounding: BytesPerSecond  # half a unit of the last digit of the bandwidths


@dataclass(frozen=True, slots=True)
class AlphaBetaPiece:
    """The line time = alpha + size / bandwidth over a range of sizes."""

    first: Bytes
    last: Bytes
    alpha: Seconds
    bandwidth: BytesPerSecond

    def time(self, size: Bytes) -> Seconds:
        """What the line says for *size* bytes."""
        return self.alpha + size / self.bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTest:
    """A test of a collective by a *tool*: one table of nccl-tests or rccl-tests, or the like."""

    collective: str | None
    ranks: int | None
    hosts: int | None
    hardware: str
    rows: tuple[SizeRow, ...]
    pieces: tuple[AlphaBetaPiece, ...]
    doubts: tuple[str, ...]
    tool: str = "nccl-tests"

    def record(self) -> dict[str, Json]:
        """As `wallclock measured --json` prints it."""
        hardware: dict[str, Json] = {"hardware": self.hardware} if self.hardware else {}
        return {
            "kind": self.tool,
            "collective": self.collective,
            "ranks": self.ranks,
            **hardware,
            "rows": [{"size": row.size, "time": row.time, "algbw": row.algbw, "busbw": row.busbw} for row in self.rows],
            "pieces": [
                {"from": piece.first, "to": piece.last, "alpha": piece.alpha, "bandwidth": piece.bandwidth}
                for piece in self.pieces
            ],
            "doubts": list(self.doubts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLog:
    """What the steps of a training log have in common; a number that it does not print is None."""

    family: str
    steps: int
    step_time: Seconds | None = None
    tokens_per_second_per_gpu: float | None = None
    flops_per_gpu: FlopsPerSecond | None = None
    mfu: Ratio | None = None
    doubts: tuple[str, ...] = ()
    model: str = ""  # as far as the log says: the records that predict such a step, as texts
    cluster: str = ""
    layout: str = ""
    model_guesses: tuple[str, ...] = ()  # what the log does not print of these records
    layout_guesses: tuple[str, ...] = ()
    printed: str = ""  # of a model, if that is not all that a prediction takes
    missing: tuple[str, ...] = ()  # what it takes besides

    def doubted(self, doubts: Iterable[str]) -> "TrainingLog":
        """The same with further *doubts*."""
        return replace(self, doubts=join_doubts([*doubts, *self.doubts]))

    def record(self) -> dict[str, Json]:
        """As `wallclock measured --json` prints it."""
        names = ("step_time", "tokens_per_second_per_gpu", "flops_per_gpu", "mfu")
        known = {name: found for name in names if (found := getattr(self, name)) is not None}
        first: dict[str, Json] = {"kind": "log", "family": self.family, "steps": self.steps}
        return {**first, **known, "doubts": list(self.doubts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryShortage:
    """A request for memory that failed, by *program*, and what was printed of the GPU; None if it was not.

    *asked* is the request, of which *half_digit* was not printed; where a compiled program or a cache does not fit, all
    of it. *process* is what the process holds: what is *allocated* to tensors, *unallocated* in PyTorch's cache, and
    the rest. *others* are the other processes. A cache has to hold *tokens*, and holds *room_tokens*.
    """

    program: str
    asked: Bytes | None = None
    half_digit: Bytes = 0.0
    total: Bytes | None = None
    free: Bytes | None = None
    process: Bytes | None = None
    allocated: Bytes | None = None
    unallocated: Bytes | None = None
    others: tuple[Bytes, ...] = ()
    tokens: int | None = None
    room_tokens: int | None = None
    times: int = 1  # that the message was printed
    ranks: int = 1  # of which one is named
    model: str = ""  # as far as the text says
    role: str = ""  # of the tensor, as far as the traceback says
    zero_stage: int | None = None
    doubts: tuple[str, ...] = ()

    @property
    def lacking(self) -> Bytes | None:
        """Bytes that were missing; None if not even that can be said."""
        if self.asked is None:
            return None
        room = self.free if self.free is not None else self.total
        return None if room is None else max(self.asked - room, 0.0)

    def record(self) -> dict[str, Json]:
        """As `wallclock measured --json` prints it."""
        names = (
            "asked", "total", "free", "process", "allocated", "unallocated", "tokens", "room_tokens", "zero_stage",
        )  # fmt: skip
        known: dict[str, Json] = {name: found for name in names if (found := getattr(self, name)) is not None}
        texts: dict[str, Json] = {name: found for name in ("model", "role") if (found := getattr(self, name))}
        others: dict[str, Json] = {"others": list(self.others)} if self.others else {}
        first: dict[str, Json] = {"kind": "out of memory", "program": self.program, "times": self.times}
        return {**first, **known, **others, **texts, "doubts": list(self.doubts)}


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file in which nothing was found, and why."""

    error: str

    def record(self) -> dict[str, Json]:
        """As `wallclock measured --json` prints it."""
        return {"error": self.error}


TextReport: TypeAlias = CollectiveTest | TrainingLog | MemoryShortage  # what may be in the lines of a text


def join_doubts(doubts: Iterable[str]) -> tuple[str, ...]:
    """*doubts* without those that are empty or said twice, in their order."""
    return tuple(dict.fromkeys(filter(None, doubts)))
