"""What a measured time says about the links."""

from typing import Literal, get_args

from app.formulas.checks import one_of, positive, whole
from app.units import Bytes, BytesPerSecond, Count, Ratio, Seconds

Collective = Literal[
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "send_recv",
]


def algorithm_bandwidth(size: Bytes, time: Seconds) -> BytesPerSecond:
    """Bytes of the array that a collective finishes per second.

    What the caller sees: the array's size over the time, whatever travels underneath.

        B = size / time

    Convention:
        nccl-tests prints it as algbw. It is not a speed of any link; for that see bus_bandwidth.

    Args:
        size: bytes of the whole array, as in the size column of nccl-tests.
        time: seconds that the collective took.

    Raises:
        ValueError: *size* or *time* is not above zero.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Algorithm bandwidth.
    """
    return positive("size", size) / positive("time", time)


def bus_bandwidth(
    collective: Collective, size: Bytes, ranks: Count, time: Seconds
) -> BytesPerSecond:
    """Speed that a link must have had, had the ranks used the best algorithm without a switch.

    The bytes that each rank has to send, over the time: the algorithm bandwidth times the
    factor f, which is 2 (ranks - 1) / ranks for all_reduce; (ranks - 1) / ranks for all_gather,
    reduce_scatter and all_to_all; and 1 for broadcast, reduce and send_recv.

        B = f * size / time

    Convention:
        nccl-tests prints it as busbw and applies the factor whatever algorithm ran, so an
        all-reduce inside the switch can exceed the wire. The size is the whole array, and the
        speed is one direction.

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
    factors = {
        "all_reduce": 2 * share,
        "all_gather": share,
        "reduce_scatter": share,
        "all_to_all": share,
    }
    return factors.get(collective, 1.0) * algorithm_bandwidth(size, time)


def link_utilization(bus_bandwidth: BytesPerSecond, bandwidth: BytesPerSecond) -> Ratio:
    """Share of a link's speed that a collective reached.

    Bus bandwidth against what the link can send; above 1 where the switch does the sums.

        U = bus_bandwidth / bandwidth

    Convention:
        Both are one direction: against the 900 GB/s of an H100's data sheet, which add both, the
        share comes out half as large.

    Args:
        bus_bandwidth: bytes per second, as nccl-tests prints it in its busbw column.
        bandwidth: bytes per second that one rank can send.

    Raises:
        ValueError: an argument is not above zero.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Bus bandwidth (to be compared with the hardware's
        peak).
    """
    return positive("bus_bandwidth", bus_bandwidth) / positive("bandwidth", bandwidth)
