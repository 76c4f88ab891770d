"""Energy and its cost."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Count, Dollars, DollarsPerKwh, Joules, Ratio, Seconds, Watts

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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    price = at_least("dollars_per_kwh", dollars_per_kwh, 0)
    return energy(gpus, watts, duration, overhead) / _JOULES_IN_KWH * price
