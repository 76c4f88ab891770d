"""A collective at several sizes."""

from collections.abc import Iterable

import torch
import torch.distributed as dist

from app.labs.runner.proof import DataProof, Difference, Pattern, first_difference
from app.labs.runner.rank import WorkerRank

_SECONDS = 0.5  # for the samples of a size
_ARRAYS = 2  # at most, as large as the whole
_MIB = 2**20
# Their names since torch 2.13, and before.
_ALL_GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


def main(rank: WorkerRank) -> None:
    """Time every size, and prove that its data is right."""
    operation, kind = rank.word("operation"), torch.bfloat16 if rank.on_gpu else torch.float32
    for size in rank.numbers("sizes"):
        each = max(1, int(size) // (kind.itemsize * rank.world))
        whole = each * rank.world * kind.itemsize
        if rank.budget.has_room(_ARRAYS * whole, f"{size / _MIB:g} MiB"):
            one = Collective(rank, operation, each, kind)
            rank.times("time", one.call, seconds=_SECONDS, proof=DataProof(operation, one.difference), size=whole)


class Collective:
    """An *operation* on an array with *each* elements for every rank."""

    def __init__(self, rank: WorkerRank, operation: str, each: int, kind: torch.dtype) -> None:
        self._rank, self._operation, self._each = rank, operation, each
        self._whole, self._part = _numbers(rank, each * rank.world, kind), _numbers(rank, each, kind)
        self._other = torch.empty_like(self._whole) if operation == "all_to_all" else self._whole
        self._pattern = Pattern(rank.world, kind, rank.device)
        # On GPUs means, since repeated sums would overflow; gloo has none.
        self._reduction = dist.ReduceOp.AVG if rank.on_gpu else dist.ReduceOp.SUM

    def call(self) -> None:
        """Call it as it is timed."""
        self._run(self._reduction)

    def difference(self, turn: int) -> Difference | None:
        """What is wrong on this rank after the same call on integers.

        Means of them are exact if the number of ranks is a power of two; otherwise they are summed.
        """
        rank, world, pattern = self._rank.rank, self._rank.world, self._pattern
        pattern.begin(turn)
        has_mean = self._reduction == dist.ReduceOp.AVG and not world & (world - 1)
        total, own = pattern.total / world if has_mean else pattern.total, pattern.weight(rank)
        self._fill(own)
        self._run(self._reduction if has_mean else dist.ReduceOp.SUM)
        match self._operation:
            case "all_gather":
                return self._first(range(world))
            case "all_to_all":
                return self._first(range(rank, world * world, world))
            case "reduce_scatter":
                return pattern.difference(self._part, rank, total)
            case "broadcast":
                return pattern.difference(self._whole)
        return pattern.difference(self._whole, 0, total)

    def _fill(self, weight: int) -> None:
        """Put in what tells ranks and places apart, this rank's times its *weight* where they are summed."""
        rank, world, pattern = self._rank.rank, self._rank.world, self._pattern
        match self._operation:
            case "all_gather":
                pattern.fill(self._part, rank)
            case "all_to_all":
                for place, piece in enumerate(self._whole.split(self._each)):
                    pattern.fill(piece, rank * world + place)
            case "reduce_scatter":
                for place, piece in enumerate(self._whole.split(self._each)):
                    pattern.fill(piece, place, weight)
            case "broadcast":
                pattern.fill(self._whole, 0, float(rank == 0))
            case _:
                pattern.fill(self._whole, 0, weight)

    def _run(self, reduction: dist.ReduceOp) -> None:
        match self._operation:
            case "all_gather":
                _ALL_GATHER(self._whole, self._part)
            case "reduce_scatter":
                _REDUCE_SCATTER(self._part, self._whole, op=reduction)
            case "all_to_all":
                dist.all_to_all_single(self._other, self._whole)
            case "broadcast":
                dist.broadcast(self._whole, 0)
            case _:
                dist.all_reduce(self._whole, op=reduction)

    def _first(self, places: Iterable[int]) -> Difference | None:
        """The first difference in what came from every rank, whose numbers are of these *places*."""
        pieces = zip(self._other.split(self._each), places, strict=True)
        return first_difference([self._pattern.difference(*one) for one in pieces])


def _numbers(rank: WorkerRank, count: int, kind: torch.dtype) -> torch.Tensor:
    """Numbers that stay finite however often they are reduced in place.

    On GPUs they are random, since zeros take less power, and so let the clock rise.
    """
    if rank.on_gpu:
        return torch.randn(count, device=rank.device, dtype=kind)
    return torch.full((count,), 0.0, dtype=kind)
