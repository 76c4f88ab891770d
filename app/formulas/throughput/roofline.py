"""The faster of two limits: arithmetic, and memory."""

from app.formulas.checks import positive
from app.units import Bytes, BytesPerSecond, Flops, FlopsPerByte, FlopsPerSecond, Seconds


def ridge_intensity(peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerByte:
    """Computation for each byte from which on arithmetic is the limit.

        I = peak / bandwidth

    Convention:
        Dense peak of the format over the bandwidth of device memory: 295 for an H100 in 16 bits.

    Args:
        peak: what the GPU could compute in a second.
        bandwidth: bytes per second of its memory.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    return positive("peak", peak) / positive("bandwidth", bandwidth)


def attainable_flops(
    intensity: FlopsPerByte, peak: FlopsPerSecond, bandwidth: BytesPerSecond
) -> FlopsPerSecond:
    """What a GPU can compute in a second at a given intensity, at best.

        R = min(peak, intensity * bandwidth)

    Convention:
        A bound: kernels stay below it.

    Args:
        intensity: computation for each byte that is moved.
        peak: what the GPU could compute in a second.
        bandwidth: bytes per second of its memory.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    fed = positive("intensity", intensity) * positive("bandwidth", bandwidth)
    return min(positive("peak", peak), fed)


def roofline_time(
    flops: Flops, bytes: Bytes, peak: FlopsPerSecond, bandwidth: BytesPerSecond
) -> Seconds:
    """Time that computing and moving bytes take, at least, when they overlap fully.

        T = max(flops / peak, bytes / bandwidth)

    Convention:
        Full overlap of arithmetic and memory. Their sum is the time without any.

    Args:
        flops: computation.
        bytes: bytes read and written.
        peak: what the GPU could compute in a second.
        bandwidth: bytes per second of its memory.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    computing = positive("flops", flops) / positive("peak", peak)
    return max(computing, positive("bytes", bytes) / positive("bandwidth", bandwidth))
