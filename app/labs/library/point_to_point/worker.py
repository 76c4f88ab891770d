"""Messages from one rank to another and back."""

import itertools
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from app.labs.runner.proof import DataProof, Difference, Pattern
from app.labs.runner.rank import WorkerRank

_ELEMENT = 4
_SECONDS, _PAIR_SECONDS = 0.5, 0.2
_LEAST, _MOST = 5, 50  # samples of a pair
_MIB = 2**20


def main(rank: WorkerRank) -> None:
    """Time every size, or every pair of ranks, and prove that what arrives is what was sent."""
    if rank.word("peer") == "all":
        _time_pairs(rank, list(itertools.combinations(range(rank.world), 2)))
        return
    peer, pattern = _peer(rank), Pattern(rank.world, torch.float32, rank.device)
    for size in rank.numbers("sizes"):
        if rank.budget.has_room(size, f"{size / _MIB:g} MiB"):
            message = _message(rank, size)
            call = partial(_round_trip, rank, 0, peer, message)
            proof = DataProof("message", partial(_difference, rank, pattern, 0, peer, message))
            rank.times("time", call, _SECONDS, part=0.5, proof=proof, size=message.nbytes)


def _peer(rank: WorkerRank) -> int:
    """The rank to which rank 0 sends."""
    peer = int(rank.number("peer"))
    if peer >= rank.world:
        raise ValueError(f"peer={peer} needs {peer + 1} ranks or more: this run has {rank.world}")
    return peer


def _time_pairs(rank: WorkerRank, pairs: list[tuple[int, int]]) -> None:
    """Time and prove all *pairs* of ranks, one after the other, for two sizes."""
    sizes, pattern = rank.numbers("sizes"), Pattern(rank.world, torch.float32, rank.device)
    for size in sorted({min(sizes), max(sizes)}):
        if not rank.budget.has_room(size, f"{size / _MIB:g} MiB"):
            continue
        message = _message(rank, size)
        for first, second in pairs:
            call = partial(_round_trip, rank, first, second, message)
            rest = f"ranks {first} and {second} with {size / _MIB:g} MiB, and all after them"
            if not rank.budget.has_time(call, _LEAST, rest):
                return
            at: dict[str, Any] = {"rank": first, "peer": second, "size": message.nbytes}
            samples = rank.timing.sample(call, _PAIR_SECONDS, _LEAST, _MOST)
            samples[:] = [0.5 * one for one in samples]  # in place: they are known by their list
            rank.prove(DataProof("message", partial(_difference, rank, pattern, first, second, message)), **at)
            rank.report.measure("pair", samples, **at)


def _difference(
    rank: WorkerRank, pattern: Pattern, first: int, second: int, message: torch.Tensor, turn: int
) -> Difference | None:
    """What *first* or *second* received wrong, each from the other, into what it had emptied before."""
    pattern.begin(turn)
    there, back = first * rank.world + second, second * rank.world + first
    if rank.rank == first:
        pattern.fill(message, there)
        dist.send(message, second)
        message.zero_()
        dist.recv(message, second)
        return pattern.difference(message, back)
    if rank.rank == second:
        message.zero_()
        dist.recv(message, first)
        found = pattern.difference(message, there)
        pattern.fill(message, back)
        dist.send(message, first)
        return found
    return None


def _message(rank: WorkerRank, size: float) -> torch.Tensor:
    count = max(1, int(size) // _ELEMENT)
    if rank.on_gpu:
        return torch.randn(count, device=rank.device)
    return torch.ones(count)


def _round_trip(rank: WorkerRank, first: int, second: int, message: torch.Tensor) -> None:
    """There and back between *first* and *second*; the others do nothing."""
    if rank.rank == first:
        dist.send(message, second)
        dist.recv(message, second)
    elif rank.rank == second:
        dist.recv(message, first)
        dist.send(message, first)
