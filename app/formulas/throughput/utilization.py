"""The time of a run, and how much of the machine it uses."""

from app.formulas.checks import at_least, fraction, positive, whole
from app.units import Count, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds

_MOST_SPANS = 10**6


def training_time(flops: Flops, gpus: Count, peak: FlopsPerSecond, utilization: Ratio) -> Seconds:
    """Time of a run that uses a share of its GPUs' peak.

        T = flops / (gpus * peak * utilization)

    Convention:
        With model FLOP and MFU, or with hardware FLOP and HFU, never one of each. The peak is dense
        and of one GPU. Restarts and repairs come on top.

    Args:
        flops: computation of the run.
        gpus: GPUs of the run.
        peak: what one GPU could compute in a second.
        utilization: share of it that is reached, at most 1.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, section 5.1, equation 4.
    """
    rate = whole("gpus", gpus) * positive("peak", peak) * fraction("utilization", utilization)
    return positive("flops", flops) / rate


def model_utilization(
    model_flops: Flops, time: Seconds, gpus: Count, peak: FlopsPerSecond
) -> Ratio:
    """Share of the peak that goes into the model: MFU.

    What the model's mathematics needs, over what the GPUs could have computed in the time.

        U = model_flops / (time * gpus * peak)

    Convention:
        Recomputation does not count: it is no part of the model. Some papers count attention (PaLM
        prints both), few halve it for the causal mask. The peak is dense.

    Args:
        model_flops: computation that the model needs, forward and backward.
        time: seconds that it took.
        gpus: GPUs that worked on it.
        peak: what one GPU could compute in a second.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Chowdhery et al., PaLM, arXiv:2204.02311, section 4.1 and appendix B.
    """
    could = positive("time", time) * whole("gpus", gpus) * positive("peak", peak)
    return positive("model_flops", model_flops) / could


def hardware_utilization(
    hardware_flops: Flops, time: Seconds, gpus: Count, peak: FlopsPerSecond
) -> Ratio:
    """Share of the peak that the hardware computes: HFU.

    As MFU, but what is computed again counts again.

        U = hardware_flops / (time * gpus * peak)

    Convention:
        At least MFU, and equal to it without recomputation: with full recomputation a third more.
        The per cent of peak in Megatron's table of 2021 is this.

    Args:
        hardware_flops: computation that was done, recomputation included.
        time: seconds that it took.
        gpus: GPUs that worked on it.
        peak: what one GPU could compute in a second.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 6 and table 5; Chowdhery et al.,
        arXiv:2204.02311, section 4.1.
    """
    could = positive("time", time) * whole("gpus", gpus) * positive("peak", peak)
    return positive("hardware_flops", hardware_flops) / could


def tokens_per_second(
    parameters: Count, gpus: Count, peak: FlopsPerSecond, utilization: Ratio
) -> PerSecond:
    """Tokens that training goes through per second.

    Each costs six FLOP for each parameter.

        R = gpus * peak * utilization / (6 FLOP * parameters)

    Convention:
        Of all GPUs together. Without attention's own products, so MFU has to be taken without them
        too.

    Args:
        parameters: parameters that a token meets.
        gpus: GPUs of the run.
        peak: what one GPU could compute in a second.
        utilization: share of it that is reached, at most 1.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Solved from Kaplan et al., arXiv:2001.08361, section 2.1.
    """
    rate = whole("gpus", gpus) * positive("peak", peak) * fraction("utilization", utilization)
    return rate / (6.0 * whole("parameters", parameters))


def utilization_comb(busy: Seconds, idle: Seconds, repeats: Count) -> tuple[Seconds, ...]:
    """Busy and idle spans of a rank, one after the other.

    A rank that waits again and again for the same thing draws a comb: teeth of work, gaps of
    waiting. How far apart the gaps are says what it waits for: micro-batches, optimizer steps,
    checkpoints. The spans are these two, over and over:

        S = busy
        G = idle

    Convention:
        Starts busy and ends idle. The mean utilization hides the gaps; the trace shows them.

    Args:
        busy: seconds of work between two waits.
        idle: seconds of each wait.
        repeats: how often.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Counted from the definition.
    """
    times = whole("repeats", repeats)
    if times > _MOST_SPANS:
        raise ValueError(f"repeats must be at most {_MOST_SPANS:,}, not {repeats!r}")
    return (positive("busy", busy), at_least("idle", idle, 0)) * times
