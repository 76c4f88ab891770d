"""Fully sharded data parallelism and tensor parallelism together, on one network."""

import math

from app.core.formulas.checks import positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio


def best_data_degree(batch_tokens: Count, gpus: Count, feed_forward: Count) -> Ratio:
    """Number of groups with different tokens at which a feed-forward sends the fewest bytes.

    Of N GPUs, X groups hold different tokens, and the N/X GPUs of a group cut each layer. A GPU
    gathers its share of the weights, in proportion to F X / N, and the tokens of its group, in
    proportion to B / X. The sum is smallest where both are equal.

        X = sqrt(batch_tokens * gpus / feed_forward)

    Convention:
        Not rounded. Above the number of GPUs, use fully sharded data parallelism alone; below 1,
        tensor parallelism alone. All GPUs share one network, and (n - 1) / n is taken as 1.

    Args:
        batch_tokens: tokens of the whole batch.
        gpus: GPUs of both kinds of parallelism together.
        feed_forward: inner size of the feed-forward.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training", combining FSDP and tensor
        parallelism (there with a set of links for each axis, so with another factor).
    """
    together = 1.0 * whole("batch_tokens", batch_tokens) * whole("gpus", gpus)
    return math.sqrt(together / whole("feed_forward", feed_forward))


def mixed_tokens_to_hide(
    peak: FlopsPerSecond, bandwidth: BytesPerSecond, feed_forward: Count, element_bytes: Bytes = 2
) -> Ratio:
    """Tokens per GPU from which computation hides the traffic of the best mix.

    At the best number of groups, weights and tokens are equal parts: with b tokens per GPU, a GPU
    sends 4 d * element_bytes * sqrt(F b) bytes and computes 4 b d F FLOP in a forward pass. b is
    where both take as long.

        T = (element_bytes * peak / (1 FLOP * bandwidth))^2 / feed_forward

    Convention:
        As in best_data_degree: one network for both, the forward pass of a feed-forward without a
        gate, at the peak. Below this, no split of the GPUs hides the traffic.

    Args:
        peak: dense peak FLOP per second of one GPU.
        bandwidth: bytes per second that a GPU sends while it receives as much.
        feed_forward: inner size of the feed-forward.
        element_bytes: bytes of one number.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training", combining FSDP and tensor
        parallelism (there with a set of links for each axis, so with another factor).
    """
    moved = positive("element_bytes", element_bytes) * positive("peak", peak)
    ratio = moved / positive("bandwidth", bandwidth)
    return ratio * ratio / whole("feed_forward", feed_forward)
