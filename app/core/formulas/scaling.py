"""The loss of a model by its size, its data and its computation.

A *law* is L = E + A / N^a + B / D^b for N parameters and D tokens; training takes 6 N D FLOP.
"""

import math
from typing import NamedTuple

from app.core.formulas.checks import at_least, positive, recorded
from app.core.formulas.presets import ScalingLaw
from app.core.translation import noted, value_error
from app.core.units import Flops, Ratio


class Optimum(NamedTuple):
    """A model and its data."""

    parameters: Ratio
    tokens: Ratio


def loss(parameters: Ratio, tokens: Ratio, law: ScalingLaw) -> Ratio:
    """Loss of a model of this size after this many tokens.

    A floor, what a model of finite size adds, and what finite data add.

        L = floor + size_scale / parameters^size_exponent + data_scale / tokens^data_exponent

    Convention:
        Nats per token, of the data and the tokenizer that the law was fitted to; every token is
        seen once.

    Args:
        parameters: parameters of the model.
        tokens: tokens of training.
        law: the constants of the law.

    Source:
        Hoffmann et al., Training Compute-Optimal Large Language Models, arXiv:2203.15556, equation 2.
    """
    found = recorded("law", law, ScalingLaw)
    size = found.size_scale / positive("parameters", parameters) ** found.size_exponent
    data = found.data_scale / positive("tokens", tokens) ** found.data_exponent
    return float(found.floor + size + data)


def optimum(flops: Flops, law: ScalingLaw) -> Optimum:
    """Parameters and tokens that reach the lowest loss with a budget of computation.

    Along 6 N D = C, the loss is lowest where a slightly larger model lowers one term by as much as
    it raises the other: a A / N^a = b B / D^b.

        ratio = size_exponent * size_scale / (data_exponent * data_scale)
        parameters = (ratio * (flops / 6 FLOP)^data_exponent)^(1 / (size_exponent + data_exponent))
        tokens = flops / 6 FLOP / parameters

    Convention:
        Training takes 6 FLOP per parameter and token; neither is rounded. Serving the model is not
        counted.

    Args:
        flops: computation for training.
        law: the constants of the law.

    Source:
        Hoffmann et al., arXiv:2203.15556, equation 4.
    """
    product = positive("flops", flops) / 6
    found = recorded("law", law, ScalingLaw)
    total = found.size_exponent + found.data_exponent
    parameters = _balance(found) * product ** (found.data_exponent / total)
    return Optimum(parameters, product / parameters)


def least_flops_for_loss(loss: Ratio, law: ScalingLaw) -> Flops:
    """Computation at the optimum that reaches a loss.

    At the optimum both terms fall as the same power of N D: the parameters are G (N D)^(b / (a +
    b)), and the loss exceeds its floor by (A / G^a + B G^b) / (N D)^(a b / (a + b)).

        G = (size_exponent * size_scale / (data_exponent * data_scale))^(1 / (size_exponent + data_exponent))
        X = (size_scale / G^size_exponent + data_scale * G^data_exponent) / (loss - floor)
        C = 6 FLOP * X^(1 / size_exponent + 1 / data_exponent)

    Convention:
        Training takes 6 FLOP per parameter and token. A loss above the floor is reached by some
        amount of computation, however large.

    Args:
        loss: the loss to reach, above the floor of the law.
        law: the constants of the law.

    Source:
        Solved from equations 2 and 4 of Hoffmann et al., arXiv:2203.15556.
    """
    found, target = recorded("law", law, ScalingLaw), positive("loss", loss)
    if target <= found.floor:
        form = noted("{name} must be above the floor of the law, {floor}, not {value}")
        raise value_error(form, name="loss", floor=f"{found.floor:g}", value=loss)
    at = _balance(found)
    scale = found.size_scale / at**found.size_exponent + found.data_scale * at**found.data_exponent
    power = 1 / found.size_exponent + 1 / found.data_exponent
    return float(6 * (scale / (target - found.floor)) ** power)


def overtraining_price(parameters: Ratio, tokens: Ratio, law: ScalingLaw) -> Ratio:
    """Training computation over the least that reaches the same loss.

    L is the loss of the run, G and X those of least_flops_for_loss.

        L = floor + size_scale / parameters^size_exponent + data_scale / tokens^data_exponent
        G = (size_exponent * size_scale / (data_exponent * data_scale))^(1 / (size_exponent + data_exponent))
        X = (size_scale / G^size_exponent + data_scale * G^data_exponent) / (L - floor)
        P = parameters * tokens / X^(1 / size_exponent + 1 / data_exponent)

    Convention:
        1 at the optimum, and more both for a model that is too small and for one that is too large.
        Training alone: the price buys a model that is cheaper to serve.

    Args:
        parameters: parameters of the model.
        tokens: tokens of training.
        law: the constants of the law.

    Source:
        Solved from equations 2 and 4 of Hoffmann et al., arXiv:2203.15556; the trade is that of
        Sardana et al., Beyond Chinchilla-Optimal, arXiv:2401.00448.
    """
    spent = 6 * positive("parameters", parameters) * positive("tokens", tokens)
    return spent / least_flops_for_loss(loss(parameters, tokens, law), law)


def _balance(law: ScalingLaw) -> float:
    """The parameters at the optimum over N D to the b / (a + b)."""
    total = law.size_exponent + law.data_exponent
    sides = law.size_exponent * law.size_scale / (law.data_exponent * law.data_scale)
    return float(sides ** (1 / total))


def effective_tokens(unique: Ratio, epochs: Ratio, constant: Ratio = 15.4) -> Ratio:
    """Tokens of new data that teach as much as several epochs over the same data.

    The first pass counts in full. Each further one is worth less, by a rate that decays with the repetitions.

        R = epochs - 1
        T = unique * (1 + constant * (1 - exp(-R / constant)))

    Convention:
        Repetitions are epochs less one. However many there are, they are worth at most *constant*
        times the unique tokens. At as many repetitions as the constant, a repeated token is worth
        63 % of a new one on average.

    Args:
        unique: tokens in the data set.
        epochs: passes over it, at least one; the last one may be cut short.
        constant: repetitions after which further ones hardly count (fitted: 15.39).

    Source:
        Muennighoff et al., Scaling Data-Constrained Language Models, arXiv:2305.16264, section 3.1
        and appendix A (R*_D = 15.387756).
    """
    repeated, worth = at_least("epochs", epochs, 1) - 1, positive("constant", constant)
    return positive("unique", unique) * (1 - worth * math.expm1(-repeated / worth))
