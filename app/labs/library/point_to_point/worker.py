"""Messages from one rank to another and back."""

from functools import partial

import torch
import torch.distributed as dist

from app.labs.ranks.rank import Rank

_ELEMENT = 4
_SECONDS = 0.5


def main(rank: Rank) -> None:
    """Check that numbers come back unchanged, then time every size."""
    sent = torch.arange(8.0, device=rank.device)
    back = sent.clone() if rank.rank == 0 else torch.zeros_like(sent)
    _round_trip(rank, back)
    rank.check("message", bool(torch.equal(back, sent)))
    for size in rank.numbers("sizes"):
        message = torch.ones(max(1, int(size) // _ELEMENT), device=rank.device)
        samples = rank.timed(partial(_round_trip, rank, message), seconds=_SECONDS)
        rank.measure("time", [trip / 2 for trip in samples], size=message.numel() * _ELEMENT)


def _round_trip(rank: Rank, message: torch.Tensor) -> None:
    if rank.rank == 0:
        dist.send(message, 1)
        dist.recv(message, 1)
    else:
        dist.recv(message, 0)
        dist.send(message, 0)
