"""The best interval between checkpoints, to first order, to higher order, and exactly."""

import math

from app.core.formulas.checks import positive
from app.core.units import Seconds

_SMALL = 1e-2  # below this, the logarithm is summed as a series
_ENOUGH = 60


def young_interval(checkpoint_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between checkpoints, to first order (Young).

    Checkpoints take C/T of the time and failures lose T/(2M) of it; the sum is smallest where the
    two are equal.

        T = sqrt(2 * checkpoint_time * mtbf)

    Convention:
        The computing time alone, without the checkpoint. Accurate while a checkpoint takes far
        less time than passes between failures: at C/M = 1 % the interval is 5 % too long, which
        costs almost nothing. Several other formulas are quoted under Daly's name.

    Args:
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974.
    """
    return math.sqrt(2 * positive("checkpoint_time", checkpoint_time) * positive("mtbf", mtbf))


def daly_interval(checkpoint_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between checkpoints, to higher order (Daly).

    Y is the first-order interval, X the square root of C / (2M).

        Y = sqrt(2 * checkpoint_time * mtbf)
        X = sqrt(checkpoint_time / (2 * mtbf))
        T = Y * (1 + X / 3 + X^2 / 9) - checkpoint_time

    Convention:
        The computing time alone, without the checkpoint. If a checkpoint takes twice the time
        between failures or longer, the interval is mtbf.

    Args:
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future
        Generation Computer Systems 22(3), 2006.
    """
    written = positive("checkpoint_time", checkpoint_time)
    between = positive("mtbf", mtbf)
    if written >= 2 * between:
        return between
    part = math.sqrt(written / (2 * between))
    return math.sqrt(2 * written * between) * (1 + part / 3 + part**2 / 9) - written


def exact_interval(checkpoint_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between checkpoints, exactly, for failures at a constant rate.

    An interval T is repeated until it completes without a failure, which takes
    M (exp((T + C) / M) - 1) on average, times a factor for restarts that does not depend on T.
    This time over T is smallest where (1 - u) exp(u) = exp(-C / M) with u = T / M. The solution
    is a value W of Lambert's function, on the branch above -1.

        T = mtbf * (1 + W)

    Convention:
        The computing time alone, without the checkpoint. W is the principal branch at
        -exp(-1 - C/M).

    Args:
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Daly, Future Generation Computer Systems 22(3), 2006 (the expected time); Corless et al., On
        the Lambert W function, Advances in Computational Mathematics 5, 1996.
    """
    between = positive("mtbf", mtbf)
    return between * _best_share(positive("checkpoint_time", checkpoint_time) / between)


def asynchronous_interval(copy_time: Seconds, write_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between checkpoints that are written while training goes on.

    Only the copy out of the GPUs' memory blocks the run, so it takes the place of the checkpoint
    in Young's formula. The next checkpoint cannot start before the last one is written.

        T = max(sqrt(2 * copy_time * mtbf), write_time)

    Convention:
        To first order, and for a write that takes nothing from training. Between its copy and the
        end of its write a checkpoint is of no use yet: a failure then loses the interval before
        as well, which is not counted here.

    Args:
        copy_time: seconds of the copy, during which nothing is computed.
        write_time: seconds of the write that follows in the background.
        mtbf: mean seconds between failures of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Young, CACM 17(9), 1974, with the copy for the checkpoint; Mohan et al., CheckFreq, FAST
        2021 (copies and writes in the background).
    """
    blocked, between = positive("copy_time", copy_time), positive("mtbf", mtbf)
    return max(math.sqrt(2 * blocked * between), positive("write_time", write_time))


def _best_share(written: float) -> float:
    """The u from 0 to 1 with -log(1 - u) - u = *written*, by Newton's method from above."""
    share = min(math.sqrt(2 * written), -math.expm1(-1 - written))
    for _ in range(_ENOUGH):
        if share >= 1:
            return 1.0
        step = (_shortfall(share) - written) * (1 - share) / share
        share -= step
        if abs(step) <= 4e-16 * share:
            break
    return share


def _shortfall(share: float) -> float:
    """-log(1 - u) - u, accurate for small u."""
    if share < _SMALL:
        return sum(share**power / power for power in range(2, 12))
    return -math.log1p(-share) - share
