"""Which rank holds which state of each single parameter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.core.units import Bytes, Count

KINDS = ("weight", "gradient", "optimizer")
STAGE_SHARES: Mapping[int, tuple[str, ...]] = {0: (), 1: ("optimizer",), 2: ("optimizer", "gradient"), 3: KINDS}


class StateItem(NamedTuple):
    """The state of one kind that belongs to one parameter."""

    kind: str
    parameter: int


@dataclass(frozen=True, slots=True)
class Holding:
    """The items on each rank, and the size of an item of each kind."""

    items: Sequence[frozenset[StateItem]]
    sizes: Mapping[str, Bytes]

    def on(self, rank: int) -> Bytes:
        """Bytes that *rank* holds."""
        return self._bytes(self.items[rank])

    def total(self) -> Bytes:
        """Bytes that all ranks hold together."""
        return sum(self._bytes(items) for items in self.items)

    def distinct(self) -> Bytes:
        """Bytes that all ranks would hold if nothing existed twice."""
        return self._bytes(frozenset().union(*self.items))

    def _bytes(self, items: frozenset[StateItem]) -> Bytes:
        return sum(self.sizes[item.kind] for item in items)


def zero_holding(
    parameters: Count,
    ranks: Count,
    stage: int,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Holding:
    """Give every rank everything, then remove what *stage* leaves to the parameter's owner."""
    everything = frozenset(StateItem(kind, at) for kind in KINDS for at in range(parameters))
    shared = STAGE_SHARES[stage]
    held = [
        frozenset(item for item in everything if item.kind not in shared or item.parameter % ranks == rank)
        for rank in range(ranks)
    ]
    sizes = dict(zip(KINDS, (weight_bytes, gradient_bytes, optimizer_bytes), strict=True))
    return Holding(held, sizes)


def hybrid_holding(
    parameters: Count,
    shard_ranks: Count,
    replicas: Count,
    weight_bytes: Bytes = 2,
    gradient_bytes: Bytes = 2,
    optimizer_bytes: Bytes = 12,
) -> Holding:
    """Shard everything inside one group, and repeat the group."""
    group = zero_holding(parameters, shard_ranks, 3, weight_bytes, gradient_bytes, optimizer_bytes)
    return Holding([*group.items] * replicas, group.sizes)
