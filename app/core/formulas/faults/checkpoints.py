"""Checkpoints: their size, the best interval between them, and the time that they waste."""

import math

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Bytes, BytesPerSecond, Count, Ratio, Seconds


def checkpoint_bytes(parameters: Count, bytes_per_parameter: Bytes = 14) -> Bytes:
    """Bytes of a checkpoint from which training can resume exactly.

    16-bit weights, their 32-bit copy and Adam's two 32-bit moments; gradients are recomputed.

        M = bytes_per_parameter * parameters

    Convention:
        2 + 4 + 8 = 14 bytes per parameter. The 16-bit weights can be restored from their 32-bit
        copy, which leaves 12; the step and the learning rate add a few bytes.

    Args:
        parameters: parameters of the model.
        bytes_per_parameter: bytes written per parameter.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1, without gradients.
    """
    each = positive("bytes_per_parameter", bytes_per_parameter)
    return each * whole("parameters", parameters)


def write_time(size: Bytes, bandwidth: BytesPerSecond, writers: Count = 1) -> Seconds:
    """Time to write a checkpoint with several writers.

        T = size / (bandwidth * writers)

    Convention:
        The bandwidth is that of one writer, and the storage keeps up with all of them: 64 writers
        of 10 GB/s need storage of 640 GB/s. If the storage takes only 10 GB/s in total, use one
        writer.

    Args:
        size: bytes of the whole checkpoint.
        bandwidth: bytes per second of each writer.
        writers: writers that work in parallel, each on its share.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    together = positive("bandwidth", bandwidth) * whole("writers", writers)
    return positive("size", size) / together


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
