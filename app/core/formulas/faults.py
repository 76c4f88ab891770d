"""The cost of failures, and the best checkpoint interval.

*mtbf* is the mean time between failures of the whole run; an *interval* is the computing time
between two checkpoints, without the time to write one.
"""

import math

from app.core.formulas.checks import at_least, fraction, positive, too_large, whole
from app.core.translation import noted, value_error
from app.core.units import Bytes, BytesPerSecond, Count, Dollars, DollarsPerHour, Ratio, Seconds

_HOUR = 3600


def cluster_mtbf(mtbf: Seconds, components: Count) -> Seconds:
    """Mean time between failures of a cluster that any failure of a component stops.

    Failures are independent and come at a constant rate, so their rates add up.

        M = mtbf / components

    Convention:
        A component may be a GPU or a node. Llama 3's 419 interruptions in 54 days on 16,384 GPUs
        are an MTBF of 3.09 h for the cluster, and of 50,700 h, 5.8 years, for a GPU.

    Args:
        mtbf: mean seconds between failures of one component.
        components: components that are all needed.

    Source:
        Sum of the rates; the example: Grattafiori et al., arXiv:2407.21783, section 3.3.4 and table 5.
    """
    return positive("mtbf", mtbf) / whole("components", components)


def expected_failures(duration: Seconds, mtbf: Seconds) -> Ratio:
    """Expected number of failures in a run.

        N = duration / mtbf

    Convention:
        A mean: the number is Poisson distributed, with a standard deviation of its square root.

    Args:
        duration: seconds of the run, repairs included.
        mtbf: mean seconds between failures of the whole cluster.

    Source:
        The mean of a Poisson process.
    """
    return positive("duration", duration) / positive("mtbf", mtbf)


def cost_per_failure(
    gpus: Count, dollars_per_gpu_hour: DollarsPerHour, interval: Seconds, restart_time: Seconds
) -> Dollars:
    """Dollars of GPU time that one failure costs.

    A failure comes at a random time between two checkpoints, so half of the interval is lost on
    average; then the GPUs wait until the run has restarted.

        D = gpus * dollars_per_gpu_hour * (interval / 2 + restart_time)

    Convention:
        The mean, for intervals much shorter than the time between failures. Writing checkpoints
        costs extra; at the best interval it costs as much as the lost work.

    Args:
        gpus: GPUs that wait.
        dollars_per_gpu_hour: price of one GPU for one hour.
        interval: seconds of computing between two checkpoints.
        restart_time: seconds from the failure until training resumes.

    Source:
        From the definition; Young, A first order approximation to the optimum checkpoint interval,
        CACM 17(9), 1974 (half of the interval).
    """
    price = whole("gpus", gpus) * at_least("dollars_per_gpu_hour", dollars_per_gpu_hour, 0)
    lost = positive("interval", interval) / 2 + at_least("restart_time", restart_time, 0)
    return price * lost / _HOUR


_MOST_NODES = 1e6
_SUREST = 0.999999
_HOPELESS = 700  # times the mean time between failures
_SPREAD = 40  # standard deviations: nothing that a chance could see lies further out


def survival(duration: Seconds, mtbf: Seconds) -> Ratio:
    """Chance that nothing fails for some time.

    Failures come at a constant rate, so their number is a Poisson number, and this is the chance that it is 0.

        S = exp(-duration / mtbf)

    Convention:
        Failures are independent, and the clock is that of the run: a machine that has run for a
        day is no more likely to fail than a fresh one.

    Args:
        duration: seconds without a failure.
        mtbf: mean seconds between failures of the whole cluster.

    Source:
        The Poisson distribution; Daly, Future Generation Computer Systems 22(3), 2006 (the model).
    """
    return math.exp(-positive("duration", duration) / positive("mtbf", mtbf))


def time_without_checkpoints(work: Seconds, mtbf: Seconds) -> Seconds:
    """Expected time until some work is done if each failure starts it over.

    With the rate 1/M, a first failure comes before the end with the chance 1 - exp(-W/M). The
    expected time is what it takes to see a stretch of W without a failure.

        T = mtbf * (exp(work / mtbf) - 1)

    Convention:
        A restart takes no time, and nothing is ever saved. From 700 mean times between failures on,
        the work is never done.

    Args:
        work: seconds of computing without a failure.
        mtbf: mean seconds between failures of the whole cluster.

    Source:
        Daly, Future Generation Computer Systems 22(3), 2006 (one segment, without a checkpoint).
    """
    between = positive("mtbf", mtbf)
    if positive("work", work) / between > _HOPELESS:
        form = noted("{name} must be at most {most} times mtbf, or it never ends, not {value}")
        raise value_error(form, name="work", most=_HOPELESS, value=work)
    return between * math.expm1(work / between)


def spare_nodes(mean_in_repair: Ratio, chance: Ratio) -> Count:
    """Fewest spare nodes that replace all nodes in repair with a given chance.

    The number of nodes in repair is a Poisson number X; the answer is its quantile, the least N
    with P(X <= N) of at least the chance. Below is the first term; term k is the one before times
    mean_in_repair / k. Terms are summed from 40 standard deviations below the mean, each through
    its logarithm, since the first one is 0 for a computer from a mean of 746 on.

        P_0 = exp(-mean_in_repair)

    Convention:
        Nodes fail independently and are repaired independently, however many are out.

    Args:
        mean_in_repair: nodes in repair on average, up to a million.
        chance: chance that the spares are enough, up to 0.999999.

    Source:
        The Poisson distribution; Kokolis et al., arXiv:2410.21680 (failures of nodes).
    """
    mean = positive("mean_in_repair", mean_in_repair)
    enough = positive("chance", chance)
    if mean > _MOST_NODES:
        raise too_large("mean_in_repair", f"{mean:g}", f"{_MOST_NODES:g}")
    if enough > _SUREST:
        raise too_large("chance", f"{enough:.10g}", f"{_SUREST:g}")
    spares = max(0, math.floor(mean - _SPREAD * math.sqrt(mean)))
    logarithm = spares * math.log(mean) - mean - math.lgamma(spares + 1)
    total = math.exp(logarithm)
    while total < enough:
        spares += 1
        logarithm += math.log(mean / spares)
        total += math.exp(logarithm)
    return spares


def replica_loss(repair_time: Seconds, replicas: Count) -> Seconds:
    """Time that a run loses while one of its data-parallel replicas is missing.

    The others go on; the share of the run that is missing is one replica.

        L = repair_time / replicas

    Convention:
        In seconds of the whole run. The replicas that are left keep their speed, and whatever it
        costs to leave and to join again is not counted.

    Args:
        repair_time: seconds until the replica is back.
        replicas: data-parallel replicas of the whole run, including the missing one.

    Source:
        From the definition; Jang et al., Oobleck, arXiv:2309.08125 (runs that go on).
    """
    return positive("repair_time", repair_time) / whole("replicas", replicas)


def late_share(chance: Ratio, ranks: Count) -> Ratio:
    """Share of the steps in which at least one rank is late.

    A step is on time only if every rank is.

        S = 1 - (1 - chance)^ranks

    Convention:
        Ranks are late independently of each other. Delays that hit a whole node or rack at once
        make fewer steps late.

    Args:
        chance: chance that one rank is late in one step.
        ranks: ranks that wait for each other in every step.

    Source:
        From the definition; Petrini et al., The Case of the Missing Supercomputer Performance,
        SC 2003 (what many small delays do to a large machine).
    """
    late, count = fraction("chance", chance), whole("ranks", ranks)
    return 1.0 if late == 1 else -math.expm1(count * math.log1p(-late))


def verified_interval(test_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between two tests for silent faults, to first order.

    Tests take c/T of the time. A fault is found by the next test, and all work since the last
    clean one is lost: a whole interval, T/M of the time. The sum is smallest where both are equal.

        T = sqrt(test_time * mtbf)

    Convention:
        The computing time alone, without the test. A test finds every fault, and a checkpoint is
        stored at each clean test. Young's interval has a 2 under the root, since a failure that
        stops the run loses half an interval.

    Args:
        test_time: seconds of one test, during which nothing is computed.
        mtbf: mean seconds between silent faults of the whole cluster.

    Source:
        Derived from verified_waste; Benoit et al., Assessing General-Purpose Algorithms to Cope
        with Fail-Stop and Silent Errors, ACM TOPC 3(2), 2016.
    """
    return math.sqrt(positive("test_time", test_time) * positive("mtbf", mtbf))


def verified_waste(interval: Seconds, test_time: Seconds, mtbf: Seconds) -> Ratio:
    """Share of time lost to tests for silent faults and to work that has to be repeated.

    One test per interval, and one interval per fault.

        W = test_time / interval + interval / mtbf

    Convention:
        First order: accurate while the interval is much shorter than the time between faults, and
        even above 1 if it is not. The restart itself is not counted.

    Args:
        interval: seconds of computing between two tests.
        test_time: seconds of one test, during which nothing is computed.
        mtbf: mean seconds between silent faults of the whole cluster.

    Source:
        Benoit et al., Assessing General-Purpose Algorithms to Cope with Fail-Stop and Silent
        Errors, ACM TOPC 3(2), 2016.
    """
    every = positive("interval", interval)
    return positive("test_time", test_time) / every + every / positive("mtbf", mtbf)


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

    Source:
        From the definition.
    """
    together = positive("bandwidth", bandwidth) * whole("writers", writers)
    return positive("size", size) / together


_SMALL = 1e-2  # below this, the logarithm is summed as a series
_ENOUGH = 60


def young_interval(checkpoint_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between checkpoints, to first order (Young).

    Checkpoints take C/T of the time and failures lose T/(2M) of it; the sum is smallest where the two are equal.

        T = sqrt(2 * checkpoint_time * mtbf)

    Convention:
        The computing time alone, without the checkpoint. Accurate while a checkpoint takes far
        less time than passes between failures: at C/M = 1 % the interval is 5 % too long, which
        costs almost nothing. Several other formulas are quoted under Daly's name.

    Args:
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.

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

    An interval T is repeated until it completes without a failure, which takes M (exp((T + C) / M) - 1) on average,
    times a factor for restarts that does not depend on T. This time over T is smallest where (1 - u) exp(u) = exp(-C /
    M) with u = T / M. The solution is a value W of Lambert's function, on the branch above -1.

        T = mtbf * (1 + W)

    Convention:
        The computing time alone, without the checkpoint. W is the principal branch at
        -exp(-1 - C/M).

    Args:
        checkpoint_time: seconds to write one checkpoint, during which nothing is computed.
        mtbf: mean seconds between failures of the whole cluster.

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


_CHECKPOINTS_HOPELESS = 700.0  # times the mean time between failures: such an interval never completes


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

    Source:
        Daly, Future Generation Computer Systems 22(3), 2006 (the expected time).
    """
    every, between = positive("interval", interval), positive("mtbf", mtbf)
    tried = (every + positive("checkpoint_time", checkpoint_time)) / between
    restarts = at_least("restart_time", restart_time, 0) / between
    if tried + restarts > _CHECKPOINTS_HOPELESS:
        return 0.0
    return every / between / (math.exp(restarts) * math.expm1(tried))
