"""Bandwidths computed from measured times."""

from typing import Literal, get_args

from app.core.formulas.checks import one_of, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Ratio, Seconds

Collective = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "send_recv"]


def algorithm_bandwidth(size: Bytes, time: Seconds) -> BytesPerSecond:
    """Bytes of the array that a collective processes per second.

    The view of the caller: the array's size over the time, whatever is sent over the links.

        B = size / time

    Convention:
        nccl-tests prints it as algbw. It is not the speed of a link; for that see bus_bandwidth.

    Args:
        size: bytes of the whole array, as in the size column of nccl-tests.
        time: seconds that the collective took.

    Raises:
        ValueError: *size* or *time* is not above zero.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Algorithm bandwidth.
    """
    return positive("size", size) / positive("time", time)


def bus_bandwidth(collective: Collective, size: Bytes, ranks: Count, time: Seconds) -> BytesPerSecond:
    """Speed of a link if the ranks used the best algorithm without help from a switch.

    The bytes that each rank has to send, over the time: the algorithm bandwidth times the
    factor f, which is 2 (ranks - 1) / ranks for all_reduce; (ranks - 1) / ranks for all_gather,
    reduce_scatter and all_to_all; and 1 for broadcast, reduce and send_recv.

        B = f * size / time

    Convention:
        nccl-tests prints it as busbw and applies the factor whatever algorithm ran, so an
        all-reduce in the switch can exceed the link's bandwidth. The size is the whole array,
        and the speed is one direction.

    Args:
        collective: which collective ran.
        size: bytes of the whole array, as in the size column of nccl-tests.
        ranks: ranks that took part.
        time: seconds that the collective took.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Bus bandwidth.
    """
    one_of("collective", collective, get_args(Collective))
    share = (whole("ranks", ranks) - 1) / ranks
    factors = {"all_reduce": 2 * share, "all_gather": share, "reduce_scatter": share, "all_to_all": share}
    return factors.get(collective, 1.0) * algorithm_bandwidth(size, time)


def link_utilization(bus_bandwidth: BytesPerSecond, bandwidth: BytesPerSecond) -> Ratio:
    """Share of a link's bandwidth that a collective reached.

    Bus bandwidth over the bandwidth of the link; above 1 if the switch computes the sums.

        U = bus_bandwidth / bandwidth

    Convention:
        Both are one direction. Against the 900 GB/s of an H100's datasheet, which adds both
        directions, the share is half as large.

    Args:
        bus_bandwidth: bytes per second, as nccl-tests prints it in its busbw column.
        bandwidth: bytes per second that one rank can send.

    Raises:
        ValueError: an argument is not above zero.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Bus bandwidth (comparison with the hardware's
        peak).
    """
    return positive("bus_bandwidth", bus_bandwidth) / positive("bandwidth", bandwidth)
