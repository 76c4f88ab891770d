"""GPU-hours and what they cost."""

from app.formulas.checks import at_least, positive, whole
from app.units import Count, Dollars, DollarsPerHour, Ratio, Seconds

_HOUR = 3600


def gpu_hours(gpus: Count, duration: Seconds) -> Ratio:
    """Hours of GPU time that a run takes.

        H = gpus * duration / 1 h

    Convention:
        Of all GPUs together, whatever they do meanwhile: waits, restarts and repairs count. A model
        card's hours often hold more than the pre-training.

    Args:
        gpus: GPUs of the run.
        duration: seconds of the run.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from the definition.
    """
    return whole("gpus", gpus) * positive("duration", duration) / _HOUR


def rental_cost(gpus: Count, duration: Seconds, dollars_per_gpu_hour: DollarsPerHour) -> Dollars:
    """Dollars for renting the GPUs of a run.

        D = gpus * duration * dollars_per_gpu_hour

    Convention:
        The final run alone. DeepSeek's $5.576M is 2.788 million hours at an assumed $2, and leaves
        out research and failed attempts, as its report says.

    Args:
        gpus: GPUs of the run.
        duration: seconds of the run.
        dollars_per_gpu_hour: price of one GPU for one hour.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        DeepSeek-V3 Technical Report, arXiv:2412.19437, section 1 and table 1.
    """
    return gpu_hours(gpus, duration) * at_least("dollars_per_gpu_hour", dollars_per_gpu_hour, 0)


def value_of_utilization(cost: Dollars, utilization: Ratio, better_utilization: Ratio) -> Dollars:
    """Dollars that a run saves by using its GPUs better.

    The work stays the same, so the GPU-hours fall as one over the utilization.

        D = cost * (1 - utilization / better_utilization)

    Convention:
        From 40 % to 41 % is one point, and 2.4 % of the cost; one per cent of 40 % is 0.4 points.

    Args:
        cost: dollars of the run as it is.
        utilization: share of peak that it reaches.
        better_utilization: share that it would reach, no smaller.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted: GPU-hours are FLOP over peak times utilization.
    """
    now, then = (
        positive("utilization", utilization),
        positive("better_utilization", better_utilization),
    )
    if now > 1:
        raise ValueError(f"utilization must be at most 1, the whole peak, not {utilization!r}")
    if not now <= then <= 1:
        raise ValueError(
            f"better_utilization must be from utilization, {now:g}, to 1,"
            f" not {better_utilization!r}"
        )
    return at_least("cost", cost, 0) * (1 - now / then)
