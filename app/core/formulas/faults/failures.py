"""The rate of failures, and the cost of one."""

from app.core.formulas.checks import at_least, positive, whole
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
