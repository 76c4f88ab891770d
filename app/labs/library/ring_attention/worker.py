"""Attention to blocks of keys and values that go around a ring; on GPUs, in a fused kernel."""

import time
from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist

from app.labs.ranks.emulation import Neighbors, RankLink, sleep_until
from app.labs.ranks.formats import agree
from app.labs.runner.rank import WorkerRank

_HEAD = 64  # width of a head
_FEW = 8  # tokens per rank when the result is checked
_GPU_HEAD, _GPU_FEW = 128, 64  # the same on GPUs
_ROUNDINGS = 4  # of the scores, the weights and the result; and one for every block
_State = tuple[torch.Tensor, torch.Tensor]


def main(rank: WorkerRank) -> None:
    """Compare with attention on one rank, count the bytes, time the ring."""
    if rank.on_gpu:
        _measure_fused(rank)
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


def _measure_fused(rank: WorkerRank) -> None:
    """Compare with attention on one rank, count the bytes, time the parts and the ring."""
    heads, tokens = int(rank.number("heads")), int(rank.number("tokens"))
    rank.budget.require_room(20 * 2 * heads * tokens * _GPU_HEAD, "tokens or heads")
    rank.report.check("attention", _is_fused_right(rank, heads))
    query, *blocks = (
        torch.randn(count, heads, tokens, _GPU_HEAD, device=rank.device, dtype=torch.bfloat16) for count in (1, 2, 2)
    )
    link = Neighbors(rank)
    _fused_ring(rank, link, query, *blocks)
    rank.report.measure("sent", rank.all_gather(link.sent_bytes))
    start = _attention(query, blocks[0])
    calls: dict[str, Callable[[], object]] = {
        "compute": partial(_with_block, start, query, blocks[1]),
        "message": lambda: link.pass_on(*blocks)(),
        "step": partial(_fused_ring, rank, link, query, *blocks),
    }
    for name, call in calls.items():
        rank.report.measure(name, rank.timing.sample(call, seconds=1.0, least=5, most=50))


def _fused_ring(
    rank: WorkerRank, link: Neighbors, query: torch.Tensor, block: torch.Tensor, coming: torch.Tensor
) -> torch.Tensor:
    """Attention of *query* to the blocks of all ranks; the next is on its way meanwhile."""
    state = None
    for step in range(rank.world):
        is_last = step == rank.world - 1
        arrived = None if is_last else link.pass_on(block, coming)
        state = _with_block(state, query, block) if state else _attention(query, block)
        if arrived:
            arrived()
            block, coming = coming, block
    if state is None:
        raise ValueError("a ring has at least one rank")
    return state[0]


def _with_block(state: _State, query: torch.Tensor, block: torch.Tensor) -> _State:
    """The attention so far, with that to one more *block*: each is worth its sum of weights."""
    (out, log_sum), (more, log_more) = state, _attention(query, block)
    share = torch.sigmoid(log_more - log_sum).unsqueeze(-1)
    return torch.lerp(out, more, share), torch.logaddexp(log_sum, log_more)


def _attention(query: torch.Tensor, block: torch.Tensor) -> _State:
    """Attention to the keys and values of a *block*, and the logarithm of its sum of weights."""
    key, value = block[:1], block[1:]
    if query.is_cuda:
        out, log_sum, *_ = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value)
    else:
        out, log_sum = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value)
    return out.float(), log_sum


def _is_fused_right(rank: WorkerRank, heads: int) -> bool:
    """Whether the ring's result equals attention over the whole sequence."""
    generator = torch.Generator().manual_seed(7)  # the same numbers on all ranks
    shape = (3, heads, _GPU_FEW * rank.world, _GPU_HEAD)
    given = torch.randn(shape, generator=generator).to(rank.device, torch.bfloat16)
    own = slice(_GPU_FEW * rank.rank, _GPU_FEW * (rank.rank + 1))
    query, block = given[:1, :, own], given[1:, :, own].contiguous()
    found = _fused_ring(rank, Neighbors(rank), query, block, torch.empty_like(block))
    whole, key, value = given.double()
    weights = torch.softmax(whole[:, own] @ key.transpose(1, 2) / _GPU_HEAD**0.5, dim=-1)
    return agree(found[0], weights @ value, _ROUNDINGS + rank.world)
