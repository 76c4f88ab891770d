"""The time of a run, its utilization, and what keeps a GPU waiting that has enough work."""

import math

from app.core.formulas.checks import at_least, fraction, positive, too_large, whole
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


def wave_utilization(rows: Count, columns: Count, tile_rows: Count, tile_columns: Count, processors: Count) -> Ratio:
    """Share of the multiprocessors' time that a matrix product uses.

    Its output is cut into tiles, and each streaming multiprocessor computes one tile at a time. The
    tiles are computed in waves of one per multiprocessor; the last wave may be nearly empty.

        A = ceil(rows / tile_rows) * ceil(columns / tile_columns)
        U = A / (processors * ceil(A / processors))

    Convention:
        All tiles take equally long, and tiles at the edge as long as others. A kernel that splits
        the summed dimension, or lets a multiprocessor work on two tiles at a time, has other waves.

    Args:
        rows: rows of the output.
        columns: columns of the output.
        tile_rows: rows of a tile.
        tile_columns: columns of a tile.
        processors: streaming multiprocessors of the GPU.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        NVIDIA, Matrix Multiplication Background User's Guide, sections on tile quantization and
        wave quantization.
    """
    high = -(-whole("rows", rows) // whole("tile_rows", tile_rows))
    wide = -(-whole("columns", columns) // whole("tile_columns", tile_columns))
    at_once = whole("processors", processors)
    tiles = int(high) * int(wide)
    return tiles / (at_once * -(-tiles // at_once))


def launch_bound_time(kernels: Count, launch_time: Seconds, device_time: Seconds) -> Seconds:
    """Time of a step of many short kernels, each of which the host has to launch.

    The host launches kernels one after another, ahead of the GPU that runs them. The slower of the
    two sets the pace.

        T = max(kernels * launch_time, device_time)

    Convention:
        The limit of many kernels of equal length. A captured graph launches all kernels at once, so
        that only the time of the device is left.

    Args:
        kernels: kernels of a step.
        launch_time: seconds that the host needs to launch one kernel.
        device_time: seconds that the GPU needs to run all of them.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        PyTorch, Accelerating Generative AI with PyTorch II: GPT, Fast, 2023, section on the
        overhead of the host.
    """
    launches = whole("kernels", kernels) * positive("launch_time", launch_time)
    return max(launches, positive("device_time", device_time))


def loader_workers(samples: Count, sample_time: Seconds, step_time: Seconds) -> Count:
    """Fewest worker processes that prepare the samples of a step in the time of a step.

    In a step, a worker prepares step_time / sample_time samples.

        N = ceil(samples * sample_time / step_time)

    Convention:
        Each worker keeps one processor core busy, and samples are prepared ahead of the step that
        needs them. Rounded up.

    Args:
        samples: samples that are used in one step.
        sample_time: seconds in which one worker prepares a sample.
        step_time: seconds of a step.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Little, A Proof for the Queuing Formula L = λW, Operations Research 9(3), 1961; Mohan et
        al., Analyzing and Mitigating Data Stalls in DNN Training, arXiv:2007.06775.
    """
    work = whole("samples", samples) * positive("sample_time", sample_time)
    return max(1, math.ceil(work / positive("step_time", step_time) * (1 - 1e-12)))
