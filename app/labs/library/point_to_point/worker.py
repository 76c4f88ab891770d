"""Messages from one rank to another and back."""

from functools import partial

import torch
import torch.distributed as dist

from app.labs.ranks.rank import WorkerRank

_ELEMENT = 4
_SECONDS = 0.5
_MIB = 2**20


def main(rank: WorkerRank) -> None:
    """Check that numbers come back unchanged, then time every size."""
    peer = _peer(rank)
    sent = torch.arange(8.0, device=rank.device)
    back = sent.clone() if rank.rank != peer else torch.zeros_like(sent)
    _round_trip(rank, peer, back)
    rank.check("message", bool(torch.equal(back, sent)))
    for size in rank.numbers("sizes"):
        if rank.has_room(size, f"{size / _MIB:g} MiB"):
            message = _message(rank, max(1, int(size) // _ELEMENT))
            bytes_sent = message.numel() * _ELEMENT
            rank.times(
                "time",
                partial(_round_trip, rank, peer, message),
                _SECONDS,
                part=0.5,
                size=bytes_sent,
            )


def _peer(rank: WorkerRank) -> int:
    """The rank to which rank 0 sends."""
    peer = int(rank.number("peer")) if rank.on_gpu else 1
    if peer >= rank.world:
        raise ValueError(f"peer={peer} needs {peer + 1} ranks or more: this run has {rank.world}")
    return peer


def _message(rank: WorkerRank, count: int) -> torch.Tensor:
    if rank.on_gpu:
        return torch.randn(count, device=rank.device)
    return torch.ones(count)


def _round_trip(rank: WorkerRank, peer: int, message: torch.Tensor) -> None:
    """There and back between rank 0 and *peer*; the others do nothing."""
    if rank.rank == 0:
        dist.send(message, peer)
        dist.recv(message, peer)
    elif rank.rank == peer:
        dist.recv(message, 0)
        dist.send(message, 0)
