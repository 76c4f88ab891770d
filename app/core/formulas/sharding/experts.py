"""Expert parallelism: traffic, capacity, and load imbalance."""

import math
from collections.abc import Sequence

from app.core.formulas.checks import at_least, chosen_experts, positive, several, whole
from app.core.translation import say
from app.core.units import Bytes, Count, Ratio


def expert_all_to_all_bytes(tokens: Count, hidden: Count, top_k: Count, element_bytes: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends to dispatch its tokens to their experts.

    A copy of a token goes to each of its experts; with even routing, one in *ranks* copies stays
    on its own rank.

        V = tokens * top_k * hidden * element_bytes * (ranks - 1) / ranks

    Convention:
        One way, in one layer: returning the results costs as much again, in its own number format,
        and the backward pass repeats both. Here, a token with several experts on one rank is sent
        once for each of them; DeepSeek-V3 sends it once per node.

    Args:
        tokens: tokens of one rank.
        hidden: hidden size of the model.
        top_k: experts that each token is sent to.
        element_bytes: bytes of one number.
        ranks: ranks that the experts are spread over.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Lepikhin et al., GShard, arXiv:2006.16668, section 3.2; DeepSeek-V3 Technical Report,
        arXiv:2412.19437, section 3.2.2.
    """
    copies = whole("tokens", tokens) * whole("top_k", top_k)
    size = float(copies * whole("hidden", hidden)) * positive("element_bytes", element_bytes)
    return size * (whole("ranks", ranks) - 1) / ranks


def expert_capacity(tokens: Count, experts: Count, top_k: Count, factor: Ratio = 1.0) -> Count:
    """Most tokens that an expert accepts.

    Its even share of all copies of tokens, times a capacity factor; tokens beyond that are dropped
    or rerouted.

        C = ceil(tokens * top_k * factor / experts)

    Convention:
        Rounded up. Implementations round differently, which matters only for small batches.

    Args:
        tokens: tokens that are routed together.
        experts: experts that they are spread over.
        top_k: experts that each token is sent to; at most all of them.
        factor: capacity relative to an even share.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Fedus et al., Switch Transformers, arXiv:2101.03961, section 2.2, equation 3.
    """
    among = whole("experts", experts)
    copies = whole("tokens", tokens) * chosen_experts(top_k, among)
    share = copies * positive("factor", factor) / among
    return max(1, math.ceil(share * (1 - 1e-12)))


def expert_imbalance(loads: Sequence[Ratio]) -> Ratio:
    """Load of the busiest expert, relative to the mean load.

    All ranks wait for the busiest expert, so this is the factor by which imbalance slows a layer.

        I = largest / mean

    Convention:
        1 is perfect balance; the number of experts if one expert gets every token.

    Args:
        loads: tokens of each expert, not all zero.

    Raises:
        ValueError: *loads* is empty, or a load is outside its domain.

    Source:
        Lepikhin et al., GShard, arXiv:2006.16668, section 2.2 (load balance).
    """
    several("loads", loads)
    largest = max(at_least("loads", load, 0) for load in loads)
    if not largest:
        raise ValueError(say("{name} must not all be 0, but {count} of them are", name="loads", count=len(loads)))
    return largest * len(loads) / math.fsum(loads)
