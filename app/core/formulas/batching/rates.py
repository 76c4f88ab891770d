"""Sequences per second, and the share of a step that is communication."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Count, PerSecond, Ratio, Seconds


def sequences_per_second(batch: Count, step_time: Seconds) -> PerSecond:
    """Sequences per second that training processes.

        R = batch / step_time

    Convention:
        The whole run: *batch* is the effective batch of all ranks, not that of one rank.

    Args:
        batch: sequences of one optimizer step, over all ranks.
        step_time: seconds of one optimizer step.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    return whole("batch", batch) / positive("step_time", step_time)


def communication_share(compute_time: Seconds, communication_time: Seconds) -> Ratio:
    """Share of a step that is communication, when nothing overlaps.

        f = communication_time / (compute_time + communication_time)

    Convention:
        A share of the step, not of the computation: 50 ms after 120 ms are 29.4 %, not 41.7 %.

    Args:
        compute_time: seconds of a step spent computing.
        communication_time: seconds of a step spent communicating, not hidden by computation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    communication = at_least("communication_time", communication_time, 0)
    return communication / (positive("compute_time", compute_time) + communication)
