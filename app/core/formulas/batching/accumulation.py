"""Gradient accumulation, sequences per second, and the share of a step that is communication."""

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Count, PerSecond, Ratio, Seconds


def effective_batch(micro_batch: Count, accumulation: Count, data_parallel: Count) -> Count:
    """Sequences in one optimizer step.

    Each data-parallel rank processes its micro-batches one after another, and all ranks together
    make one step.

        B = micro_batch * accumulation * data_parallel

    Convention:
        Counted in sequences; multiply by the sequence length for tokens. Ranks that share one
        copy of the model (tensor, pipeline) count once.

    Args:
        micro_batch: sequences in one forward and backward pass of a rank.
        accumulation: micro-batches that a rank accumulates per step.
        data_parallel: copies of the model that work in parallel.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; Goyal et al., Accurate, Large Minibatch SGD,
        arXiv:1706.02677, section 3 (n workers with k samples each).
    """
    return (
        whole("micro_batch", micro_batch) * whole("accumulation", accumulation) * whole("data_parallel", data_parallel)
    )


def accumulation_steps(target_batch: Count, micro_batch: Count, data_parallel: Count) -> Count:
    """Fewest micro-batches per rank with which a step reaches the target batch.

    If the target does not divide evenly, one more is needed, and the effective batch is a little
    larger than the target.

        m = ceil(target_batch / (micro_batch * data_parallel))

    Convention:
        Rounded up. A framework that rounds down trains on a smaller batch than the target.

    Args:
        target_batch: least number of sequences per step.
        micro_batch: sequences in one forward and backward pass of a rank.
        data_parallel: copies of the model that work in parallel.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition of the effective batch.
    """
    at_once = whole("micro_batch", micro_batch) * whole("data_parallel", data_parallel)
    return -(-whole("target_batch", target_batch) // at_once)


def accumulated_step_time(micro_time: Seconds, accumulation: Count, all_reduce_time: Seconds) -> Seconds:
    """Time of a step that accumulates micro-batches and reduces the gradients once.

    The micro-batches run one after another; the sum of their gradients is reduced after the last.

        T = accumulation * micro_time + all_reduce_time

    Convention:
        Nothing overlaps: the whole all-reduce is exposed.

    Args:
        micro_time: seconds of one forward and backward pass.
        accumulation: micro-batches that a rank accumulates per step.
        all_reduce_time: seconds of one all-reduce of the gradients.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; PyTorch, DistributedDataParallel.no_sync (gradients are
        reduced by the first backward pass outside of it).
    """
    passes = whole("accumulation", accumulation) * positive("micro_time", micro_time)
    return passes + at_least("all_reduce_time", all_reduce_time, 0)


def accumulation_saving(accumulation: Count, all_reduce_time: Seconds) -> Seconds:
    """Time that a step saves by reducing once instead of after every micro-batch.

    One all-reduce remains; all others are saved.

        T = (accumulation - 1) all_reduce_time

    Convention:
        Per optimizer step, with nothing overlapped in either case.

    Args:
        accumulation: micro-batches that a rank accumulates per step.
        all_reduce_time: seconds of one all-reduce of the gradients.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition; PyTorch, DistributedDataParallel.no_sync.
    """
    saved = whole("accumulation", accumulation) - 1
    return saved * at_least("all_reduce_time", all_reduce_time, 0)


def sequences_per_second(batch: Count, step_time: Seconds) -> PerSecond:
    """Sequences per second that training processes.

        R = batch / step_time

    Convention:
        The whole run: *batch* is the effective batch of all ranks, not that of one rank.

    Args:
        batch: sequences of one optimizer step, over all ranks.
        step_time: seconds of one optimizer step.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    return whole("batch", batch) / positive("step_time", step_time)


def communication_share(compute_time: Seconds, communication_time: Seconds) -> Ratio:
    """Share of a step that is communication, when nothing overlaps.

        f = communication_time / (compute_time + communication_time)

    Convention:
        A share of the step, not of the computation: 50 ms after 120 ms are 29.4 %, not 41.7 %.

    Args:
        compute_time: seconds of a step spent computing.
        communication_time: seconds of a step spent communicating, not hidden by computation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        From the definition.
    """
    communication = at_least("communication_time", communication_time, 0)
    return communication / (positive("compute_time", compute_time) + communication)
