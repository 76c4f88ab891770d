"""The share of time that checkpoints and failures take."""

import math

from app.formulas.checks import at_least, positive
from app.units import Ratio, Seconds

_HOPELESS = 700.0  # mean times between failures in one interval: nothing ever gets through


def expected_waste(
    interval: Seconds, checkpoint_time: Seconds, mtbf: Seconds, restart_time: Seconds = 0.0
) -> Ratio:
    """Share of time that is lost to checkpoints and failures, to first order.

    A checkpoint in each interval; on average half an interval of work lost at each failure; and the
    time until the run is back. The three do not overlap, so nothing is counted twice.

        W = checkpoint_time / interval + interval / (2 * mtbf) + restart_time / mtbf

    Convention:
        To first order, as Young has it: right while the interval is short against the time between
        failures, and above 1 where it is not. For the exact share see goodput.

    Args:
        interval: seconds of computing between two checkpoints.
        checkpoint_time: seconds of writing one checkpoint, while nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.
        restart_time: seconds from a failure until computing goes on.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Young, CACM 17(9), 1974.
    """
    every, between = positive("interval", interval), positive("mtbf", mtbf)
    written = positive("checkpoint_time", checkpoint_time)
    restarts = at_least("restart_time", restart_time, 0)
    return written / every + every / (2 * between) + restarts / between


def goodput(
    interval: Seconds, checkpoint_time: Seconds, mtbf: Seconds, restart_time: Seconds = 0.0
) -> Ratio:
    """Share of time that becomes progress, when failures come at a constant rate.

    An interval and its checkpoint are tried until they get through. With failures at the rate 1/M,
    also while restarting, that takes E on average.

        E = mtbf * exp(restart_time / mtbf) * (exp((interval + checkpoint_time) / mtbf) - 1)
        G = interval / E

    Convention:
        Of time, and exact for this model; of throughput it says nothing. MFU times goodput is what
        a run's GPU-hours show.

    Args:
        interval: seconds of computing between two checkpoints.
        checkpoint_time: seconds of writing one checkpoint, while nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.
        restart_time: seconds from a failure until computing goes on.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Daly, Future Generation Computer Systems 22(3), 2006, equation 13 (the expected time).
    """
    every, between = positive("interval", interval), positive("mtbf", mtbf)
    tried = (every + positive("checkpoint_time", checkpoint_time)) / between
    restarts = at_least("restart_time", restart_time, 0) / between
    if tried + restarts > _HOPELESS:
        return 0.0
    return every / between / (math.exp(restarts) * math.expm1(tried))
