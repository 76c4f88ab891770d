"""Blocks that go around a ring of ranks, over the links of their devices."""

from collections.abc import Callable

import torch
import torch.distributed as dist

from app.labs.ranks.rank import WorkerRank


class Neighbors:
    """The next rank of the ring, which this one sends to, and the one before, which sends to it."""

    def __init__(self, rank: WorkerRank) -> None:
        self._next, self._before = (rank.rank + 1) % rank.world, (rank.rank - 1) % rank.world
        self.sent_bytes = 0

    def pass_on(self, block: torch.Tensor, into: torch.Tensor) -> Callable[[], None]:
        """Start sending *block*, and receiving another; the result waits until both are done.

        On GPUs, what is computed afterwards waits; the host goes on.
        """
        self.sent_bytes += block.numel() * block.element_size()
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, block, self._next), dist.P2POp(dist.irecv, into, self._before)]
        )

        def finish() -> None:
            for work in works:
                work.wait()

        return finish
