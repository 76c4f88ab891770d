"""Computation of a whole run, and how to spend it."""

import math
from typing import NamedTuple

from app.formulas.checks import at_least, positive, whole
from app.units import Count, Flops, Ratio

_PETAFLOP_DAY = 1e15 * 86400


class Optimum(NamedTuple):
    """The best size of a model for a budget, and the tokens to train it on."""

    parameters: Ratio
    tokens: Ratio


def training_flops(parameters: Count, tokens: Ratio) -> Flops:
    """Computation of training on so many tokens.

    A multiplication and an addition with each parameter forward, and twice that backward.

        C = 6 * parameters * tokens * 1 FLOP

    Convention:
        Without attention's own products; see attention_share. Of a mixture of experts the active
        parameters count. It is model FLOP: recomputation does not add to it.

    Args:
        parameters: parameters that a token meets.
        tokens: tokens of training.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 2.1.
    """
    return 6.0 * whole("parameters", parameters) * at_least("tokens", tokens, 0)


def petaflop_days(flops: Flops) -> Ratio:
    """Days that one petaFLOP per second would take.

    A day has 86,400 seconds, so a petaFLOP-day is 8.64e19 FLOP.

        D = flops / 1 PF-days

    Convention:
        A measure of work, not of time: it says nothing of utilization.

    Args:
        flops: computation.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Brown et al., GPT-3, arXiv:2005.14165, table D.1.
    """
    return positive("flops", flops) / _PETAFLOP_DAY


def compute_optimal(flops: Flops, tokens_per_parameter: Ratio = 20) -> Optimum:
    """Parameters and tokens that make the best of a budget for training alone.

    The best tokens grow in step with the best parameters, so 6 N D with D = k N is solved for N.

        N = sqrt(flops / (6 FLOP * tokens_per_parameter))
        D = tokens_per_parameter * N

    Convention:
        About 20 tokens a parameter is the rule read off Chinchilla's first approach. It leaves out
        what is served later: models are trained far longer for that.

    Args:
        flops: computation of training.
        tokens_per_parameter: tokens for each parameter at the best.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Hoffmann et al., Training Compute-Optimal Large Language Models, arXiv:2203.15556, table 3.
    """
    each = positive("tokens_per_parameter", tokens_per_parameter)
    parameters = math.sqrt(positive("flops", flops) / (6 * each))
    return Optimum(parameters, each * parameters)
