"""Collectives that hand arrays out without adding them up."""

from app.formulas.checks import at_least, positive, whole
from app.formulas.rounds import rounds_bytes, rounds_time
from app.units import Bytes, BytesPerSecond, Count, Seconds


def all_to_all_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends in an all-to-all.

    Every rank cuts its array into one piece per rank, keeps its own and sends the others.

        V = size * (ranks - 1) / ranks

    Convention:
        The size is all that one rank puts in, its own piece included, as in nccl-tests.

    Args:
        size: bytes of the whole array that each rank puts in.
        ranks: ranks that exchange pieces.

    Raises:
        ValueError: *size* is not above zero, or *ranks* is not a whole number of at least one.

    Source:
        nccl-tests, src/alltoall.cu (its factor of the bus bandwidth).
    """
    return rounds_bytes(size, ranks)


def all_to_all_time(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0
) -> Seconds:
    """Time for every rank to send each other rank its piece.

    In round k every rank sends to the rank k places on and receives from the one k places back,
    so no link ever carries two pieces at once.

        T = (ranks - 1) (latency + size / (ranks * bandwidth))

    Convention:
        Rounds follow one another, so each pays the latency; an implementation that starts all of
        them at once pays it about once. The bandwidth is one direction.

    Args:
        size: bytes of the whole array that each rank puts in.
        ranks: ranks that exchange pieces.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each round.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in
        MPICH, International Journal of High Performance Computing Applications 19(1), 2005 (the
        pairwise exchange).
    """
    return rounds_time(size, ranks, bandwidth, latency)


def broadcast_time(
    size: Bytes, ranks: Count, bandwidth: BytesPerSecond, latency: Seconds = 0.0
) -> Seconds:
    """Time to hand one rank's array to all others along a pipelined ring.

    The root cuts the array into many chunks and each rank forwards a chunk while it receives
    the next one. The stream takes as long as one transfer of the array; the last rank sees it
    ranks - 1 hops late. One rank alone needs no time.

        T = (ranks - 1) latency + size / bandwidth

    Convention:
        The limit of many chunks, with a latency that delays a chunk but does not keep the link
        busy. The bandwidth is one direction.

    Args:
        size: bytes of the array that the root hands out.
        ranks: ranks, the root included.
        bandwidth: bytes per second that one rank sends while it receives as much.
        latency: seconds added to each hop.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        nccl-tests, doc/PERFORMANCE.md, section Broadcast (the bandwidth term); counted from the
        definition (the latency term).
    """
    hops = whole("ranks", ranks) - 1
    streaming = positive("size", size) / positive("bandwidth", bandwidth)
    waiting = hops * at_least("latency", latency, 0)
    return waiting + streaming if hops else 0.0
