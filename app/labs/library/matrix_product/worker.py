"""Square matrix products of several sides."""

from functools import partial

import torch

from app.labs.ranks.rank import Rank

_FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def main(rank: Rank) -> None:
    """Check a small product, then time every side."""
    kind = _FORMATS[rank.word("format")]
    small = torch.arange(16.0, device=rank.device).reshape(4, 4)
    expected = torch.stack([(small * column).sum(1) for column in small.T], 1)
    rank.check("product", bool(torch.equal(small @ small, expected)))
    for side in map(int, rank.numbers("sides")):
        one, other = (torch.randn(side, side, device=rank.device, dtype=kind) for _ in range(2))
        out = torch.empty_like(one)
        samples = rank.timed(partial(torch.mm, one, other, out=out), seconds=1.0, least=3)
        rank.measure("time", samples, side=side)
