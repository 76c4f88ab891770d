"""The probability that one of several answers is correct."""

from app.core.formulas.checks import whole
from app.core.formulas.refusals import larger_than, too_large
from app.core.translation import noted
from app.core.units import Count, Ratio

_MOST = 10**6


def pass_at_k(samples: Count, correct: Count, k: Count) -> Ratio:
    """Unbiased estimate of the probability that at least one of k answers is correct.

    One minus the share of the ways to pick k samples that pick only wrong ones. W are the wrong
    samples; the product runs over i from W + 1 to samples.

        W = samples - correct
        P = 1 - product

    where product is that of 1 - k / i, which is C(W, k) / C(samples, k) without large numbers.

    Convention:
        Unbiased for any number of samples of at least k. The simpler 1 - (1 - c/n)^k is biased:
        too low.

    Args:
        samples: answers that were drawn and checked.
        correct: how many of them are correct.
        k: answers that are picked, at most as many as samples.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374, section
        2.1, equation 1 and figure 3.
    """
    drawn, right = whole("samples", samples), whole("correct", correct, 0)
    if drawn > _MOST:
        raise too_large("samples", samples, f"{_MOST:,}")
    if right > drawn:
        raise larger_than("correct", correct, noted("the samples"), drawn)
    if whole("k", k) > drawn:
        raise larger_than("k", k, noted("the samples"), drawn)
    if drawn - right < k:
        return 1.0
    missed = 1.0
    for place in range(drawn - right + 1, drawn + 1):
        missed *= 1 - k / place
    return 1 - missed
