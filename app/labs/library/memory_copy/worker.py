"""Memory copies of several sizes."""

from functools import partial

import torch

from app.labs.runner.rank import Call, WorkerRank

_SECONDS = 0.5
_MIB = 2**20
_PIECE = 64 * _MIB  # bytes
Pair = tuple[torch.Tensor, torch.Tensor]


def main(rank: WorkerRank) -> None:
    """Time every size, and check that the copy equals its source."""
    place = rank.word("source") if rank.on_gpu else "device"
    for size in map(int, rank.numbers("sizes")):
        if rank.budget.has_room(2 * size, f"{size / _MIB:g} MiB"):
            _time(rank, place, size)


def _time(rank: WorkerRank, place: str, size: int) -> None:
    pairs: list[Pair] = []

    def make() -> Call:
        source, target = _pair(rank, place, size)
        pairs.append((source, target))
        return partial(target.copy_, source, non_blocking=place == "pinned")

    if place == "pageable":  # such a copy waits for itself, so there is no queue of them
        samples = rank.timing.sample_by_host(make(), _SECONDS)
        rank.report.measure("time", samples, rank.timing.own_medians(), size=size)
    else:
        call = rank.timing.rotate(make, 2 * size) if place == "device" else make()
        rank.times("time", call, _SECONDS, size=size)
    source, target = pairs[0]
    rank.report.check("copy", _is_same(source, target))


def _is_same(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether they are equal: compared in pieces, since a comparison takes memory of its own."""
    pairs = zip(source.split(_PIECE), target.split(_PIECE), strict=True)
    return all(torch.equal(piece.to(target.device), other) for piece, other in pairs)


def _pair(rank: WorkerRank, place: str, size: int) -> Pair:
    """Random bytes at *place*, and room for them on the device."""
    source = torch.randint(0, 255, (size,), dtype=torch.uint8, device=rank.device)
    target = torch.empty_like(source)
    match place:
        case "pinned":
            return torch.empty(size, dtype=torch.uint8, pin_memory=True).copy_(source), target
        case "pageable":
            return source.cpu(), target
    return source, target
