"""What the attention lab's check lets pass: any right kernel, and none with a wrong scale."""

import math
from collections.abc import Iterator

import pytest
import torch

from app.labs.library.attention.worker import is_near_enough, reference_attention, separate
from tests.each import each

HEADS, HEAD, TILE = 4, 64, 32
SEEDS = 1000


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a rank; for tensors this small, more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def flash(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool, scale: float = 1 / math.sqrt(HEAD)
) -> torch.Tensor:
    """A fused kernel as GPUs have it: BF16 products summed in FP32, a tile of keys at a time."""
    length = query.shape[2]
    most = torch.full((*query.shape[:3], 1), -math.inf)
    total, out = torch.zeros_like(most), torch.zeros(query.shape)
    rows = torch.arange(length)[:, None]
    for first in range(0, length, TILE):
        keys, values = (one[:, :, first : first + TILE].float() for one in (key, value))
        scores = query.float() @ keys.transpose(-1, -2) * scale
        if causal:
            columns = torch.arange(first, first + keys.shape[2])
            scores = scores.masked_fill(columns > rows, -math.inf)
        new = torch.maximum(most, scores.amax(-1, keepdim=True))
        weights = torch.exp(scores - new)
        shrunk = torch.exp(most - new)
        total = total * shrunk + weights.sum(-1, keepdim=True)
        out = out * shrunk + weights.bfloat16().float() @ values
        most = new
    return (out / total).bfloat16()


def in_bf16(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """The separate steps as torch's math kernel has them, the query scaled before the product."""
    scaled = (query.float() * HEAD**-0.25).bfloat16()
    keys = (key.float() * HEAD**-0.25).bfloat16()
    return separate(scaled * math.sqrt(HEAD), keys, value, causal=causal)


def given(seed: int, length: int) -> Iterator[torch.Tensor]:
    torch.manual_seed(seed)
    for _ in range(3):
        yield torch.randn(1, HEADS, length, HEAD).bfloat16()


@pytest.mark.sweep
@each("causal", [False, True])
def test_no_right_kernel_is_refused_and_no_wrong_scale_passes(causal: bool) -> None:
    """As BF16 differs from itself, one tolerance for all elements refused 6 of 150 runs."""
    for seed in range(SEEDS // 2):
        operands = tuple(given(seed, 64 if seed % 25 else 256))
        expected = reference_attention(*operands, causal=causal)
        steps = separate(*operands, causal=causal)
        right = flash(*operands, causal=causal)
        assert is_near_enough(expected, right, steps), seed
        assert is_near_enough(expected, right), seed
        wrong = flash(*operands, causal=causal, scale=1 / 7)
        assert not is_near_enough(expected, wrong, steps), seed
        assert not is_near_enough(expected, wrong), seed
        assert not is_near_enough(expected, right, wrong), seed


def test_the_math_kernel_is_right_too() -> None:
    for seed in range(100):
        operands = tuple(given(seed, 64))
        expected = reference_attention(*operands, causal=False)
        found = in_bf16(*operands, causal=False)
        assert is_near_enough(expected, found, separate(*operands, causal=False)), seed


@each("causal", [False, True])
def test_a_reference_in_blocks_is_that_of_the_whole(causal: bool) -> None:
    torch.manual_seed(0)
    operands = tuple(torch.randn(1, 2, 1500, HEAD) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(*operands, is_causal=causal)
    for found in (reference_attention(*operands, causal=causal), separate(*operands, causal=causal)):
        assert torch.allclose(found, expected, atol=1e-5)


def test_a_kernel_that_ignores_the_mask_is_found() -> None:
    operands = tuple(given(0, 64))
    expected, steps = reference_attention(*operands, causal=True), separate(*operands, causal=True)
    assert not is_near_enough(expected, flash(*operands, causal=False), steps)
