"""What keeps a GPU waiting that has enough work: uneven waves, launches, and missing samples."""

import math

from app.core.formulas.checks import positive, whole
from app.core.units import Count, Ratio, Seconds


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
