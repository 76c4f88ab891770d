import math

import pytest

from app.core.formulas.layout import best_data_degree, mixed_tokens_to_hide
from app.core.formulas.overlap import fsdp_tokens_to_hide
from tests.each import each

SIZES = [(1048576, 256, 28672), (2097152, 512, 53248), (1048576, 512, 53248)]


def sent(groups: float, tokens: float, gpus: int, inner: int) -> float:
    """Numbers per hidden size that a GPU sends: its share of two matrices, tokens in and out."""
    weights = 2 * inner * groups / gpus
    return weights + 2 * tokens / groups


@each(("tokens", "gpus", "inner"), SIZES)
def test_best_data_degree_sends_less_than_every_other_mix(tokens: int, gpus: int, inner: int) -> None:
    degrees = [at / 100 for at in range(100, 100 * gpus + 1)]
    found = min(degrees, key=lambda groups: sent(groups, tokens, gpus, inner))
    assert best_data_degree(tokens, gpus, inner) == pytest.approx(found, abs=0.006)


def test_best_data_degree_sends_as_much_for_weights_as_for_tokens() -> None:
    groups = best_data_degree(3_000_000, 640, 14336)
    assert 14336 * groups / 640 == pytest.approx(3_000_000 / groups, rel=1e-12)


@each(("peak", "bandwidth"), [(989e12, 450e9), (2250e12, 900e9)])
@each(("gpus", "inner"), [(256, 28672), (512, 53248)])
def test_mixed_tokens_to_hide_is_the_least_batch_that_any_mix_hides(
    peak: float, bandwidth: float, gpus: int, inner: int
) -> None:
    def hides(tokens: float) -> bool:
        least = min(sent(at / 50, tokens, gpus, inner) for at in range(50, 50 * gpus + 1))
        return 2 * least / bandwidth <= 4 * tokens * inner / gpus / peak

    low, high = 1.0, 1e7
    while high / low > 1 + 1e-4:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if hides(middle) else (middle, high)
    assert mixed_tokens_to_hide(peak, bandwidth, inner) == pytest.approx(high / gpus, rel=1e-3)


def test_mixed_tokens_to_hide_with_a_layer_four_times_as_wide_as_fsdp_needs_tokens_ties() -> None:
    alone = fsdp_tokens_to_hide(989e12, 450e9)
    assert mixed_tokens_to_hide(989e12, 450e9, round(4 * alone)) == pytest.approx(alone, rel=1e-3)
