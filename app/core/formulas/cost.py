"""What a run costs: GPU-hours, dollars and energy."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.translation import noted, value_error
from app.core.units import Count, Dollars, DollarsPerHour, DollarsPerKwh, Joules, Ratio, Seconds, Watts

_HOUR = 3600


def gpu_hours(gpus: Count, duration: Seconds) -> Ratio:
    """GPU-hours of a run.

        H = gpus * duration / 1 h

    Convention:
        All GPUs together, idle or not: waiting, restarts and repairs count. The GPU-hours of a
        model card often include more than pre-training.

    Args:
        gpus: GPUs of the run.
        duration: seconds of the run.

    Source:
        From the definition.
    """
    return whole("gpus", gpus) * positive("duration", duration) / _HOUR


def rental_cost(gpus: Count, duration: Seconds, dollars_per_gpu_hour: DollarsPerHour) -> Dollars:
    """Dollars for renting the GPUs of a run.

        D = gpus * duration * dollars_per_gpu_hour

    Convention:
        The final run alone. DeepSeek's $5.576M is 2.788 million hours at an assumed $2; as its
        report says, this does not include research and failed attempts.

    Args:
        gpus: GPUs of the run.
        duration: seconds of the run.
        dollars_per_gpu_hour: price of one GPU for one hour.

    Source:
        DeepSeek-V3 Technical Report, arXiv:2412.19437, section 1 and table 1.
    """
    return gpu_hours(gpus, duration) * at_least("dollars_per_gpu_hour", dollars_per_gpu_hour, 0)


def value_of_utilization(cost: Dollars, utilization: Ratio, better_utilization: Ratio) -> Dollars:
    """Dollars that a run saves at a better utilization.

    The work stays the same, so the GPU-hours are inversely proportional to the utilization.

        D = cost * (1 - utilization / better_utilization)

    Convention:
        From 40 % to 41 % is one percentage point, and saves 2.4 % of the cost; one percent of
        40 % is 0.4 points.

    Args:
        cost: dollars of the run at *utilization*.
        utilization: share of the peak that it reaches.
        better_utilization: share of the peak that it would reach, at least *utilization*.

    Source:
        GPU-hours are FLOP over peak times utilization.
    """
    now, then = (positive("utilization", utilization), positive("better_utilization", better_utilization))
    if now > 1:
        raise value_error("{name} must be at most 1, the full peak, not {value}", name="utilization", value=utilization)
    if not now <= then <= 1:
        form = noted("{name} must be from utilization, {now}, to 1, not {value}")
        raise value_error(form, name="better_utilization", now=f"{now:g}", value=better_utilization)
    return at_least("cost", cost, 0) * (1 - now / then)


_JOULES_IN_KWH = 3.6e6


def energy(gpus: Count, watts: Watts, duration: Seconds, overhead: Ratio = 1) -> Joules:
    """Energy of a run.

        E = gpus * watts * duration * overhead

    Convention:
        With a GPU's own power, 700 W for an H100, this is the energy of the GPUs alone; a whole
        DGX H100 server takes up to 10.2 kW, 1,275 W per GPU. The overhead is the power usage
        effectiveness (PUE) of the data center: it multiplies the power of the computers and does
        not replace any part of it.

    Args:
        gpus: GPUs of the run.
        watts: power of each.
        duration: seconds of the run.
        overhead: power of the data center over that of its computers, at least 1.

    Source:
        From the definition; 700 W from the Llama 3.1 model card.
    """
    power = whole("gpus", gpus) * positive("watts", watts)
    return power * positive("duration", duration) * at_least("overhead", overhead, 1)


def electricity_cost(
    gpus: Count, watts: Watts, duration: Seconds, dollars_per_kwh: DollarsPerKwh, overhead: Ratio = 1
) -> Dollars:
    """Dollars for the energy of a run.

        D = gpus * watts * duration * overhead * dollars_per_kwh

    Convention:
        As in energy: the GPUs alone, unless *watts* is a GPU's share of its server; the data
        center is included through the overhead.

    Args:
        gpus: GPUs of the run.
        watts: power of each.
        duration: seconds of the run.
        dollars_per_kwh: price of a kilowatt-hour.
        overhead: power of the data center over that of its computers, at least 1.

    Source:
        From the definition.
    """
    price = at_least("dollars_per_kwh", dollars_per_kwh, 0)
    return energy(gpus, watts, duration, overhead) / _JOULES_IN_KWH * price
