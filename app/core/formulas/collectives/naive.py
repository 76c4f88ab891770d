"""The naive all-reduce: everything through one rank."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


def naive_all_reduce_root_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that the root of a naive all-reduce receives and sends.

    Every other rank sends its whole array to the root, which sends the whole sum back to each.

        V = 2 (ranks - 1) size

    Convention:
        Received and sent bytes are added up, because they load the same rank; the root sends
        half of them.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks, the root included.

    Raises:
        ValueError: *size* is not above zero, or *ranks* is not a whole number of at least one.

    Source:
        From the definition; the baseline of Patarasuk and Yuan, Journal of Parallel and
        Distributed Computing 69(2), 2009.
    """
    return 2 * (whole("ranks", ranks) - 1) * positive("size", size)


def naive_all_reduce_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of a naive all-reduce: a gather to one rank and a broadcast from it.

    The root has a single link: it receives ranks - 1 whole arrays in turn, then sends the sum
    ranks - 1 times. The time grows with the number of ranks; that of a ring does not.

        T = 2 (ranks - 1) (latency + size / bandwidth)

    Convention:
        The bandwidth is one direction. The two halves do not overlap: the sum is not known before
        the last array has arrived.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks, the root included.
        bandwidth: bytes per second that the root receives or sends.
        latency: seconds added to each transfer.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; Thakur, Rabenseifner and Gropp, International Journal of
        High Performance Computing Applications 19(1), 2005 (the cost model).
    """
    transfers = 2 * (whole("ranks", ranks) - 1)
    transfer = positive("size", size) / positive("bandwidth", bandwidth)
    return transfers * (at_least("latency", latency, 0) + transfer)
