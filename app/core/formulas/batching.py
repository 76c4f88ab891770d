"""What one optimizer step takes in, and how long it takes, when micro-batches are accumulated."""

import math

from app.core.formulas.checks import at_least, fraction, larger_than, not_below, positive, whole
from app.core.translation import noted, value_error
from app.core.units import Count, PerSecond, Ratio, Seconds

_LEAST_LOSS, _MOST_LOSS = 0.001, 1000.0


def gradient_noise_scale(
    small_batch: Ratio, large_batch: Ratio, small_norm_squared: Ratio, large_norm_squared: Ratio
) -> Ratio:
    """Batch at which noise and signal of a gradient are equal, from its norm at two batches.

    The squared norm of an averaged gradient is that of the true gradient, G, plus noise S over
    the batch. Two batches give two equations.

        E = large_batch * large_norm_squared - small_batch * small_norm_squared
        G = E / (large_batch - small_batch)
        S = (small_norm_squared - large_norm_squared) / (1 / small_batch - 1 / large_batch)
        B = S / G

    Convention:
        The simple noise scale, in the unit of the batches. Average G and S over many steps before
        dividing: the ratio of a single step is biased. The noise scale grows as the loss falls.

    Args:
        small_batch: a batch, such as that of one rank.
        large_batch: a larger one, such as that of all ranks.
        small_norm_squared: mean squared norm of the gradient of small batches.
        large_norm_squared: that of large batches, which is not larger.

    Raises:
        ValueError: an argument is outside its domain, or no signal is left.

    Source:
        McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162, appendix A.1.
    """
    few, many = positive("small_batch", small_batch), positive("large_batch", large_batch)
    rough = positive("small_norm_squared", small_norm_squared)
    fine = positive("large_norm_squared", large_norm_squared)
    if few >= many:
        raise not_below("small_batch", small_batch, "large_batch", f"{many:g}")
    if not few / many * rough < fine <= rough:
        raise value_error(
            "{name} must be above {least} (all noise) and at most {most} (no noise), not {value}",
            name="large_norm_squared",
            least=f"{few / many * rough:g}",
            most=f"{rough:g}",
            value=large_norm_squared,
        )
    signal = (many * fine - few * rough) / (many - few)
    return (rough - fine) / (1 / few - 1 / many) / signal


def critical_batch(loss: Ratio) -> Ratio:
    """Batch, in tokens, beyond which a larger batch hardly saves steps.

    A power law in the loss that has been reached, independent of the size of the model.

        B = 2e8 / loss^(1 / 0.21)

    Convention:
        In tokens, with the loss in nats per token on the paper's data: 1.07 million at a loss of
        3.0, 3.8 million at 2.3, 7.4 million at 2.0.

    Args:
        loss: loss that has been reached, in nats per token.

    Raises:
        ValueError: *loss* is outside its domain.

    Source:
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 5.1, equation 5.3.
    """
    if not _LEAST_LOSS <= positive("loss", loss) <= _MOST_LOSS:
        form = noted("{name} must be from {least} to {most} nats per token, not {value}")
        raise value_error(form, name="loss", least=_LEAST_LOSS, most=_MOST_LOSS, value=loss)
    return float(2e8 / loss ** (1 / 0.21))


def linear_scaled_rate(base_rate: Ratio, base_batch: Ratio, batch: Ratio) -> Ratio:
    """Learning rate for another batch, by the linear rule.

    As long as the gradient hardly changes, k small steps move the weights as far as one step
    with k times the batch and k times the rate.

        R = base_rate * batch / base_batch

    Convention:
        The rule for plain SGD with a warm-up, below the critical batch. For Adam see
        square_root_scaled_rate.

    Args:
        base_rate: tuned learning rate.
        base_batch: batch that it was tuned for.
        batch: batch to train with.

    Source:
        Goyal et al., Accurate, Large Minibatch SGD, arXiv:1706.02677, section 2.1.
    """
    return positive("base_rate", base_rate) * _growth(base_batch, batch)


def square_root_scaled_rate(base_rate: Ratio, base_batch: Ratio, batch: Ratio) -> Ratio:
    """Learning rate for another batch, by the square-root rule.

    The noise of an averaged gradient falls with the square root of the batch; this rule keeps
    the noise of a step constant.

        R = base_rate * sqrt(batch / base_batch)

    Convention:
        The rule for adaptive optimizers such as Adam, whose step length does not depend on the
        size of the gradient. For plain SGD see linear_scaled_rate.

    Args:
        base_rate: tuned learning rate.
        base_batch: batch that it was tuned for.
        batch: batch to train with.

    Source:
        Malladi et al., On the SDEs and Scaling Rules for Adaptive Gradient Algorithms, arXiv:2205.10287.
    """
    return positive("base_rate", base_rate) * math.sqrt(_growth(base_batch, batch))


def scaled_decay(decay: Ratio, base_batch: Ratio, batch: Ratio) -> Ratio:
    """Decay of a moving average for another batch, with the same memory in tokens.

    A step multiplies what is remembered by the decay. One step of the tuned batch and the smaller
    or larger steps over the same tokens should leave the same share.

        D = decay^(batch / base_batch)

    Convention:
        For Adam's beta 2, at least where the batch shrinks. Its half-life stays the same in
        tokens.

    Args:
        decay: tuned decay per step.
        base_batch: batch that it was tuned for.
        batch: batch to train with.

    Source:
        Marek et al., Small Batch Size Training for Language Models, arXiv:2507.07101.
    """
    return float(fraction("decay", decay) ** _growth(base_batch, batch))


def steps_to_target(batch: Ratio, critical_batch: Ratio, minimum_steps: Ratio) -> Ratio:
    """Optimizer steps to a given loss at a finite batch.

    A step with a small batch is noisy and makes less progress than one with the true gradient: at
    the critical batch, half as much.

        S = minimum_steps * (1 + critical_batch / batch)

    Convention:
        Both batches in the same unit, sequences or tokens. The critical batch depends on the loss
        that has been reached, not on the model's size.

    Args:
        batch: batch to train with.
        critical_batch: batch at which twice the minimum number of steps is needed.
        minimum_steps: steps that an unlimited batch would need.

    Source:
        McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162, section 2.
    """
    noise = positive("critical_batch", critical_batch) / positive("batch", batch)
    return positive("minimum_steps", minimum_steps) * (1 + noise)


def examples_to_target(batch: Ratio, critical_batch: Ratio, minimum_steps: Ratio) -> Ratio:
    """Training examples to a given loss.

    The required steps times the batch: never fewer than the critical batch times the minimum
    number of steps, however small the batch.

        E = minimum_steps * (batch + critical_batch)

    Convention:
        In the unit of the two batches, sequences or tokens.

    Args:
        batch: batch to train with.
        critical_batch: batch at which twice the minimum number of steps is needed.
        minimum_steps: steps that an unlimited batch would need.

    Source:
        McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162, section 2.
    """
    both = positive("batch", batch) + positive("critical_batch", critical_batch)
    return positive("minimum_steps", minimum_steps) * both


def _growth(base_batch: float, batch: float) -> float:
    return positive("batch", batch) / positive("base_batch", base_batch)


def warmup_steps(base_batch: Ratio, batch: Ratio, base_steps: Ratio = 1000) -> Ratio:
    """Steps of warm-up for another batch, by the linear rule of thumb.

        W = base_steps * batch / base_batch

    Convention:
        A heuristic that no paper derives, in steps of the new run. Goyal et al. warm up for five
        epochs at every batch, Llama 3 405B for 8,000 of 1.2 million steps. Not rounded to whole
        steps.

    Args:
        base_batch: batch for which *base_steps* is right.
        batch: batch to train with.
        base_steps: steps of warm-up at the base batch.

    Source:
        A rule of thumb; for contrast Goyal et al., arXiv:1706.02677, section 2.2, and Grattafiori
        et al., arXiv:2407.21783, section 3.4.1.
    """
    growth = positive("batch", batch) / positive("base_batch", base_batch)
    return positive("base_steps", base_steps) * growth


def cosine_rate(step: Count, total_steps: Count, peak: Ratio, floor: Ratio = 0.0, warmup: Count = 0) -> Ratio:
    """Learning rate at a step of a schedule of linear warm-up and cosine decay.

    The rate rises linearly to the peak, then decays along half a cosine, which is flat at both
    ends. U is the rate during the warm-up, D after it; cos takes radians.

        U = peak * step / warmup
        D = floor + (peak - floor) / 2 * (1 + cosine)

    where cosine is that of pi (step - warmup) / (total_steps - warmup).

    Convention:
        From 0 at step 0; the peak is reached at step *warmup*, the floor at the last step. The
        decay should end with the run: a longer one never reaches the floor.

    Args:
        step: step, from 0 to *total_steps*.
        total_steps: last step of the decay.
        peak: largest rate.
        floor: rate at the end, at most the peak.
        warmup: steps of warm-up, fewer than *total_steps*.

    Source:
        Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5; Grattafiori et al., arXiv:2407.21783, section 3.4.1.
    """
    last, ahead, high, low = _plan(total_steps, peak, floor, warmup)
    now = whole("step", step, 0)
    if now > last:
        raise larger_than("step", step, "total_steps", last)
    if now < ahead:
        return high * now / ahead
    turned = math.cos(math.pi * (now - ahead) / (last - ahead))
    return low + (high - low) / 2 * (1 + turned)


def rate_exposure(total_steps: Count, peak: Ratio, floor: Ratio = 0.0, warmup: Count = 0) -> Ratio:
    """Learning rate summed over a schedule of linear warm-up and cosine decay.

    The area under a triangle, and under a cosine whose mean is half-way between peak and floor.

        X = peak * warmup / 2 + (peak + floor) / 2 * (total_steps - warmup)

    Convention:
        The integral over steps, which equals the sum of all rates if the first and the last count
        half. A run on the same tokens with batch and rate both doubled has the same exposure.

    Args:
        total_steps: last step of the decay.
        peak: largest rate.
        floor: rate at the end, at most the peak.
        warmup: steps of warm-up, fewer than *total_steps*.

    Source:
        Integrated from Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5.
    """
    last, ahead, high, low = _plan(total_steps, peak, floor, warmup)
    return high * ahead / 2 + (high + low) / 2 * (last - ahead)


def _plan(total_steps: Count, peak: Ratio, floor: Ratio, warmup: Count) -> tuple[int, int, float, float]:
    last, ahead = whole("total_steps", total_steps), whole("warmup", warmup, 0)
    high, low = positive("peak", peak), at_least("floor", floor, 0)
    if ahead >= last:
        raise not_below("warmup", warmup, "total_steps", last)
    if low > high:
        raise larger_than("floor", floor, noted("the peak"), f"{high:g}")
    return last, ahead, high, low


def effective_batch(micro_batch: Count, accumulation: Count, data_parallel: Count) -> Count:
    """Sequences in one optimizer step.

    Each data-parallel rank processes its micro-batches one after another, and all ranks together make one step.

        B = micro_batch * accumulation * data_parallel

    Convention:
        Counted in sequences; multiply by the sequence length for tokens. Ranks that share one
        copy of the model (tensor, pipeline) count once.

    Args:
        micro_batch: sequences in one forward and backward pass of a rank.
        accumulation: micro-batches that a rank accumulates per step.
        data_parallel: copies of the model that work in parallel.

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

    Source:
        From the definition.
    """
    communication = at_least("communication_time", communication_time, 0)
    return communication / (positive("compute_time", compute_time) + communication)
