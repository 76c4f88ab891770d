"""Attention to blocks of keys and values that go around a ring; on GPUs, see `computing`."""

import time
from functools import partial

import torch
import torch.distributed as dist

from app.labs.library.ring_attention.computation import measure_ring_attention
from app.labs.ranks.links import RankLink
from app.labs.ranks.sleep_layers import sleep_until
from app.labs.runner.rank import WorkerRank

_HEAD = 64  # width of a head
_FEW = 8  # tokens per rank when the result is checked


def main(rank: WorkerRank) -> None:
    """Compare with attention on one rank, count the bytes, time the ring."""
    if rank.on_gpu:
        measure_ring_attention(rank)
        return
    heads, tokens = int(rank.number("heads")), int(rank.number("tokens"))
    rank.report.check("attention", _is_right(rank, heads))
    block = torch.zeros(2, heads, tokens, _HEAD)
    link = RankLink(rank)
    _pass_round(link, block, 0.0)
    rank.report.measure("sent", rank.all_gather(link.sent_bytes))
    slow = RankLink(rank, rank.number("latency"), rank.number("bandwidth"))
    go_round = partial(_pass_round, slow, block, rank.number("compute"))
    rank.report.measure("step", rank.timing.sample(go_round, seconds=2.0, least=5, most=8, at_once=True))


def _pass_round(link: RankLink, block: torch.Tensor, compute: float) -> None:
    """The ring, with a sleep in place of the attention."""
    coming = torch.empty_like(block)
    for step in range(link.world):
        last = step == link.world - 1
        done = time.perf_counter() + compute
        if not last:
            arrived = link.begin(block, (link.rank + 1) % link.world, coming, (link.rank - 1) % link.world)
        sleep_until(done)
        if not last:
            arrived()
            block, coming = coming, block


def _is_right(rank: WorkerRank, heads: int) -> bool:
    """Whether the ring's result equals attention over the whole sequence."""
    shape = (heads, _FEW * rank.world, _HEAD)
    generator = torch.Generator().manual_seed(7)
    query, key, value = (torch.randn(shape, generator=generator) for _ in range(3))
    own = slice(_FEW * rank.rank, _FEW * (rank.rank + 1))
    found = _ring_attention(rank, query[:, own], key[:, own], value[:, own])
    whole = torch.softmax(query @ key.transpose(1, 2) / _HEAD**0.5, dim=-1) @ value
    return bool(torch.allclose(found, whole[:, own], atol=1e-5))


def _ring_attention(rank: WorkerRank, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention of *query* to the keys of all ranks, with an online softmax over the blocks."""
    link, block = RankLink(rank), torch.stack([key, value])
    coming = torch.empty_like(block)
    top = torch.full((*query.shape[:2], 1), -torch.inf)
    weight, total = torch.zeros_like(top), torch.zeros_like(query)
    for step in range(rank.world):
        scores = query @ block[0].transpose(1, 2) / _HEAD**0.5
        highest = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        parts, shrunk = torch.exp(scores - highest), torch.exp(top - highest)
        weight = weight * shrunk + parts.sum(dim=-1, keepdim=True)
        total, top = total * shrunk + parts @ block[1], highest
        if step < rank.world - 1:
            link.exchange(block, (rank.rank + 1) % rank.world, coming, (rank.rank - 1) % rank.world)
            block, coming = coming, block
    dist.barrier()
    return total / weight
