"""Communicating less: local steps, compressed gradients, and updates that come late."""

import math

from app.core.formulas.checks import fraction, positive, too_large, whole
from app.core.units import Bytes, Count, Ratio, Seconds


def local_steps_overhead(synchronization: Seconds, step: Seconds, local_steps: Count) -> Ratio:
    """Share of the time that goes into synchronizing, if ranks synchronize after several local steps.

    Each round is *local_steps* steps without communication, then one synchronization that nothing hides.

        W = synchronization / (local_steps * step + synchronization)

    Args:
        synchronization: seconds that averaging over all ranks takes.
        step: seconds of a step without communication.
        local_steps: steps between two synchronizations; 1 is synchronous training.

    Source:
        Douillard et al., DiLoCo, arXiv:2311.08105, algorithm 1 (the rounds).
    """
    waiting = positive("synchronization", synchronization)
    return waiting / (whole("local_steps", local_steps) * positive("step", step) + waiting)


def fewest_local_steps(synchronization: Seconds, step: Seconds, largest_share: Ratio) -> Count:
    """The fewest local steps with which synchronizing takes at most *largest_share* of the time.

    Solved from the share of a round, and rounded up:

        H = ceil(synchronization * (1 - largest_share) / (largest_share * step))

    Args:
        synchronization: seconds that averaging over all ranks takes.
        step: seconds of a step without communication.
        largest_share: share of the time that it may take, below 1.

    Source:
        Douillard et al., DiLoCo, arXiv:2311.08105, algorithm 1 (the rounds).
    """
    most = fraction("largest_share", largest_share)
    if most == 1:
        raise too_large("largest_share", largest_share, "below 1")
    steps = positive("synchronization", synchronization) * (1 - most) / (most * positive("step", step))
    return max(1, math.ceil(steps * (1 - 1e-12)))


def top_k_bytes(elements: Count, share: Ratio, ranks: Count, value: Bytes = 2.0, index: Bytes = 4.0) -> Bytes:
    """Bytes that each rank sends to give all ranks the largest values of every rank's gradient.

    The positions differ from rank to rank, so sums cannot be made on the way: the lists are gathered. In a ring, each
    rank passes on n - 1 of them.

        V = (ranks - 1) * share * elements * (value + index)

    Args:
        elements: elements of the gradient.
        share: share of them that a rank sends, at most 1.
        ranks: ranks in the ring.
        value: bytes of a value.
        index: bytes of its position.

    Source:
        Lin et al., Deep Gradient Compression, arXiv:1712.01887 (the method); Renggli et al., SparCML,
        arXiv:1802.08021 (what gathering costs).
    """
    sent = fraction("share", share) * whole("elements", elements)
    return (whole("ranks", ranks) - 1) * sent * (positive("value", value) + positive("index", index))


def low_rank_bytes(rows: Count, columns: Count, rank: Count, ranks: Count, element: Bytes = 2.0) -> Bytes:
    """Bytes that each rank sends to average a gradient as a product of two thin matrices.

    A gradient of rows x columns becomes P of rows x rank and Q of columns x rank. Both are averaged by an all-reduce,
    since sums of products with the same Q are products with it.

        V = 2 * (ranks - 1) / ranks * rank * (rows + columns) * element

    Args:
        rows: rows of the gradient.
        columns: its columns.
        rank: columns of the thin matrices, at most the smaller side of the gradient.
        ranks: ranks that average it.
        element: bytes of an element.

    Source:
        Vogels et al., PowerSGD, arXiv:1905.13727, algorithm 1.
    """
    height, width, thin = whole("rows", rows), whole("columns", columns), whole("rank", rank)
    if thin > min(height, width):
        raise too_large("rank", rank, min(height, width))
    count = whole("ranks", ranks)
    return 2 * (count - 1) / count * thin * (height + width) * positive("element", element)


def mean_staleness(workers: Count) -> Ratio:
    """Updates of others between the moment a worker reads weights and the moment its update arrives, on average.

    Between two updates of one worker, each of the others, as fast as it is, updates once.

        s = workers - 1

    Args:
        workers: workers that read, compute and update without waiting for each other, all equally fast on average.

    Raises:
        ValueError: *workers* is less than one.

    Source:
        Mitliagkas et al., Asynchrony begets momentum, arXiv:1605.09774.
    """
    return whole("workers", workers) - 1
