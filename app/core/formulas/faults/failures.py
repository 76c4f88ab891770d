"""Failures: their rate, their cost, how many nodes they take, and faults that nobody sees."""

import math

from app.core.formulas.checks import at_least, fraction, positive, too_large, whole
from app.core.translation import say
from app.core.units import Count, Dollars, DollarsPerHour, Ratio, Seconds

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Sum of the rates; the example: Grattafiori et al., arXiv:2407.21783, section 3.3.4 and
        table 5.
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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Failures come at a constant rate, so their number is a Poisson number, and this is the chance
    that it is 0.

        S = exp(-duration / mtbf)

    Convention:
        Failures are independent, and the clock is that of the run: a machine that has run for a
        day is no more likely to fail than a fresh one.

    Args:
        duration: seconds without a failure.
        mtbf: mean seconds between failures of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Daly, Future Generation Computer Systems 22(3), 2006 (one segment, without a checkpoint).
    """
    between = positive("mtbf", mtbf)
    if positive("work", work) / between > _HOPELESS:
        raise ValueError(
            say(
                "{name} must be at most {most} times mtbf, or it never ends, not {value}",
                name="work",
                most=_HOPELESS,
                value=work,
            )
        )
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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Benoit et al., Assessing General-Purpose Algorithms to Cope with Fail-Stop and Silent
        Errors, ACM TOPC 3(2), 2016.
    """
    every = positive("interval", interval)
    return positive("test_time", test_time) / every + every / positive("mtbf", mtbf)
