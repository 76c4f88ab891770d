"""What waiting costs, as utilization, efficiency and speed."""

from app.formulas.checks import at_least, fraction, positive, whole
from app.units import Count, PerSecond, Ratio, Seconds


def utilization_with_exposed(
    utilization: Ratio, compute_time: Seconds, exposed_time: Seconds
) -> Ratio:
    """Utilization once communication shows.

    The same work in a longer step.

        U = utilization * compute_time / (compute_time + exposed_time)

    Convention:
        *utilization* is that of the computing alone; the result is that of the step.

    Args:
        utilization: share of peak while computing, at most 1.
        compute_time: seconds of computation in a step.
        exposed_time: seconds of communication that do not hide behind it.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from the definition of MFU: Chowdhery et al., arXiv:2204.02311, appendix B.
    """
    working = positive("compute_time", compute_time)
    step = working + at_least("exposed_time", exposed_time, 0)
    return fraction("utilization", utilization) * working / step


def scaling_efficiency(ranks: Count, rate_of_one: PerSecond, rate: PerSecond) -> Ratio:
    """Throughput of many ranks, relative to as many ranks each on its own.

        E = rate / (ranks * rate_of_one)

    Convention:
        Of throughput. With the work of each rank kept it is weak scaling, with the whole work kept
        strong scaling; the batch of the run says which.

    Args:
        ranks: ranks that work together.
        rate_of_one: samples per second of one rank alone.
        rate: samples per second of all together.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Gustafson, Reevaluating Amdahl's Law, CACM 31(5), 1988.
    """
    alone = whole("ranks", ranks) * positive("rate_of_one", rate_of_one)
    return positive("rate", rate) / alone


def amdahl_speedup(serial_fraction: Ratio, ranks: Count) -> Ratio:
    """How much faster many ranks are when a part of the work does not divide.

        S = 1 / (serial_fraction + (1 - serial_fraction) / ranks)

    Convention:
        The work stays the same. However many ranks, never more than 1 / serial_fraction: a step
        that waits for 40 % of its time is at best 1 / 0.6 times as fast without waiting.

    Args:
        serial_fraction: share of the time on one rank that does not divide, at most 1.
        ranks: ranks that share the rest.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Amdahl, Validity of the single processor approach, AFIPS 30, 1967.
    """
    serial = at_least("serial_fraction", serial_fraction, 0)
    if serial > 1:
        raise ValueError(f"serial_fraction must be at most 1, all of it, not {serial_fraction!r}")
    return 1 / (serial + (1 - serial) / whole("ranks", ranks))
