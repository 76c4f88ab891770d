"""Ring attention with a fused kernel, over the links of the GPUs."""

from collections.abc import Callable
from functools import partial

import torch

from app.labs.ranks.formats import agree
from app.labs.ranks.links import Neighbors
from app.labs.runner.rank import WorkerRank

_HEAD = 128  # width of a head
_FEW = 64  # tokens of a rank when the result is checked
_ROUNDINGS = 4  # of the scores, the weights and the result; and one for every block
_State = tuple[torch.Tensor, torch.Tensor]


def measure_ring_attention(rank: WorkerRank) -> None:
    """Compare with attention on one rank, count the bytes, time the parts and the ring."""
    heads, tokens = int(rank.number("heads")), int(rank.number("tokens"))
    rank.budget.require_room(20 * 2 * heads * tokens * _HEAD, "tokens or heads")
    rank.report.check("attention", _is_right(rank, heads))
    query, *blocks = (
        torch.randn(count, heads, tokens, _HEAD, device=rank.device, dtype=torch.bfloat16) for count in (1, 2, 2)
    )
    link = Neighbors(rank)
    _ring_attention(rank, link, query, *blocks)
    rank.report.measure("sent", rank.all_gather(link.sent_bytes))
    start = _attention(query, blocks[0])
    calls: dict[str, Callable[[], object]] = {
        "compute": partial(_with_block, start, query, blocks[1]),
        "message": lambda: link.pass_on(*blocks)(),
        "step": partial(_ring_attention, rank, link, query, *blocks),
    }
    for name, call in calls.items():
        rank.report.measure(name, rank.timing.sample(call, seconds=1.0, least=5, most=50))


def _ring_attention(
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


def _is_right(rank: WorkerRank, heads: int) -> bool:
    """Whether the ring's result equals attention over the whole sequence."""
    generator = torch.Generator().manual_seed(7)  # the same numbers on all ranks
    shape = (3, heads, _FEW * rank.world, _HEAD)
    given = torch.randn(shape, generator=generator).to(rank.device, torch.bfloat16)
    own = slice(_FEW * rank.rank, _FEW * (rank.rank + 1))
    query, block = given[:1, :, own], given[1:, :, own].contiguous()
    found = _ring_attention(rank, Neighbors(rank), query, block, torch.empty_like(block))
    whole, key, value = given.double()
    weights = torch.softmax(whole[:, own] @ key.transpose(1, 2) / _HEAD**0.5, dim=-1)
    return agree(found[0], weights @ value, _ROUNDINGS + rank.world)
