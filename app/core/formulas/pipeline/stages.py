"""The layers of a pipeline stage, and the traffic between stages."""

from app.core.formulas.checks import at_least, whole
from app.core.formulas.refusals import larger_than, too_large
from app.core.translation import noted
from app.core.units import Bytes, Count

_MOST_STAGES = 10**6


def layers_per_stage(layers: Count, stages: Count) -> tuple[Count, ...]:
    """Layers of each pipeline stage, spread as evenly as possible.

    Each stage has the floor of the mean or one more. The shorter stages are placed at the ends,
    last and first in turn, since these also hold the output head and the embedding.

        L = floor(layers / stages)
        H = ceil(layers / stages)

    Convention:
        The order is a choice; Llama 3 405B makes the same one: of 126 layers over 16 stages, the
        first and the last stage have 7 and the others 8.

    Args:
        layers: layers of the whole model.
        stages: pipeline stages, at most as many as layers.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.2 (balance of
        memory and of computation).
    """
    total, count = whole("layers", layers), whole("stages", stages)
    if count > total:
        raise larger_than("stages", stages, noted("the layers"), total)
    if count > _MOST_STAGES:
        raise too_large("stages", stages, f"{_MOST_STAGES:,}")
    short = -total % count
    fewer = total // count if short else -(-total // count)
    first, last = short // 2, short - short // 2
    more = fewer + 1
    return (fewer,) * first + (more if short else fewer,) * (count - short) + (fewer,) * last


def point_to_point_bytes(boundary_bytes: Bytes, stages: Count, microbatches: Count, virtual: Count = 1) -> Bytes:
    """Bytes that all stages of a pipeline together send in a step.

    With several chunks per device there are stages * virtual chunks in a row, and one boundary
    fewer. For every micro-batch, an activation crosses each boundary forward and its gradient
    crosses it backward.

        V = 2 * boundary_bytes * microbatches * (stages * virtual - 1)

    Convention:
        The sum over all boundaries and both directions. Interleaving multiplies it by
        (p v - 1) / (p - 1), which is more than the often quoted factor v.

    Args:
        boundary_bytes: bytes of one micro-batch's activation between two stages.
        stages: devices of the pipeline.
        microbatches: micro-batches per step.
        virtual: chunks of layers that each device holds.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, sections 2.2.2 and 3.2.
    """
    boundaries = whole("stages", stages) * whole("virtual", virtual) - 1
    each = at_least("boundary_bytes", boundary_bytes, 0)
    return 2 * each * whole("microbatches", microbatches) * boundaries
