"""The machine of a schedule exercise: what its ranks hold at first, and must hold at last."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from app.core.simulators.programs import Name, PlayedSchedule, ScheduleMachine, Summed, memory_name
from app.core.translation import noted, translate
from app.course.kinds.strict import Strict

Units = Annotated[int, Field(ge=0, le=100)]
Op = Literal["F", "B", "I", "G", "gather", "scatter", "reduce", "hop"]
Thing = Literal["x", "g", "W", "d", "D", "c"]
_NONE: frozenset[int] = frozenset()
_LACKS_RANK = noted("Rank {rank} must end with {name}, which lacks rank {lacks}.")
_LACKS_BATCH = noted("Rank {rank} must end with {name}, which lacks micro-batch {lacks}.")


class TargetMachine(Strict):
    """The ranks, what is theirs, and what instructions and memory cost."""

    ranks: int = Field(ge=1, le=16)
    layers: int = Field(default=0, ge=0, le=64)
    batches: int = Field(default=1, ge=1, le=64, description="micro-batches, of all ranks")
    holds: Literal["weights", "nothing", "stages", "chunks"] = Field(
        description="weights: every rank all of them, and its own micro-batches; nothing: the "
        "micro-batches alone; stages: layers in turn, and rank 0 every micro-batch; chunks: a "
        "summand of every chunk"
    )
    cost: dict[Op, Units] = Field(description="instruction: its units of time; hop: of a message")
    size: dict[Thing, Units] = Field(default_factory=dict, description="what takes memory: its units")

    @model_validator(mode="after")
    def _divides(self) -> Self:
        whole = self.layers if self.holds == "stages" else self.batches
        if self.holds != "chunks" and whole % self.ranks:
            things = "layers" if self.holds == "stages" else "batches"
            raise ValueError(f"{things} must be a multiple of ranks: {whole} and {self.ranks}")
        return self

    @property
    def work(self) -> int:
        """Units of time of all passes that the goals need, on all ranks together."""
        halves = self.cost.get("I", 0) + self.cost.get("G", 0)
        passes = self.cost.get("F", 0) + self.cost.get("B", halves)
        return passes * self.layers * self.batches

    def built(self, limit: int | None) -> ScheduleMachine:
        """What schedules are played on; *limit* is what a rank should hold at most."""
        start = tuple(dict(self._held(rank)) for rank in range(self.ranks))
        costs: dict[str, int] = {str(op): units for op, units in self.cost.items()}
        sizes: dict[str, int] = {str(thing): units for thing, units in self.size.items()}
        return ScheduleMachine(self.layers, start, costs, sizes, limit)

    def _held(self, rank: int) -> Iterator[tuple[Name, Summed]]:
        """What a *rank* holds at first."""
        if self.holds == "chunks":
            yield from ((("c", chunk), frozenset([rank])) for chunk in range(self.ranks))
            return
        own = self.batches // self.ranks
        batches = range(rank * own, (rank + 1) * own)
        layers = range(self.layers if self.holds == "weights" else 0)
        if self.holds == "stages":
            layers = range(rank, self.layers, self.ranks)
            batches = range(0 if rank else self.batches)
        yield from ((("W", layer), None) for layer in layers)
        yield from ((("x", 0, batch), None) for batch in batches)

    def goals(self) -> Iterator[tuple[int, Name, Summed]]:
        """What each rank must hold at last: the sums, with every contribution."""
        for rank in range(self.ranks):
            if self.holds == "chunks":
                yield from ((rank, ("c", k), frozenset(range(self.ranks))) for k in range(self.ranks))
                continue
            name = "D" if self.holds == "nothing" else "d"
            step = self.ranks if self.holds == "stages" else 1
            for layer in range(rank if self.holds == "stages" else 0, self.layers, step):
                yield rank, (name, layer), frozenset(range(self.batches))

    def missing(self, played: PlayedSchedule) -> str:
        """The first sum that is not as it must be, as a sentence; empty if all are."""
        for rank, name, wanted in self.goals():
            got = played.held[rank].get(name) or _NONE
            if got != wanted:
                lacks = ", ".join(map(str, sorted((wanted or _NONE) - got)))
                form = _LACKS_RANK if self.holds == "chunks" else _LACKS_BATCH
                return translate(form, rank=rank, name=memory_name(name), lacks=lacks)
        return ""
