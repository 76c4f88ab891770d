"""Collectives on a ring, where every rank sends to the next and receives from the one before."""

from app.core.formulas.checks import whole
from app.core.formulas.rounds import rounds_bytes, rounds_time
from app.core.units import Bytes, BytesPerSecond, Count, Seconds


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

    A reduce-scatter and an all-gather of ranks - 1 steps each; in a step every rank sends one
    piece of the array to its neighbor. The bandwidth term hardly depends on the number of ranks,
    the latency term is proportional to it.

        T = 2 (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        The bandwidth is one direction of one link. Datasheets of NVLink add both directions
        (900 GB/s on an H100 is 450 GB/s here); network cards are quoted one way.

    Args:
        size: bytes of the array that each rank starts and ends with.
        ranks: ranks in the ring.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllReduce (the bandwidth term); Thakur,
        Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH,
        International Journal of High Performance Computing Applications 19(1), 2005 (the
        latency term).
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

    In each of ranks - 1 steps every rank sends one piece and adds the one it receives to its
    own.

        T = (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        The size is the whole input array of a rank; the bandwidth is one direction.

    Args:
        size: bytes of the whole input array of each rank.
        ranks: ranks in the ring.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each step.

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section AllGather (the bandwidth term); Thakur,
        Rabenseifner and Gropp 2005 (the latency term).
    """
    return rounds_time(size, ranks, bandwidth, latency)
