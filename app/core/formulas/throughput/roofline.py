"""The roofline: the lower of two limits, compute and memory bandwidth."""

from app.core.formulas.checks import positive
from app.core.units import Bytes, BytesPerSecond, Flops, FlopsPerByte, FlopsPerSecond, Seconds


def ridge_intensity(peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerByte:
    """Arithmetic intensity from which on a kernel is compute-bound.

        I = peak / bandwidth

    Convention:
        Dense peak of the format over the bandwidth of device memory: 295 for an H100 in 16 bits.

    Args:
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    return positive("peak", peak) / positive("bandwidth", bandwidth)


def attainable_flops(intensity: FlopsPerByte, peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerSecond:
    """FLOP per second that a GPU can reach at a given arithmetic intensity, at most.

        R = min(peak, intensity * bandwidth)

    Convention:
        An upper bound: real kernels stay below it.

    Args:
        intensity: FLOP per byte moved.
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    fed = positive("intensity", intensity) * positive("bandwidth", bandwidth)
    return min(positive("peak", peak), fed)


def roofline_time(flops: Flops, bytes: Bytes, peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> Seconds:
    """Least time to compute and to move bytes, when both overlap fully.

        T = max(flops / peak, bytes / bandwidth)

    Convention:
        Full overlap of compute and memory traffic. Without overlap, the two times add up.

    Args:
        flops: computation.
        bytes: bytes read and written.
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    computing = positive("flops", flops) / positive("peak", peak)
    return max(computing, positive("bytes", bytes) / positive("bandwidth", bandwidth))
