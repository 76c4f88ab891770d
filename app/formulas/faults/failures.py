"""How often something fails, and what one failure costs."""

from app.formulas.checks import at_least, positive, whole
from app.units import Count, Dollars, DollarsPerHour, Ratio, Seconds

_HOUR = 3600


def cluster_mtbf(mtbf: Seconds, components: Count) -> Seconds:
    """Mean time between failures of many parts, when the failure of any stops all.

    Failures come independently and at a constant rate, so their rates add up.

        M = mtbf / components

    Convention:
        What is a component is up to the question: a GPU, a node. Llama 3's 419 interruptions in 54
        days on 16,384 GPUs are 3.09 h for the cluster and 50,700 h, 5.8 years, for a GPU.

    Args:
        mtbf: mean seconds between failures of one component.
        components: components that are all needed.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted; the example from Grattafiori et al., arXiv:2407.21783, section 3.3.4 and table 5.
    """
    return positive("mtbf", mtbf) / whole("components", components)


def expected_failures(duration: Seconds, mtbf: Seconds) -> Ratio:
    """Failures to expect in a while.

        N = duration / mtbf

    Convention:
        A mean: the number itself is Poisson distributed, so it strays by about its square root.

    Args:
        duration: seconds of the run, time for repairs included.
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
    """Dollars of GPU time that one failure loses.

    A failure strikes anywhere between two checkpoints, so half of the interval is lost on average;
    then nothing is done until the run is back.

        D = gpus * dollars_per_gpu_hour * (interval / 2 + restart_time)

    Convention:
        The mean, with failures rare against the interval. What writing checkpoints costs comes on
        top; at the best interval it is as much as the lost work.

    Args:
        gpus: GPUs that wait.
        dollars_per_gpu_hour: price of one GPU for one hour.
        interval: seconds of computing between two checkpoints.
        restart_time: seconds from the failure until computing goes on.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted; Young, A first order approximation to the optimum checkpoint interval, CACM 17(9),
        1974 (half of the interval).
    """
    price = whole("gpus", gpus) * at_least("dollars_per_gpu_hour", dollars_per_gpu_hour, 0)
    lost = positive("interval", interval) / 2 + at_least("restart_time", restart_time, 0)
    return price * lost / _HOUR
