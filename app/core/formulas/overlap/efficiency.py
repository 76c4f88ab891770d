"""The cost of waiting: utilization, scaling efficiency and speedup."""

from app.core.formulas.checks import at_least, fraction, positive, whole
from app.core.formulas.refusals import too_large
from app.core.units import Count, PerSecond, Ratio, Seconds


def utilization_with_exposed(utilization: Ratio, compute_time: Seconds, exposed_time: Seconds) -> Ratio:
    """Utilization of a step with exposed communication.

    The same work in a longer step.

        U = utilization * compute_time / (compute_time + exposed_time)

    Convention:
        The argument *utilization* is that of the computation alone; the result is that of the step.

    Args:
        utilization: share of peak while computing, at most 1.
        compute_time: seconds of computation in a step.
        exposed_time: seconds of communication that computation does not hide.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition of MFU: Chowdhery et al., arXiv:2204.02311, appendix B.
    """
    working = positive("compute_time", compute_time)
    step = working + at_least("exposed_time", exposed_time, 0)
    return fraction("utilization", utilization) * working / step


def scaling_efficiency(ranks: Count, rate_of_one: PerSecond, rate: PerSecond) -> Ratio:
    """Throughput of many ranks, relative to the same number of independent ranks.

        E = rate / (ranks * rate_of_one)

    Convention:
        Weak scaling if the work per rank stays the same, strong scaling if the total work stays
        the same; the batch size of the run says which.

    Args:
        ranks: ranks that work together.
        rate_of_one: samples per second of one rank alone.
        rate: samples per second of all ranks.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Gustafson, Reevaluating Amdahl's Law, CACM 31(5), 1988.
    """
    alone = whole("ranks", ranks) * positive("rate_of_one", rate_of_one)
    return positive("rate", rate) / alone


def amdahl_speedup(serial_fraction: Ratio, ranks: Count) -> Ratio:
    """Speedup of many ranks when a part of the work cannot be divided.

        S = 1 / (serial_fraction + (1 - serial_fraction) / ranks)

    Convention:
        The total work stays the same. The speedup never exceeds 1 / serial_fraction, however many
        ranks there are: a step that waits for 40 % of its time is at best 1 / 0.6 times as fast
        without waiting.

    Args:
        serial_fraction: share of the time on one rank that cannot be divided, at most 1.
        ranks: ranks that share the rest.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Amdahl, Validity of the single processor approach, AFIPS 30, 1967.
    """
    serial = at_least("serial_fraction", serial_fraction, 0)
    if serial > 1:
        raise too_large("serial_fraction", serial_fraction, 1)
    return 1 / (serial + (1 - serial) / whole("ranks", ranks))
