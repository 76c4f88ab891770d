"""Memory copies of several sizes."""

from functools import partial

import torch

from app.labs.ranks.rank import Rank


def main(rank: Rank) -> None:
    """Time every size, and check that the copy equals its source."""
    for size in rank.numbers("sizes"):
        source = torch.randint(0, 255, (int(size),), dtype=torch.uint8, device=rank.device)
        target = torch.empty_like(source)
        samples = rank.timed(partial(target.copy_, source), seconds=0.5)
        rank.check("copy", bool(torch.equal(source, target)))
        rank.measure("time", samples, size=int(size))
