"""The time of a run, and its utilization."""

from app.core.formulas.checks import at_least, fraction, positive, whole
from app.core.formulas.refusals import too_large
from app.core.units import Count, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds

_MOST_SPANS = 10**6


def training_time(flops: Flops, gpus: Count, peak: FlopsPerSecond, utilization: Ratio) -> Seconds:
    """Time of a training run at a given utilization.

        T = flops / (gpus * peak * utilization)

    Convention:
        With model FLOP and MFU, or with hardware FLOP and HFU; do not mix them. The peak is dense
        and that of one GPU. Restarts and repairs are not included.

    Args:
        flops: computation of the run.
        gpus: GPUs of the run.
        peak: dense peak FLOP per second of one GPU.
        utilization: share of the peak that is reached, at most 1.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, section 5.1, equation 4.
    """
    rate = whole("gpus", gpus) * positive("peak", peak) * fraction("utilization", utilization)
    return positive("flops", flops) / rate


def model_utilization(model_flops: Flops, time: Seconds, gpus: Count, peak: FlopsPerSecond) -> Ratio:
    """Model FLOPs utilization (MFU): share of the peak that goes into the model.

    The FLOP that the model needs, over the FLOP that the GPUs could have computed in the time.

        U = model_flops / (time * gpus * peak)

    Convention:
        Recomputation does not count: it is not part of the model. Some papers count attention
        (PaLM reports both); few halve it for the causal mask. The peak is dense. A result above 1
        means that an argument is wrong.

    Args:
        model_flops: computation that the model needs, forward and backward.
        time: seconds that it took.
        gpus: GPUs that it ran on.
        peak: dense peak FLOP per second of one GPU.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Chowdhery et al., PaLM, arXiv:2204.02311, section 4.1 and appendix B.
    """
    could = positive("time", time) * whole("gpus", gpus) * positive("peak", peak)
    return positive("model_flops", model_flops) / could


def hardware_utilization(hardware_flops: Flops, time: Seconds, gpus: Count, peak: FlopsPerSecond) -> Ratio:
    """Hardware FLOPs utilization (HFU): share of the peak that the hardware computes.

    As MFU, but recomputation counts.

        U = hardware_flops / (time * gpus * peak)

    Convention:
        At least MFU, and equal to it without recomputation; a third more with full recomputation.
        The percentage of peak in Megatron's table of 2021 is HFU. A result above 1 means that an
        argument is wrong.

    Args:
        hardware_flops: computation that was done, recomputation included.
        time: seconds that it took.
        gpus: GPUs that it took.
        peak: dense peak FLOP per second of one GPU.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Korthikanti et al., arXiv:2205.05198, section 6 and table 5; Chowdhery et al.,
        arXiv:2204.02311, section 4.1.
    """
    could = positive("time", time) * whole("gpus", gpus) * positive("peak", peak)
    return positive("hardware_flops", hardware_flops) / could


def tokens_per_second(parameters: Count, gpus: Count, peak: FlopsPerSecond, utilization: Ratio) -> PerSecond:
    """Tokens per second that training processes.

    Each token costs six FLOP per parameter.

        R = gpus * peak * utilization / (6 FLOP * parameters)

    Convention:
        All GPUs together. Attention scores are not counted, so use an MFU that does not count them
        either.

    Args:
        parameters: parameters that process a token.
        gpus: GPUs of the run.
        peak: dense peak FLOP per second of one GPU.
        utilization: share of the peak that is reached, at most 1.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Solved from Kaplan et al., arXiv:2001.08361, section 2.1.
    """
    rate = whole("gpus", gpus) * positive("peak", peak) * fraction("utilization", utilization)
    return rate / (6.0 * whole("parameters", parameters))


def utilization_comb(busy: Seconds, idle: Seconds, repeats: Count) -> tuple[Seconds, ...]:
    """Busy and idle spans of a rank, in turn.

    The utilization trace of a rank that waits repeatedly for the same thing looks like a comb:
    teeth of work, gaps of waiting. The distance between gaps shows what it waits for:
    micro-batches, optimizer steps or checkpoints. The spans repeat these two:

        S = busy
        G = idle

    Convention:
        Starts busy and ends idle. The mean utilization hides the gaps; the trace shows them.

    Args:
        busy: seconds of work between two waits.
        idle: seconds of each wait.
        repeats: number of repetitions.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    times = whole("repeats", repeats)
    if times > _MOST_SPANS:
        raise too_large("repeats", repeats, f"{_MOST_SPANS:,}")
    return (positive("busy", busy), at_least("idle", idle, 0)) * times
