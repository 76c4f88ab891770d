"""Computation of a training run, and how to spend a budget of it."""

import math
from typing import NamedTuple

from app.core.formulas.checks import at_least, positive, whole
from app.core.units import Count, Flops, Ratio

_PETAFLOP_DAY = 1e15 * 86400


class Optimum(NamedTuple):
    """The best number of parameters and training tokens for a budget."""

    parameters: Ratio
    tokens: Ratio


def training_flops(parameters: Count, tokens: Ratio) -> Flops:
    """Computation of a training run.

    One multiplication and one addition per parameter and token forward, and twice that backward.

        C = 6 * parameters * tokens * 1 FLOP

    Convention:
        Attention scores are not counted: see attention_share. For a mixture of experts, use the
        active parameters. The result is model FLOP: recomputation is not included.

    Args:
        parameters: parameters that process a token.
        tokens: tokens of training.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 2.1.
    """
    return 6.0 * whole("parameters", parameters) * at_least("tokens", tokens, 0)


def petaflop_days(flops: Flops) -> Ratio:
    """Days that the computation would take at one petaFLOP per second.

    A day has 86,400 seconds, so a petaFLOP/s-day is 8.64e19 FLOP.

        D = flops / 1 PF-days

    Convention:
        A measure of work, not of time: it does not depend on utilization.

    Args:
        flops: computation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Brown et al., GPT-3, arXiv:2005.14165, table D.1.
    """
    return positive("flops", flops) / _PETAFLOP_DAY


def compute_optimal(flops: Flops, tokens_per_parameter: Ratio = 20) -> Optimum:
    """Best parameters and tokens for a budget that is spent on training alone.

    The best number of tokens is proportional to the best number of parameters, so 6 N D with
    D = k N is solved for N.

        N = sqrt(flops / (6 FLOP * tokens_per_parameter))
        D = tokens_per_parameter * N

    Convention:
        About 20 tokens per parameter is the rule of Chinchilla's first approach. It ignores the
        cost of serving, for which models are trained far longer.

    Args:
        flops: computation of training.
        tokens_per_parameter: best number of tokens per parameter.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Hoffmann et al., Training Compute-Optimal Large Language Models, arXiv:2203.15556, table 3.
    """
    each = positive("tokens_per_parameter", tokens_per_parameter)
    parameters = math.sqrt(positive("flops", flops) / (6 * each))
    return Optimum(parameters, each * parameters)
