"""Attention in one fused kernel, and in separate steps."""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from app.labs.ranks import formats
from app.labs.runner.rank import WorkerRank

_HEAD = 64
_ROWS = 1024  # of scores that the reference computes at a time
_SCORES = 3  # arrays of scores that live at once in the separate steps, with some room
_TWICE = 2.0  # the error that the fused kernel may have, times that of the separate steps
_EXACT = 1e-5  # relative error from rounding to FP32
_COARSE = 0.02  # relative error from rounding to BF16, several times over
_KERNELS: Mapping[str, SDPBackend] = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
Attention = Callable[[], torch.Tensor]
Given = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def main(rank: WorkerRank) -> None:
    """Check both against FP32, then time every length."""
    formats.use("fp32")  # for the reference
    kind = torch.bfloat16 if rank.on_gpu else torch.float32
    causal = rank.on_gpu and rank.word("causal") == "yes"
    kernel = rank.word("kernel") if rank.on_gpu else "any"
    chosen: dict[str, None] = {}
    for length in map(int, rank.numbers("lengths")):
        shape = (1, int(rank.number("heads")), length, _HEAD)
        query, key, value = (torch.randn(shape, device=rank.device, dtype=kind) for _ in range(3))
        with nullcontext() if kernel == "any" else sdpa_kernel([_KERNELS[kernel]]):
            chosen[_chosen(rank, (query, key, value), causal=causal)] = None
            _time(rank, (query, key, value), causal=causal)
    if rank.on_gpu:
        rank.report.tell("kernel", ", ".join(chosen))


def _time(rank: WorkerRank, given: Given, *, causal: bool) -> None:
    fused = partial(functional.scaled_dot_product_attention, *given, is_causal=causal)
    calls: dict[str, Attention] = {"fused": fused}
    heads, length = given[0].shape[1:3]
    size = _SCORES * heads * length**2 * given[0].element_size()
    if rank.budget.has_room(size, f"the separate steps at {length:,} tokens"):
        calls["separate"] = partial(separate, *given, causal=causal)
    found = {name: call() for name, call in calls.items()}
    rank.report.check("result", is_near_enough(reference_attention(*given, causal=causal), **found))
    del found
    for name, call in calls.items():
        rank.times(name, call, seconds=0.7, least=3, length=length)


def separate(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Scores, softmax and weighted sum, each written to memory."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(_HEAD)
    if causal:
        scores.masked_fill_(_later(scores, 0), -math.inf)
    return functional.softmax(scores, dim=-1) @ value


def reference_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """The result in FP32, a block of rows of a head at a time."""
    found = torch.empty_like(query, dtype=torch.float32)
    for head in range(query.shape[1]):
        keys, values = key[:, head].float(), value[:, head].float()
        for first in range(0, query.shape[2], _ROWS):
            rows = slice(first, first + _ROWS)
            scores = query[:, head, rows].float() @ keys.transpose(-1, -2) / math.sqrt(_HEAD)
            if causal:
                scores.masked_fill_(_later(scores, first), -math.inf)
            found[:, head, rows] = functional.softmax(scores, dim=-1) @ values
    return found


def is_near_enough(expected: torch.Tensor, fused: torch.Tensor, separate: torch.Tensor | None = None) -> bool:
    """Whether *fused* is as near to *expected* as rounding lets it be.

    Rounding is what the separate steps show: their error is in proportion to the format's, and a
    kernel that keeps more in FP32 has a smaller one. A wrong scale has a far larger one.
    """
    if separate is None:
        return bool(_error(fused, expected) <= _COARSE)
    rounding = _error(separate, expected)
    allowed = (_TWICE * rounding).clamp(min=_EXACT)
    return bool(rounding <= _COARSE) and bool(_error(fused, expected) <= allowed)


def _error(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Root mean square of the differences, relative to that of *expected*."""
    return (found.float() - expected).norm() / expected.norm()


def _later(scores: torch.Tensor, first: int) -> torch.Tensor:
    """Which of *scores* are of keys after the query; the first row is that of query *first*."""
    rows, columns = scores.shape[-2:]
    key = torch.arange(columns, device=scores.device)
    return key > torch.arange(first, first + rows, device=scores.device)[:, None]


def _chosen(rank: WorkerRank, given: Given, *, causal: bool) -> str:
    """The kernel that torch chooses."""
    try:
        choice = SDPBackend(torch._fused_sdp_choice(*given, is_causal=causal))
    except RuntimeError as error:
        raise ValueError(
            f"torch has no kernel {rank.word('kernel')!r} for this GPU and these shapes; the log "
            "says why. Take another kernel, or any"
        ) from error
    return next((name for name, known in _KERNELS.items() if known == choice), str(choice))
