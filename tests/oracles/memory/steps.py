"""A training step of sharded replicas, in which ranks fetch what they lack."""

from dataclasses import dataclass, field

from app.core.translation import say
from app.core.units import Bytes, Count
from tests.oracles.collectives.network import CollectiveResult, Network
from tests.oracles.collectives.ring import (
    HeldChunks,
    Ring,
    all_gather,
    contributions,
    own_chunks,
    reduce_scatter,
    single_ring,
)

STAGE_THAT_DROPS_GRADIENTS, STAGE_THAT_DROPS_WEIGHTS = 2, 3


@dataclass(slots=True)
class ReplicaGroup:
    """Ranks that train one model on different data; *outdated* ranks lack the others' weights."""

    size: Bytes
    ranks: Count
    network: Network = field(default_factory=lambda: Network(1.0, 0.0))
    outdated: bool = False

    def fetch_weights(self) -> None:
        """Gather the weights, unless everyone has them all."""
        if self.outdated:
            all_gather(self.network, own_chunks(self.ranks), [single_ring(self.ranks)], self.chunk, self.all)
        self.outdated = False

    def sum_gradients(self) -> tuple[HeldChunks, list[int]]:
        """Reduce-scatter the gradients: what is held then, and the chunk that each rank owns."""
        held = contributions(self.ranks)
        return held, reduce_scatter(self.network, held, [single_ring(self.ranks)], self.chunk)

    def spread_gradients(self, held: HeldChunks, owned: list[int]) -> None:
        """Gather the sums of the gradients."""
        all_gather(self.network, held, [single_ring(self.ranks)], self.chunk, owned)

    @property
    def chunk(self) -> Bytes:
        """Bytes of the shard of one rank."""
        return self.size / self.ranks

    @property
    def all(self) -> range:
        """The ranks."""
        return range(self.ranks)


def zero_step(size: Bytes, ranks: Count, stage: int, micro_batches: Count = 1) -> CollectiveResult:
    """Simulate a step of *micro_batches* micro-batches; weights and gradients have *size* bytes."""
    group = ReplicaGroup(size, ranks, outdated=stage == STAGE_THAT_DROPS_WEIGHTS)
    for _ in range(micro_batches):
        group.fetch_weights()  # for the forward pass
        group.outdated = stage == STAGE_THAT_DROPS_WEIGHTS
        group.fetch_weights()  # for the backward pass
        group.outdated = stage == STAGE_THAT_DROPS_WEIGHTS
        if stage >= STAGE_THAT_DROPS_GRADIENTS:
            group.sum_gradients()
    if stage < STAGE_THAT_DROPS_GRADIENTS:
        held, owned = group.sum_gradients()
        if stage == 0:
            group.spread_gradients(held, owned)
    if 0 < stage < STAGE_THAT_DROPS_WEIGHTS:
        group.outdated = True  # each rank has updated its own shard alone
        group.fetch_weights()
    return group.network.played()


def hybrid_step(size: Bytes, shard_ranks: Count, replicas: Count) -> tuple[CollectiveResult, CollectiveResult]:
    """Simulate a step of *replicas* groups that shard everything: traffic inside, and across.

    Rank g of group m is rank m * shard_ranks + g; the arrays are cut into a chunk for each rank.
    """
    ranks = shard_ranks * replicas
    chunk = size / ranks
    inside, across = Network(1.0, 0.0), Network(1.0, 0.0)
    parts = [range(shard, ranks, shard_ranks) for shard in range(shard_ranks)]
    groups = [Ring(range(first, first + shard_ranks), parts) for first in range(0, ranks, shard_ranks)]
    for _ in ("forward", "backward"):
        weights = _sharded_weights(ranks, shard_ranks)
        all_gather(inside, weights, groups, chunk, range(shard_ranks))
    gradients = contributions(ranks)
    owned = reduce_scatter(inside, gradients, groups, chunk)
    alike = [
        Ring(range(shard, ranks, shard_ranks), [[at] for at in parts[owned[shard]]]) for shard in range(shard_ranks)
    ]
    sums = reduce_scatter(across, gradients, alike, chunk)
    all_gather(across, gradients, alike, chunk, sums)
    if any(
        gradients[rank][at] != frozenset(range(ranks))
        for rank in range(ranks)
        for at in parts[owned[rank % shard_ranks]]
    ):
        raise ValueError(
            say(
                "{replicas} groups of {shard_ranks} did not end with the sum",
                replicas=replicas,
                shard_ranks=shard_ranks,
            )
        )
    return inside.played(), across.played()


def _sharded_weights(ranks: int, shard_ranks: int) -> HeldChunks:
    """What every rank holds of every chunk of the weights after dropping the others' shards."""
    return [
        [frozenset({chunk}) if chunk % shard_ranks == rank % shard_ranks else frozenset() for chunk in range(ranks)]
        for rank in range(ranks)
    ]
