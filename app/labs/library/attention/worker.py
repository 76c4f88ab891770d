"""Attention in one fused kernel, and in separate steps."""

import math
from functools import partial

import torch
from torch.nn import functional

from app.labs.ranks.rank import Rank

_HEAD, _CLOSE = 64, 1e-2


def main(rank: Rank) -> None:
    """Check that both give the same result, then time every length."""
    kind = torch.bfloat16 if rank.on_gpu else torch.float32
    for length in map(int, rank.numbers("lengths")):
        shape = (1, int(rank.number("heads")), length, _HEAD)
        given = tuple(torch.randn(shape, device=rank.device, dtype=kind) for _ in range(3))
        fused = partial(functional.scaled_dot_product_attention, *given)
        separate = partial(_separate, *given)
        rank.check("result", bool(torch.allclose(fused(), separate(), atol=_CLOSE)))
        for name, call in (("fused", fused), ("separate", separate)):
            samples = rank.timed(call, seconds=0.7, least=3)
            rank.measure(name, samples, length=length)


def _separate(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = query @ key.transpose(-1, -2) / math.sqrt(_HEAD)
    return functional.softmax(scores, dim=-1) @ value
