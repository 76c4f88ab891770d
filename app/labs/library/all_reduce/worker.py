"""A collective at several sizes."""

from collections.abc import Callable

import torch
import torch.distributed as dist

from app.labs.ranks.rank import WorkerRank

_SECONDS = 0.5  # for the samples of a size
_ARRAYS = 2  # at most, as large as the whole
_MIB = 2**20
_CLOSE = 1e-5  # of a mean of floats; a rank that is missing makes a larger difference
# Their names since torch 2.13, and before.
_ALL_GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


def main(rank: WorkerRank) -> None:
    """Check the data, then time every size."""
    operation = rank.word("operation")
    rank.check(operation, _is_right(rank, operation))
    for size in rank.numbers("sizes"):
        _time(rank, operation, size)


def _time(rank: WorkerRank, operation: str, size: float) -> None:
    kind = torch.bfloat16 if rank.on_gpu else torch.float32
    per_rank = max(1, int(size) // (kind.itemsize * rank.world))
    whole = per_rank * rank.world * kind.itemsize
    if rank.has_room(_ARRAYS * whole, f"{size / _MIB:g} MiB"):
        call = _call(rank, operation, per_rank, kind)
        rank.times("time", call, seconds=_SECONDS, size=whole)


def _call(rank: WorkerRank, operation: str, per_rank: int, kind: torch.dtype) -> Callable[[], object]:
    whole, part = _numbers(rank, per_rank * rank.world, kind), _numbers(rank, per_rank, kind)
    match operation:
        case "all_gather":
            return lambda: _ALL_GATHER(whole, part)
        case "reduce_scatter":
            return lambda: _REDUCE_SCATTER(part, whole, op=_sum(rank))
        case "all_to_all":
            other = torch.empty_like(whole)
            return lambda: dist.all_to_all_single(other, whole)
        case "broadcast":
            return lambda: dist.broadcast(whole, 0)
    return lambda: dist.all_reduce(whole, op=_sum(rank))


def _numbers(rank: WorkerRank, count: int, kind: torch.dtype) -> torch.Tensor:
    """Numbers that stay finite however often they are reduced in place.

    On GPUs they are random, since zeros take less power, and so let the clock rise.
    """
    if rank.on_gpu:
        return torch.randn(count, device=rank.device, dtype=kind)
    return torch.full((count,), 0.0, dtype=kind)


def _sum(rank: WorkerRank) -> dist.ReduceOp:
    """Means on GPUs, where repeated sums would overflow; gloo has no means."""
    return dist.ReduceOp.AVG if rank.on_gpu else dist.ReduceOp.SUM


def _is_right(rank: WorkerRank, operation: str) -> bool:
    """Whether the collective does what it should to numbers that tell the ranks apart."""
    world, each = rank.world, 4
    own = torch.arange(each * world, dtype=torch.float32, device=rank.device) + rank.rank
    total = world * torch.arange(each * world, device=rank.device) + world * (world - 1) / 2
    if rank.on_gpu:
        total = total / world
    mine = slice(each * rank.rank, each * (rank.rank + 1))
    match operation:
        case "all_gather":
            found = torch.empty(each * world, device=rank.device)
            _ALL_GATHER(found, torch.full((each,), float(rank.rank), device=rank.device))
            expected = torch.arange(world, device=rank.device).repeat_interleave(each).float()
        case "reduce_scatter":
            found, expected = torch.empty(each, device=rank.device), total[mine]
            _REDUCE_SCATTER(found, own, op=_sum(rank))
        case "all_to_all":
            found = torch.empty(each * world, device=rank.device)
            sent = torch.arange(world, device=rank.device).repeat_interleave(each).float()
            dist.all_to_all_single(found, sent * 10 + rank.rank)
            expected = rank.rank * 10 + sent
        case "broadcast":
            found, expected = own, own - rank.rank
            dist.broadcast(found, 0)
        case _:
            found, expected = own, total
            dist.all_reduce(found, op=_sum(rank))
    return bool(torch.allclose(found, expected.to(found.dtype), rtol=_CLOSE, atol=0.0))
