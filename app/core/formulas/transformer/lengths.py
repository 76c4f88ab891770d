"""Computation as it depends on the lengths of sequences."""

import math
from collections.abc import Sequence

from app.core.formulas.checks import one_of, several, whole
from app.core.units import Count, Flops, Ratio


def sequence_where_attention_equals(parameters_per_layer: Count, hidden: Count, causal: bool = False) -> Ratio:
    """Tokens of a sequence at which attention scores cost as much as a layer's weights.

    Per token, weights cost two FLOP per parameter. Scores and their products with the values cost
    4 s h, half of that with a causal mask: T is without a mask, C with it.

        C = parameters_per_layer / hidden
        T = parameters_per_layer / (2 hidden)

    Convention:
        Not rounded. For a layer of 12 h² parameters, 6 h without a mask and 12 h with one; the same
        forward and backward.

    Args:
        parameters_per_layer: parameters of a layer that process a token.
        hidden: size of all query heads together.
        causal: whether to count only the half of the scores that a causal mask keeps.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, appendix (both costs); solved for the length.
    """
    one_of("causal", causal, (False, True))
    each = whole("parameters_per_layer", parameters_per_layer) / whole("hidden", hidden)
    return each if causal else each / 2


def packed_flops(parameters: Count, layers: Count, hidden: Count, lengths: Sequence[Count]) -> Flops:
    """Computation of training on documents that are packed together but do not see each other.

    Six FLOP per parameter and token. A token's causal scores cost 6 layers * hidden FLOP for each
    token of its document, so they grow with the squares of the lengths: T is the sum of the
    lengths, Q that of their squares.

        F = (6 parameters * T + 6 layers * hidden * Q) * 1 FLOP

    Convention:
        Forward and backward, with a causal mask that keeps half of the scores, and with a mask of
        documents. Two packs of as many tokens may differ much.

    Args:
        parameters: parameters that process a token.
        layers: layers of the model.
        hidden: size of all query heads together.
        lengths: tokens of each document.

    Raises:
        ValueError: an argument is outside its domain, or there are no lengths.

    Source:
        Chowdhery et al., arXiv:2204.02311, appendix B, halved for the mask; Wang et al., WLB-LLM,
        arXiv:2503.17924 (imbalance of packed documents).
    """
    long = [1.0 * whole("lengths", one) for one in several("lengths", lengths)]
    scores = whole("layers", layers) * whole("hidden", hidden) * math.fsum(s * s for s in long)
    return 6.0 * whole("parameters", parameters) * math.fsum(long) + 6 * scores
