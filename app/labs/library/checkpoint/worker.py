"""A checkpoint, written and synced to disk."""

import os
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from app.labs.ranks.files import file_system_of
from app.labs.runner.rank import WorkerRank

_ELEMENT = 4  # bytes of a number


def main(rank: WorkerRank) -> None:
    """Write, read back once, then time."""
    path = rank.folder / f"checkpoint{rank.rank}.pt"
    layout, count = rank.word("layout"), int(rank.number("size")) // (_ELEMENT * rank.world)
    share = torch.arange(count, dtype=torch.float32, device=rank.device) + rank.rank
    if kind := file_system_of(rank.folder):
        rank.report.tell("file system", kind)
    try:
        write = partial(_write, rank, path, share, alone=layout == "rank-0")
        write()
        rank.report.check("read back", _is_right(rank, path, share, alone=layout == "rank-0"))
        rank.report.measure("write", rank.timing.sample_by_host(write, seconds=5.0, least=3, most=8, warm=0))
        if rank.on_gpu:
            rank.report.measure("copy", rank.timing.sample_by_host(share.cpu, seconds=1.0, least=3, most=8))
        size = path.stat().st_size if path.exists() else 0
        rank.report.measure(layout, [max(rank.all_gather(size))])
    finally:
        path.unlink(missing_ok=True)


def _write(rank: WorkerRank, path: Path, share: torch.Tensor, *, alone: bool) -> None:
    if alone and rank.world > 1:
        parts = [torch.empty_like(share) for _ in range(rank.world)] if rank.rank == 0 else None
        dist.gather(share, parts)
        if parts is None:
            return
        share = torch.cat(parts)
    with path.open("wb") as file:
        torch.save(share.cpu(), file)
        file.flush()
        os.fsync(file.fileno())


def _is_right(rank: WorkerRank, path: Path, share: torch.Tensor, *, alone: bool) -> bool:
    if alone and rank.rank:
        return not path.exists()
    found = torch.load(path, weights_only=True)
    return bool(torch.equal(found[: share.numel()], share.cpu()))
