"""Learning rates over the steps of a run."""

import math

from app.formulas.checks import at_least, positive, whole
from app.units import Count, Ratio


def warmup_steps(base_batch: Ratio, batch: Ratio, base_steps: Ratio = 1000) -> Ratio:
    """Steps of warm-up for another batch, by the linear rule of thumb.

        W = base_steps * batch / base_batch

    Convention:
        A heuristic, in steps of the new run, that no paper derives: Goyal et al. warm up for five
        epochs at every batch, Llama 3 405B did for 8,000 of 1.2 million steps. Not rounded to
        whole steps.

    Args:
        base_batch: batch for which base_steps are right.
        batch: batch to train with.
        base_steps: steps of warm-up at the base batch.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        A rule of thumb; for contrast Goyal et al., arXiv:1706.02677, section 2.2, and Grattafiori
        et al., arXiv:2407.21783, section 3.4.1.
    """
    growth = positive("batch", batch) / positive("base_batch", base_batch)
    return positive("base_steps", base_steps) * growth


def cosine_rate(
    step: Count, total_steps: Count, peak: Ratio, floor: Ratio = 0.0, warmup: Count = 0
) -> Ratio:
    """Learning rate at a step of a linear warm-up and a cosine decay.

    Up in a straight line to the peak; down along half a cosine, which is level at both ends. U is
    the rate during the warm-up, D after it; cos takes radians.

        U = peak * step / warmup
        D = floor + (peak - floor) / 2 * (1 + cosine)

    where cosine is that of pi (step - warmup) / (total_steps - warmup).

    Convention:
        From 0 at step 0; the peak is reached at step *warmup*, the floor at the last. The decay has
        to end where the run ends: one that is planned longer never comes down.

    Args:
        step: which step, from 0 to the last.
        total_steps: last step of the decay.
        peak: largest rate.
        floor: rate at the end, at most the peak.
        warmup: steps of warm-up, fewer than all.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5; Grattafiori et al.,
        arXiv:2407.21783, section 3.4.1.
    """
    last, ahead, high, low = _plan(total_steps, peak, floor, warmup)
    now = whole("step", step, 0)
    if now > last:
        raise ValueError(f"step must be at most total_steps, {last}, not {step!r}")
    if now < ahead:
        return high * now / ahead
    turned = math.cos(math.pi * (now - ahead) / (last - ahead))
    return low + (high - low) / 2 * (1 + turned)


def rate_exposure(total_steps: Count, peak: Ratio, floor: Ratio = 0.0, warmup: Count = 0) -> Ratio:
    """Area under a schedule of warm-up and cosine decay: rate times steps.

    A triangle, and a cosine whose mean is half-way between peak and floor.

        X = peak * warmup / 2 + (peak + floor) / 2 * (total_steps - warmup)

    Convention:
        The integral over steps, which is also the sum of all rates when the first and the last
        count half. Two runs that see the same tokens with batch and rate both doubled have the same
        exposure.

    Args:
        total_steps: last step of the decay.
        peak: largest rate.
        floor: rate at the end, at most the peak.
        warmup: steps of warm-up, fewer than all.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Integrated from Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5.
    """
    last, ahead, high, low = _plan(total_steps, peak, floor, warmup)
    return high * ahead / 2 + (high + low) / 2 * (last - ahead)


def _plan(
    total_steps: Count, peak: Ratio, floor: Ratio, warmup: Count
) -> tuple[int, int, float, float]:
    last, ahead = whole("total_steps", total_steps), whole("warmup", warmup, 0)
    high, low = positive("peak", peak), at_least("floor", floor, 0)
    if ahead >= last:
        raise ValueError(f"warmup must be below total_steps, {last}, not {warmup!r}")
    if low > high:
        raise ValueError(f"floor must be at most the peak, {high:g}, not {floor!r}")
    return last, ahead, high, low
