"""The bubble of GPipe, 1F1B and interleaved 1F1B, in its two conventions."""

from fractions import Fraction

from app.core.formulas.checks import one_of, positive, whole
from app.core.translation import say
from app.core.units import Count, Ratio


def bubble_ratio(stages: Count, microbatches: Count, virtual: Count = 1) -> Ratio:
    """Idle time of a pipeline stage, relative to the time of its work.

    A stage waits for the first micro-batch to reach it and for the last gradient to come back:
    stages - 1 forward and backward passes in total, each 1 / virtual as long if a device holds
    that many chunks. Its work is all micro-batches.

        r = (stages - 1) / (virtual * microbatches)

    Convention:
        Idle over ideal time, as in Megatron-LM and the Llama 3 report. It may exceed 1; it is not a
        share of the step. For that see bubble_fraction. GPipe and 1F1B have the same ratio.

    Args:
        stages: devices of the pipeline.
        microbatches: micro-batches per step.
        virtual: chunks of layers that each device holds.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters,
        arXiv:2104.04473, sections 2.2.1 and 2.2.2.
    """
    waits = whole("stages", stages) - 1
    return waits / (whole("virtual", virtual) * whole("microbatches", microbatches))


def bubble_fraction(stages: Count, microbatches: Count, virtual: Count = 1) -> Ratio:
    """Share of a step in which a pipeline stage is idle.

    The idle time of stages - 1 passes, over the sum of idle time and work.

        f = (stages - 1) / (virtual * microbatches + stages - 1)

    Convention:
        Idle over the whole step, as in the GPipe and zero-bubble papers; below 1. bubble_ratio, r,
        is the same bubble over ideal time: f = r / (1 + r).

    Args:
        stages: devices of the pipeline.
        microbatches: micro-batches per step.
        virtual: chunks of layers that each device holds.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Huang et al., GPipe, arXiv:1811.06965, section 2.3; Qi et al., Zero Bubble Pipeline
        Parallelism, arXiv:2401.10241, section 5.3 (bubble rate).
    """
    waits = whole("stages", stages) - 1
    work = whole("virtual", virtual) * whole("microbatches", microbatches)
    return waits / (work + waits)


def microbatches_for_ratio(stages: Count, limit: Ratio, virtual: Count = 1, strict: bool = False) -> Count:
    """Fewest micro-batches at which the bubble ratio is within a limit.

    The ratio is inversely proportional to the micro-batches. M just meets the limit; S stays below
    it.

        M = ceil((stages - 1) / (virtual * limit))
        S = floor((stages - 1) / (virtual * limit)) + 1

    Convention:
        Idle over ideal time, as in bubble_ratio. Megatron-LM's interleaved schedule also requires
        a multiple of the stages.

    Args:
        stages: devices of the pipeline.
        limit: largest allowed ratio.
        virtual: chunks of layers that each device holds.
        strict: whether the ratio must be below the limit, not equal to it.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Solved from Narayanan et al., arXiv:2104.04473, section 2.2.2.
    """
    waits = whole("stages", stages) - 1
    bound = _decimal(positive("limit", limit))
    return _fewest(waits / (whole("virtual", virtual) * bound), strict)


def microbatches_for_fraction(stages: Count, limit: Ratio, virtual: Count = 1, strict: bool = False) -> Count:
    """Fewest micro-batches at which the bubble is within a share of the step.

    M just meets the limit; S stays below it.

        X = (stages - 1) * (1 - limit) / (virtual * limit)
        M = ceil(X)
        S = floor(X) + 1

    Convention:
        Idle over the whole step, as in bubble_fraction.

    Args:
        stages: devices of the pipeline.
        limit: largest share of the step that may be idle, at most 1.
        virtual: chunks of layers that each device holds.
        strict: whether the fraction must be below the limit, not equal to it.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Solved from Huang et al., arXiv:1811.06965, section 2.3.
    """
    waits = whole("stages", stages) - 1
    bound = _decimal(positive("limit", limit))
    if bound > 1:
        raise ValueError(say("{name} must be at most 1, the whole step, not {value}", name="limit", value=limit))
    return _fewest(waits * (1 - bound) / (whole("virtual", virtual) * bound), strict)


def _decimal(limit: float) -> Fraction:
    """*limit* as written: 0.05 is exactly one twentieth, so that equality can be tested."""
    return Fraction(repr(limit))


def _fewest(needed: Fraction, strict: bool) -> int:
    one_of("strict", strict, (False, True))
    return max(1, needed.__floor__() + 1 if strict else needed.__ceil__())
