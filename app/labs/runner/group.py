"""All ranks of a run: how they meet, and how they agree on numbers."""

from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist


class RankGroup:
    """The ranks, seen from one of them.

    On GPUs, numbers that ranks agree on go over gloo, so that NCCL moves only what is measured. A
    single rank does without NCCL.
    """

    def __init__(self, rank: int, world: int, device: torch.device, *, is_forced: bool = False) -> None:
        """A rank that is alone goes through NCCL if it *is_forced*, to test that."""
        self._rank, self._world = rank, world
        self._with_nccl = device.type == "cuda" and (world > 1 or is_forced)
        self._device = device
        self._token = torch.empty(0)

    def join(self, limit: timedelta, store: object) -> None:
        """Meet the others in *store*; collectives fail after *limit*."""
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if self._with_nccl else "gloo",
            rank=self._rank,
            world_size=self._world,
            timeout=limit,
            store=store,
        )

    def connect(self) -> None:
        """Have NCCL connect the GPUs."""
        if self._with_nccl:
            self._token = torch.zeros(1, device=self._device)
            self.barrier()
            torch.cuda.synchronize(self._device)

    @property
    def size(self) -> int:
        """How many ranks have met."""
        return int(dist.get_world_size())

    def leave(self) -> None:
        """Wait for the others, and leave the process group."""
        self.all_gather(0.0)
        dist.destroy_process_group()

    def all_gather(self, value: float) -> list[float]:
        """*value* of every rank."""
        own = torch.tensor([value], dtype=torch.float64)
        found = [torch.empty_like(own) for _ in range(self._world)]
        dist.all_gather(found, own)
        return [float(one.item()) for one in found]

    def texts(self, text: str) -> list[str]:
        """*text* of every rank; torch's own way for objects would need NumPy."""
        own = text.encode()
        longest = max(1, *map(int, self.all_gather(len(own))))
        padded = torch.tensor([*own, *[0] * (longest - len(own))], dtype=torch.uint8)
        found = [torch.empty_like(padded) for _ in range(self._world)]
        dist.all_gather(found, padded)
        return [bytes(one.tolist()).rstrip(b"\0").decode() for one in found]

    def max_over_ranks(self, values: Sequence[float]) -> list[float]:
        """The largest of each of *values* among the ranks; a single rank has no one to ask."""
        if self._world == 1:
            return list(values)
        own = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(own, op=dist.ReduceOp.MAX)
        return [float(one) for one in own.tolist()]

    def barrier(self) -> None:
        """Wait for all ranks; on GPUs, their queues wait for each other, and the host goes on."""
        if self._with_nccl:
            dist.all_reduce(self._token)
        elif self._device.type == "cpu" and self._world > 1:
            dist.barrier()
