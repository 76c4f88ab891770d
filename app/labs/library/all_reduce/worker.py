"""A collective at several sizes: one call at a time, after a barrier."""

from collections.abc import Callable

import torch
import torch.distributed as dist

from app.labs.ranks.rank import Rank

_ELEMENT = 4  # bytes of a number
_SECONDS = 0.5  # for the samples of a size


def main(rank: Rank) -> None:
    """Check the data, then time every size."""
    operation = rank.word("operation")
    rank.check(operation, _is_right(rank, operation))
    for size in rank.numbers("sizes"):
        per_rank = max(1, int(size) // (_ELEMENT * rank.world))
        call = _call(rank, operation, per_rank)
        samples = rank.timed(call, seconds=_SECONDS)
        rank.measure("time", samples, size=per_rank * rank.world * _ELEMENT)


def _call(rank: Rank, operation: str, per_rank: int) -> Callable[[], object]:
    whole = torch.ones(per_rank * rank.world, device=rank.device)
    part = torch.ones(per_rank, device=rank.device)
    match operation:
        case "all_gather":
            return lambda: dist.all_gather_into_tensor(whole, part)
        case "reduce_scatter":
            return lambda: dist.reduce_scatter_tensor(part, whole)
        case "all_to_all":
            other = torch.empty_like(whole)
            return lambda: dist.all_to_all_single(other, whole)
        case "broadcast":
            return lambda: dist.broadcast(whole, 0)
    return lambda: dist.all_reduce(whole)


def _is_right(rank: Rank, operation: str) -> bool:
    """Whether the collective does what it should to numbers that tell the ranks apart."""
    world, each = rank.world, 4
    own = torch.arange(each * world, dtype=torch.float32, device=rank.device) + rank.rank
    total = world * torch.arange(each * world, device=rank.device) + world * (world - 1) / 2
    mine = slice(each * rank.rank, each * (rank.rank + 1))
    match operation:
        case "all_gather":
            found = torch.empty(each * world, device=rank.device)
            dist.all_gather_into_tensor(
                found, torch.full((each,), float(rank.rank), device=rank.device)
            )
            expected = torch.arange(world, device=rank.device).repeat_interleave(each).float()
        case "reduce_scatter":
            found, expected = torch.empty(each, device=rank.device), total[mine]
            dist.reduce_scatter_tensor(found, own)
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
            dist.all_reduce(found)
    return bool(torch.equal(found, expected.to(found.dtype)))
