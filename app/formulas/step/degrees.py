"""The degrees of a layout as numbers."""

from typing import Any, NamedTuple

from app.formulas.step.numbers import Value


class Degrees(NamedTuple):
    """A layout as numbers; *full* and *selective* are 1 where that is recomputed, otherwise 0.

    Each is a plain number or a column. *expert_tensor* is the number of ranks that share an expert,
    *sharded* that over which ZeRO shards; *first* and *last* are the layers of the end stages, 0
    where they are as even as possible; *exchanged* is 1 where context parallelism exchanges heads
    by all-to-all, and 0 where it gathers keys and values.
    """

    tensor: Value = 1
    pipeline: Value = 1
    context: Value = 1
    expert: Value = 1
    data: Value = 1
    virtual: Value = 1
    microbatches: Value = 1
    micro_batch: Value = 1
    sequence: Value = 8192
    zero_stage: Value = 1
    full: Value = 0
    selective: Value = 1
    sequence_parallel: Value = 1
    expert_tensor: Value = 1
    sharded: Value = 1
    first: Value = 0
    last: Value = 0
    exchanged: Value = 0

    @classmethod
    def of(cls, layout: Any) -> "Degrees":
        """The numbers of a single *layout*."""
        return cls(
            layout.tensor,
            layout.pipeline,
            layout.context,
            layout.expert,
            layout.data,
            layout.virtual,
            layout.microbatches,
            layout.micro_batch,
            layout.sequence,
            layout.zero_stage,
            full=1 if layout.recompute == "full" else 0,
            selective=1 if layout.recompute == "selective" else 0,
            sequence_parallel=1 if layout.sequence_parallel else 0,
            expert_tensor=getattr(layout, "expert_tensor", 0) or layout.tensor,
            sharded=getattr(layout, "shard_ranks", 0) or layout.shards,
            first=getattr(layout, "first_layers", 0),
            last=getattr(layout, "last_layers", 0),
            exchanged=1 if getattr(layout, "context_by", "all-gather") == "all-to-all" else 0,
        )

    @property
    def tokens(self) -> Value:
        """Tokens of a micro-batch on a rank."""
        return self.micro_batch * self.sequence / self.context
