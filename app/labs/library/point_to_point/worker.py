"""Messages from one rank to another and back."""

import itertools
from functools import partial

import torch
import torch.distributed as dist

from app.labs.ranks.rank import WorkerRank

_ELEMENT = 4
_SECONDS, _PAIR_SECONDS = 0.5, 0.2
_LEAST, _MOST = 5, 50  # samples of a pair
_MIB = 2**20


def main(rank: WorkerRank) -> None:
    """Check that numbers come back unchanged, then time every size, or every pair of ranks."""
    if rank.word("peer") == "all":
        _time_pairs(rank, list(itertools.combinations(range(rank.world), 2)))
        return
    peer = _peer(rank)
    rank.check("message", _comes_back(rank, 0, peer))
    for size in rank.numbers("sizes"):
        if rank.has_room(size, f"{size / _MIB:g} MiB"):
            message = _message(rank, size)
            rank.times(
                "time", partial(_round_trip, rank, 0, peer, message), _SECONDS, part=0.5, size=_bytes_of(message)
            )


def _peer(rank: WorkerRank) -> int:
    """The rank to which rank 0 sends."""
    peer = int(rank.number("peer"))
    if peer >= rank.world:
        raise ValueError(f"peer={peer} needs {peer + 1} ranks or more: this run has {rank.world}")
    return peer


def _time_pairs(rank: WorkerRank, pairs: list[tuple[int, int]]) -> None:
    """Check all *pairs* of ranks, then time one after the other, for two sizes."""
    right = [_comes_back(rank, first, second) for first, second in pairs]  # on all ranks, each pair
    rank.check("message", all(right))
    sizes = rank.numbers("sizes")
    for size in sorted({min(sizes), max(sizes)}):
        if not rank.has_room(size, f"{size / _MIB:g} MiB"):
            continue
        message = _message(rank, size)
        for first, second in pairs:
            call = partial(_round_trip, rank, first, second, message)
            rest = f"ranks {first} and {second} with {size / _MIB:g} MiB, and all after them"
            if not rank.has_time(call, _LEAST, rest):
                return
            samples = rank.timed(call, _PAIR_SECONDS, _LEAST, _MOST)
            samples[:] = [0.5 * one for one in samples]  # in place: they are known by their list
            rank.measure("pair", samples, rank=first, peer=second, size=_bytes_of(message))


def _comes_back(rank: WorkerRank, first: int, second: int) -> bool:
    """Whether numbers of *first* that *second* returns are the same; the others do nothing."""
    sent = torch.arange(8.0, device=rank.device) + first * rank.world + second
    back = sent.clone() if rank.rank != second else torch.zeros_like(sent)
    _round_trip(rank, first, second, back)
    return bool(torch.equal(back, sent))


def _message(rank: WorkerRank, size: float) -> torch.Tensor:
    count = max(1, int(size) // _ELEMENT)
    if rank.on_gpu:
        return torch.randn(count, device=rank.device)
    return torch.ones(count)


def _bytes_of(message: torch.Tensor) -> int:
    return message.numel() * _ELEMENT


def _round_trip(rank: WorkerRank, first: int, second: int, message: torch.Tensor) -> None:
    """There and back between *first* and *second*; the others do nothing."""
    if rank.rank == first:
        dist.send(message, second)
        dist.recv(message, second)
    elif rank.rank == second:
        dist.recv(message, first)
        dist.send(message, first)
