"""The share of time that checkpoints and failures waste."""

import math

from app.core.formulas.checks import at_least, positive
from app.core.units import Ratio, Seconds

_HOPELESS = 700.0  # times the mean time between failures: such an interval never completes


def expected_waste(interval: Seconds, checkpoint_time: Seconds, mtbf: Seconds, restart_time: Seconds = 0.0) -> Ratio:
    """Share of time that is lost to checkpoints and failures, to first order.

    One checkpoint per interval; half an interval of lost work per failure, on average; and the
    restart. The three do not overlap, so nothing is counted twice.

        W = checkpoint_time / interval + interval / (2 * mtbf) + restart_time / mtbf

    Convention:
        Young's first order: accurate while the interval is much shorter than the time between
        failures, and even above 1 if it is not. For the exact share see goodput.

    Args:
        interval: seconds of computing between two checkpoints.
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.
        restart_time: seconds from a failure until training resumes.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Young, CACM 17(9), 1974.
    """
    every, between = positive("interval", interval), positive("mtbf", mtbf)
    written = positive("checkpoint_time", checkpoint_time)
    restarts = at_least("restart_time", restart_time, 0)
    return written / every + every / (2 * between) + restarts / between


def goodput(interval: Seconds, checkpoint_time: Seconds, mtbf: Seconds, restart_time: Seconds = 0.0) -> Ratio:
    """Share of time that becomes progress, exactly, for failures at a constant rate.

    An interval and its checkpoint are repeated until they complete. With failures at the rate
    1/M, also during restarts, this takes E on average.

        E = mtbf * exp(restart_time / mtbf) * (exp((interval + checkpoint_time) / mtbf) - 1)
        G = interval / E

    Convention:
        A share of time, exact for this model of failures; it does not include utilization. MFU
        times goodput is the utilization over a run's GPU-hours.

    Args:
        interval: seconds of computing between two checkpoints.
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.
        restart_time: seconds from a failure until training resumes.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Daly, Future Generation Computer Systems 22(3), 2006 (the expected time).
    """
    every, between = positive("interval", interval), positive("mtbf", mtbf)
    tried = (every + positive("checkpoint_time", checkpoint_time)) / between
    restarts = at_least("restart_time", restart_time, 0) / between
    if tried + restarts > _HOPELESS:
        return 0.0
    return every / between / (math.exp(restarts) * math.expm1(tried))
