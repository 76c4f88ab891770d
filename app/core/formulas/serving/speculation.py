"""Speculative decoding: a small model drafts tokens, the large one checks them in one pass."""

import math

from app.core.formulas.checks import at_least, whole
from app.core.formulas.refusals import too_large
from app.core.units import Count, Ratio


def speculative_tokens(acceptance: Ratio, drafted: Count) -> Ratio:
    """Expected tokens that a pass of the large model yields when it checks a draft.

    A drafted token counts if it and all before it are accepted, and the pass itself gives one more:
    the sum of acceptance^i for i from 0 to drafted.

        E = (1 - acceptance^(drafted + 1)) / (1 - acceptance)

    Convention:
        Each token is accepted with the same probability, independently. If all are accepted, the
        result is drafted + 1.

    Args:
        acceptance: probability that a drafted token is accepted.
        drafted: tokens that the small model drafts for each pass.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative Decoding,
        arXiv:2211.17192, equation 1.
    """
    terms = whole("drafted", drafted, 0) + 1
    chance = at_least("acceptance", acceptance, 0)
    if chance > 1:
        raise too_large("acceptance", acceptance, 1)
    if chance in (0, 1):
        return float(terms) if chance else 1.0
    return -math.expm1(terms * math.log(chance)) / (1 - chance)


def speculative_speedup(acceptance: Ratio, drafted: Count, draft_cost: Ratio) -> Ratio:
    """Expected factor by which drafting makes decoding faster.

    Without a draft, a pass yields one token. With it, a pass and its draft take 1 + drafted *
    draft_cost passes of time and yield E tokens.

        E = (1 - acceptance^(drafted + 1)) / (1 - acceptance)
        S = E / (1 + drafted * draft_cost)

    Convention:
        A pass over drafted + 1 tokens takes as long as one over a single token, which holds while
        reading the weights is the limit. If all are accepted, E is drafted + 1.

    Args:
        acceptance: probability that a drafted token is accepted.
        drafted: tokens that the small model drafts for each pass, one after the other.
        draft_cost: time to draft one token, relative to a pass of the large model.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Leviathan, Kalman and Matias, arXiv:2211.17192, theorem 3.8.
    """
    taken = 1 + whole("drafted", drafted, 0) * at_least("draft_cost", draft_cost, 0)
    return speculative_tokens(acceptance, drafted) / taken
