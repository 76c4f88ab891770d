"""Learning rates over the steps of a run."""

import math

from app.core.formulas.checks import at_least, positive, whole
from app.core.formulas.refusals import larger_than, not_below
from app.core.translation import noted
from app.core.units import Count, Ratio


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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Loshchilov and Hutter, SGDR, arXiv:1608.03983, equation 5; Grattafiori et al.,
        arXiv:2407.21783, section 3.4.1.
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

    Raises:
        ValueError: an argument is outside its domain.

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
