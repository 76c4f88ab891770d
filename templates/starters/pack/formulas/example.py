"""Formulas of this pack: each public function with units is one."""

from app.core.formulas.checks import at_least, positive
from app.core.units import Bytes, BytesPerSecond, Seconds


def transfer_time(size: Bytes, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time for an array to arrive over a link.

    The first byte takes the latency, and the others follow at the bandwidth.

        T = latency + size / bandwidth

    Args:
        size: bytes that are sent.
        bandwidth: bytes per second that the link carries.
        latency: seconds until the first byte arrives.

    Raises:
        ValueError: the size or bandwidth is not above zero, or the latency is negative.

    Source:
        The alpha-beta model; Hockney 1994, The communication challenge for MPP, section 2.
    """
    return at_least("latency", latency, 0) + positive("size", size) / positive("bandwidth", bandwidth)
