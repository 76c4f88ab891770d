"""Collectives on a ring and through one rank, and bandwidths computed from measured times."""

from typing import Literal, get_args

from app.core.formulas.checks import at_least, one_of, positive, rounds_bytes, rounds_time, whole
from app.core.units import Bytes, BytesPerSecond, Count, Ratio, Seconds


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

    Source:
        From the definition; Thakur, Rabenseifner and Gropp, International Journal of
        High Performance Computing Applications 19(1), 2005 (the cost model).
    """
    transfers = 2 * (whole("ranks", ranks) - 1)
    transfer = positive("size", size) / positive("bandwidth", bandwidth)
    return transfers * (at_least("latency", latency, 0) + transfer)


def ring_all_reduce_steps(ranks: Count) -> Count:
    """Steps of a ring all-reduce, one after the other.

    A piece visits every other rank once to collect the sum, then once more to distribute it.

        N = 2 (ranks - 1)

    Args:
        ranks: ranks in the ring.

    Raises:
        ValueError: *ranks* is not a whole number of at least one.

    Source:
        Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
        Journal of Parallel and Distributed Computing 69(2), 2009.
    """
    return 2 * (whole("ranks", ranks) - 1)


def ring_all_reduce_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends in a ring all-reduce.

    The array is cut into one piece per rank, and in each of the 2 (ranks - 1) steps every rank
    sends one piece. No all-reduce can send less, and the amount never exceeds two arrays.

        V = 2 size * (ranks - 1) / ranks

    Convention:
        Bytes sent by one rank, not sent plus received. The ZeRO paper counts elements and drops
        the factor (ranks - 1) / ranks, which makes it 2 model sizes.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks in the ring.

    Raises:
        ValueError: *size* is not above zero, or *ranks* is not a whole number of at least one.

    Source:
        Patarasuk and Yuan 2009, theorem on the bandwidth-optimal ring; nccl-tests,
        doc/PERFORMANCE.md, section AllReduce.
    """
    return 2 * rounds_bytes(size, ranks)


def ring_all_reduce_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of a ring all-reduce: until every rank has the sum of all arrays.

    A reduce-scatter and an all-gather of ranks - 1 steps each; in a step every rank sends one piece of the array to its
    neighbor. The bandwidth term hardly depends on the number of ranks, the latency term is proportional to it.

        T = 2 (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        The bandwidth is one direction of one link. Datasheets of NVLink add both directions
        (900 GB/s on an H100 is 450 GB/s here); network cards are quoted one way.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks in the ring.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllReduce (the bandwidth term); Thakur, Rabenseifner and Gropp,
        Optimization of Collective Communication Operations in MPICH, International Journal of High Performance
        Computing Applications 19(1), 2005 (the latency term).
    """
    return 2 * rounds_time(size, ranks, bandwidth, latency)


def ring_reduce_scatter_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends in a ring reduce-scatter.

    The first half of a ring all-reduce: after ranks - 1 steps of one piece each, every rank
    holds the finished sum of one piece.

        V = size * (ranks - 1) / ranks

    Convention:
        The size is the whole input array of a rank, as in nccl-tests. Some texts give the piece
        that a rank ends with instead, which is this size divided by the ranks.

    Args:
        size: bytes of the whole input array of each rank.
        ranks: ranks in the ring.

    Raises:
        ValueError: *size* is not above zero, or *ranks* is not a whole number of at least one.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section ReduceScatter.
    """
    return rounds_bytes(size, ranks)


def ring_all_gather_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends in a ring all-gather.

    The second half of a ring all-reduce: every rank starts with one piece and passes on, in
    ranks - 1 steps, what it received in the step before.

        V = size * (ranks - 1) / ranks

    Convention:
        The size is the whole array that every rank ends with, as in nccl-tests. MPI gives the
        piece that a rank starts with instead, which is this size divided by the ranks.

    Args:
        size: bytes of the whole array that each rank ends with.
        ranks: ranks in the ring.

    Raises:
        ValueError: *size* is not above zero, or *ranks* is not a whole number of at least one.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllGather.
    """
    return rounds_bytes(size, ranks)


def ring_reduce_scatter_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of a ring reduce-scatter: until every rank has the sum of one piece.

    In each of ranks - 1 steps every rank sends one piece and adds the one it receives to its own.

        T = (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        The size is the whole input array of a rank; the bandwidth is one direction.

    Args:
        size: bytes of the whole input array of each rank.
        ranks: ranks in the ring.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section ReduceScatter (the bandwidth term); Thakur,
        Rabenseifner and Gropp 2005 (the latency term).
    """
    return rounds_time(size, ranks, bandwidth, latency)


def ring_all_gather_time(size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0) -> Seconds:
    """Time of a ring all-gather: until every rank has the pieces of all ranks.

    In each of ranks - 1 steps every rank passes on the piece that it received last.

        T = (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        The size is the whole array that every rank ends with; the bandwidth is one direction.

    Args:
        size: bytes of the whole array that each rank ends with.
        ranks: ranks in the ring.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllGather (the bandwidth term); Thakur,
        Rabenseifner and Gropp 2005 (the latency term).
    """
    return rounds_time(size, ranks, bandwidth, latency)


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
        nccl-tests, doc/PERFORMANCE.md, section Bus bandwidth (comparison with the hardware's peak).
    """
    return positive("bus_bandwidth", bus_bandwidth) / positive("bandwidth", bandwidth)
