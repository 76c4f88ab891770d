"""Training time, utilization, and the roofline.

Peaks are dense and in the format of the computation; datasheets print twice as much for sparsity,
which training does not use.
"""

import math

from app.core.formulas.checks import at_least, fraction, one_of, positive, too_large, whole
from app.core.units import Bytes, BytesPerSecond, Count, Flops, FlopsPerByte, FlopsPerSecond, PerSecond, Ratio, Seconds


def ridge_intensity(peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerByte:
    """Arithmetic intensity from which on a kernel is compute-bound.

        I = peak / bandwidth

    Convention:
        Dense peak of the format over the bandwidth of device memory: 295 for an H100 in 16 bits.

    Args:
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    return positive("peak", peak) / positive("bandwidth", bandwidth)


def attainable_flops(intensity: FlopsPerByte, peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> FlopsPerSecond:
    """FLOP per second that a GPU can reach at a given arithmetic intensity, at most.

        R = min(peak, intensity * bandwidth)

    Convention:
        An upper bound: real kernels stay below it.

    Args:
        intensity: FLOP per byte moved.
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    fed = positive("intensity", intensity) * positive("bandwidth", bandwidth)
    return min(positive("peak", peak), fed)


def bytes_in_flight(bandwidth: BytesPerSecond, latency: Seconds) -> Bytes:
    """Bytes that must be on their way at any moment, so that a memory or a link is never idle.

    Little's law: what enters in the time that each byte is on its way is what is on its way.

        N = bandwidth * latency

    Args:
        bandwidth: bytes per second to reach.
        latency: seconds from a request to the arrival of what it asked for, under that load.

    Source:
        Little, A Proof for the Queuing Formula L = λW, Operations Research 9(3), 1961.
    """
    return positive("bandwidth", bandwidth) * positive("latency", latency)


def roofline_time(flops: Flops, bytes: Bytes, peak: FlopsPerSecond, bandwidth: BytesPerSecond) -> Seconds:
    """Least time to compute and to move bytes, when both overlap fully.

        T = max(flops / peak, bytes / bandwidth)

    Convention:
        Full overlap of compute and memory traffic. Without overlap, the two times add up.

    Args:
        flops: computation.
        bytes: bytes read and written.
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    computing = positive("flops", flops) / positive("peak", peak)
    return max(computing, positive("bytes", bytes) / positive("bandwidth", bandwidth))


def matmul_flops(m: Count, n: Count, k: Count) -> Flops:
    """Computation of a product of an m by k matrix with a k by n matrix.

    Each of the m n results is a sum of k products.

        C = 2 m * n * k * 1 FLOP

    Convention:
        A multiply-add is two FLOP, as in datasheets.

    Args:
        m: rows of the result.
        n: columns of the result.
        k: length of each sum.

    Source:
        NVIDIA, Matrix Multiplication Background User's Guide, section 2.
    """
    return 2.0 * whole("m", m) * whole("n", n) * whole("k", k)


def matmul_bytes(m: Count, n: Count, k: Count, element_bytes: Bytes, count_output: bool = True) -> Bytes:
    """Least bytes that a matrix product moves.

    Both factors are read and the result is written, once each. A counts the result, I does not.

        A = (m * k + k * n + m * n) * element_bytes
        I = (m * k + k * n) * element_bytes

    Convention:
        A lower bound: with too small a cache, factors are read more than once. Some books count
        only reads, but the result has to be written too.

    Args:
        m: rows of the result.
        n: columns of the result.
        k: length of each sum.
        element_bytes: bytes of one number.
        count_output: whether writing the result counts.

    Source:
        NVIDIA, Matrix Multiplication Background User's Guide, section 2.
    """
    one_of("count_output", count_output, (False, True))
    rows, columns, depth = whole("m", m), whole("n", n), whole("k", k)
    elements = float(rows) * depth + float(depth) * columns
    elements += float(rows) * columns if count_output else 0.0
    return elements * positive("element_bytes", element_bytes)


def matmul_intensity(m: Count, n: Count, k: Count, element_bytes: Bytes, count_output: bool = True) -> FlopsPerByte:
    """Arithmetic intensity of a matrix product: FLOP per byte moved.

    C is the computation and V the traffic.

        C = 2 m * n * k * 1 FLOP
        V = (m * k + k * n + m * n) * element_bytes
        I = C / V

    Convention:
        The result counts unless *count_output* is off: 1,365 for 4096³ in 16 bits, and 2,048 with
        the factors alone.

    Args:
        m: rows of the result.
        n: columns of the result.
        k: length of each sum.
        element_bytes: bytes of one number.
        count_output: whether writing the result counts.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009 (intensity); NVIDIA, Matrix
        Multiplication Background User's Guide, section 2.
    """
    moved = matmul_bytes(m, n, k, element_bytes, count_output)
    return matmul_flops(m, n, k) / moved


def smallest_square_matmul(peak: FlopsPerSecond, bandwidth: BytesPerSecond, element_bytes: Bytes = 2) -> Count:
    """Side of the smallest square matrices whose product is compute-bound.

    2 n³ FLOP over 3 n² elements of e bytes is an intensity of 2 n / (3 e); it must reach the ridge.

        N = ceil(3 * element_bytes * peak / (2 * bandwidth * 1 FLOP))

    Convention:
        Factors read once, result written once, at the dense peak.

    Args:
        peak: dense peak FLOP per second of the GPU.
        bandwidth: bytes per second of its memory.
        element_bytes: bytes of one number.

    Source:
        Solved from Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    ridge = positive("peak", peak) / positive("bandwidth", bandwidth)
    side = 3 * positive("element_bytes", element_bytes) * ridge / 2
    return max(1, math.ceil(side * (1 - 1e-12)))


def elementwise_intensity(
    element_bytes: Bytes, reads: Count = 1, writes: Count = 1, operations: Count = 1
) -> FlopsPerByte:
    """Arithmetic intensity of an elementwise operation: FLOP per byte moved.

        I = operations * 1 FLOP / ((reads + writes) * element_bytes)

    Convention:
        Reads and writes both count: 0.25 for a ReLU in 16 bits, and 0.5 with reads alone.

    Args:
        element_bytes: bytes of one number.
        reads: numbers read per result.
        writes: numbers written per result; 0 if the result stays on the chip.
        operations: FLOP per result.

    Source:
        Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009.
    """
    moved = whole("reads", reads) + at_least("writes", whole("writes", writes, 0), 0)
    return whole("operations", operations) / (moved * positive("element_bytes", element_bytes))


def standard_attention_bytes(sequence: Count, head_size: Count, element_bytes: Bytes = 2) -> Bytes:
    """Bytes that unfused attention moves for one head, forward.

    Queries, keys and values are read once and the result is written once. The scores are written,
    read by the softmax, written again, and read for the product with the values.

        V = (4 sequence * head_size + 4 sequence^2) * element_bytes

    Convention:
        One head of one sequence, all scores; no dropout, and no mask in memory.

    Args:
        sequence: tokens of the sequence.
        head_size: size of the head.
        element_bytes: bytes of one number.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, algorithm 0 and theorem 2.
    """
    long, wide = whole("sequence", sequence), whole("head_size", head_size)
    return (4.0 * long * wide + 4.0 * long**2) * positive("element_bytes", element_bytes)


def flash_attention_bytes(sequence: Count, head_size: Count, on_chip_bytes: Bytes, element_bytes: Bytes = 2) -> Bytes:
    """Bytes that FlashAttention moves for one head, forward.

    A block of keys and values of C tokens stays on the chip while all queries are streamed
    through. For each of the T blocks, queries and partial results are read and results are
    written; for each token, two numbers of the softmax are read and written.

        C = ceil(on_chip_bytes / (4 head_size * element_bytes))
        T = ceil(sequence / C)
        V = (2 sequence * head_size + T * (3 sequence * head_size + 4 sequence)) * element_bytes

    Convention:
        Algorithm 1 as printed, where M is the on-chip memory in numbers, not bytes. Later versions
        keep the queries on the chip instead and write each result once.

    Args:
        sequence: tokens of the sequence.
        head_size: size of the head.
        on_chip_bytes: bytes of on-chip memory, at least one row of each of four blocks.
        element_bytes: bytes of one number.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, algorithm 1.
    """
    long, wide = whole("sequence", sequence), whole("head_size", head_size)
    each = positive("element_bytes", element_bytes)
    row = 4 * wide * each
    block = math.ceil(at_least("on_chip_bytes", on_chip_bytes, row) / row)
    blocks = -(-long // block)
    return (2.0 * long * wide + float(blocks) * long * (3 * wide + 4)) * each


def flash_attention_share(head_size: Count, on_chip_bytes: Bytes, element_bytes: Bytes = 2) -> Ratio:
    """Traffic of FlashAttention relative to unfused attention, up to a constant.

    N² d² / M over N², where M is the number of elements that fit on the chip.

        M = on_chip_bytes / element_bytes
        F = head_size^2 / M

    Convention:
        The ratio of the two orders of growth, for long sequences; M counts numbers, not bytes.
        Algorithm 1 itself tends to 3 F: it moves three arrays of N d for each of 4 N d / M blocks,
        where unfused attention moves 4 N². For its bytes see flash_attention_bytes.

    Args:
        head_size: size of the head.
        on_chip_bytes: bytes of on-chip memory.
        element_bytes: bytes of one number.

    Source:
        Dao et al., FlashAttention, arXiv:2205.14135, theorem 2.
    """
    numbers = positive("on_chip_bytes", on_chip_bytes) / positive("element_bytes", element_bytes)
    return float(whole("head_size", head_size)) ** 2 / numbers


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

    Source:
        Korthikanti et al., arXiv:2205.05198, section 6 and table 5; Chowdhery et al., arXiv:2204.02311, section 4.1.
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

    Source:
        NVIDIA, Matrix Multiplication Background User's Guide, sections on tile quantization and wave quantization.
    """
    high = -(-whole("rows", rows) // whole("tile_rows", tile_rows))
    wide = -(-whole("columns", columns) // whole("tile_columns", tile_columns))
    at_once = whole("processors", processors)
    tiles = int(high) * int(wide)
    return tiles / (at_once * -(-tiles // at_once))


def launch_bound_time(kernels: Count, launch_time: Seconds, device_time: Seconds) -> Seconds:
    """Time of a step of many short kernels, each of which the host has to launch.

    The host launches kernels one after another, ahead of the GPU that runs them. The slower of the two sets the pace.

        T = max(kernels * launch_time, device_time)

    Convention:
        The limit of many kernels of equal length. A captured graph launches all kernels at once, so
        that only the time of the device is left.

    Args:
        kernels: kernels of a step.
        launch_time: seconds that the host needs to launch one kernel.
        device_time: seconds that the GPU needs to run all of them.

    Source:
        PyTorch, Accelerating Generative AI with PyTorch II: GPT, Fast, 2023, section on the overhead of the host.
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

    Source:
        Little, A Proof for the Queuing Formula L = λW, Operations Research 9(3), 1961; Mohan et
        al., Analyzing and Mitigating Data Stalls in DNN Training, arXiv:2007.06775.
    """
    work = whole("samples", samples) * positive("sample_time", sample_time)
    return max(1, math.ceil(work / positive("step_time", step_time) * (1 - 1e-12)))
