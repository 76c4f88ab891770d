"""The noise of a gradient, and the batch up to which averaging is worthwhile."""

from app.core.formulas.checks import positive
from app.core.formulas.refusals import not_below
from app.core.translation import say
from app.core.units import Ratio

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
        McCandlish et al., An Empirical Model of Large-Batch Training, arXiv:1812.06162, appendix
        A.1.
    """
    few, many = positive("small_batch", small_batch), positive("large_batch", large_batch)
    rough = positive("small_norm_squared", small_norm_squared)
    fine = positive("large_norm_squared", large_norm_squared)
    if few >= many:
        raise not_below("small_batch", small_batch, "large_batch", f"{many:g}")
    if not few / many * rough < fine <= rough:
        raise ValueError(
            say(
                "{name} must be above {least} (all noise) and at most {most} (no noise), not {value}",
                name="large_norm_squared",
                least=f"{few / many * rough:g}",
                most=f"{rough:g}",
                value=large_norm_squared,
            )
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
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 5.1,
        equation 5.3.
    """
    if not _LEAST_LOSS <= positive("loss", loss) <= _MOST_LOSS:
        raise ValueError(
            say(
                "{name} must be from {least} to {most} nats per token, not {value}",
                name="loss",
                least=_LEAST_LOSS,
                most=_MOST_LOSS,
                value=loss,
            )
        )
    return float(2e8 / loss ** (1 / 0.21))
