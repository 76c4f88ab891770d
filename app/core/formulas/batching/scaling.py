"""How the rate, the decay of moments, the steps and the examples change with the batch."""

import math

from app.core.formulas.checks import fraction, positive
from app.core.units import Ratio


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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Malladi et al., On the SDEs and Scaling Rules for Adaptive Gradient Algorithms,
        arXiv:2205.10287.
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

    Raises:
        ValueError: an argument is outside its domain.

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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162,
        section 2.
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

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162,
        section 2.
    """
    both = positive("batch", batch) + positive("critical_batch", critical_batch)
    return positive("minimum_steps", minimum_steps) * both


def _growth(base_batch: float, batch: float) -> float:
    return positive("batch", batch) / positive("base_batch", base_batch)
