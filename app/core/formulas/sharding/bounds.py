"""Bounds of tensor parallelism: the largest group whose communication is not the longer part."""

from app.core.formulas.checks import positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, FlopsPerSecond, Ratio


def largest_tensor_degree(
    feed_forward: Count, peak: FlopsPerSecond, bandwidth: BytesPerSecond, element_bytes: Bytes = 2
) -> Ratio:
    """Tensor-parallel degree at which a feed-forward communicates for as long as it computes.

    With sequence parallelism, T tokens of d numbers are gathered before the two products and
    reduce-scattered after them, while each rank computes 4 T d F / n FLOP. T and d cancel out.

        N = 1 + 2 FLOP * feed_forward * bandwidth / (element_bytes * peak)

    Convention:
        Not rounded; the forward pass of a feed-forward without a gate, with (n - 1) / n exactly,
        at the peak. With three matrices, a gated one computes half as much again for the same
        traffic. Nothing is hidden: this is where communication takes as long as computation.

    Args:
        feed_forward: inner size of the feed-forward.
        peak: dense peak FLOP per second of one GPU.
        bandwidth: bytes per second that a GPU sends while it receives as much.
        element_bytes: bytes of one number of an activation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Training" (Y < F W / C).
    """
    computed = positive("element_bytes", element_bytes) * positive("peak", peak)
    sent = 2 * whole("feed_forward", feed_forward) * positive("bandwidth", bandwidth)
    return 1 + sent / computed
