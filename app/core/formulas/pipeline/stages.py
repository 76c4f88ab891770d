"""The layers of a pipeline stage, its traffic, and the activations that it holds."""

from app.core.formulas.checks import at_least, larger_than, not_below, positive, too_large, whole
from app.core.formulas.pipeline.schedules import ScheduleName, Sizes
from app.core.translation import noted
from app.core.units import Bytes, Count, Ratio

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


def in_flight_microbatches(
    schedule: ScheduleName, stages: Count, microbatches: Count, stage: Count = 0, virtual: Count = 1
) -> Ratio:
    """Most micro-batches whose activations a stage holds at the same time.

    A micro-batch is held from its forward pass until the end of its backward pass. N is the naive
    schedule, G GPipe, A 1F1B; B interleaved 1F1B, which runs ahead by whole rounds of chunks; C
    ZB-H1, which delays weight gradients until every device holds as much as the first; D ZB-H2; V
    ZB-V; E DualPipe; H DualPipeV.

        N = 1
        G = microbatches
        A = min(microbatches, stages - stage)
        B = min(microbatches, (2 (stages - stage - 1) + (virtual - 1) stages + 1) / virtual)
        C = min(microbatches, stages)
        D = min(microbatches, 2 stages - 1)
        V = min(microbatches, stages, (microbatches + stage + 1) / 2)
        E = stages + 1
        H = stages + 1 / 2

    Convention:
        In micro-batches of one device's share of the model: a chunk counts as its part of that.
        DualPipe counts in micro-batches of one of the two stages that a device holds. DualPipeV's
        stages are devices, half as many as chunks in a row, so H is half of the report's PP + 1.

    Args:
        schedule: order of the passes.
        stages: devices of the pipeline.
        microbatches: micro-batches per step.
        stage: which device, from 0.
        virtual: chunks of layers that each device holds; only the interleaved schedule has several.

    Raises:
        ValueError: an argument is outside its domain, or the schedule does not exist for them.

    Source:
        Narayanan et al., arXiv:2104.04473, section 2.2; Korthikanti et al., arXiv:2205.05198,
        section 4.2.3; Qi et al., arXiv:2401.10241, sections 2 and 6; DeepSeek-V3 Technical Report,
        arXiv:2412.19437, table 2.
    """
    p, m, v = Sizes.of(schedule, stages, microbatches, virtual)
    place = whole("stage", stage, 0)
    if place >= p:
        raise not_below("stage", stage, noted("the stages"), p)
    if schedule == "interleaved" and v > 1:
        return min(m, (2 * (p - place - 1) + (v - 1) * p + 1) / v)
    kept: dict[str, float] = {
        "naive": 1,
        "gpipe": m,
        "1f1b": min(m, p - place),
        "interleaved": min(m, p - place),
        "zb_h1": min(m, p),
        "zb_h2": min(m, 2 * p - 1),
        "zb_v": min(m, p, (m + place + 1) / 2),
        "dualpipe": p + 1,
        "dualpipe_v": p + 1 / 2,
    }
    return kept[schedule]


def stage_activation_bytes(bytes_per_microbatch: Bytes, in_flight: Ratio) -> Bytes:
    """Bytes of activations that a stage holds at its peak.

        M = bytes_per_microbatch * in_flight

    Convention:
        Stored activations alone: memory that a pass needs only while it runs is not included.

    Args:
        bytes_per_microbatch: bytes of one micro-batch's activations on the stage.
        in_flight: micro-batches held at the same time; may be fractional if chunks interleave.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Narayanan et al., arXiv:2104.04473, section 2.2.1.
    """
    each = at_least("bytes_per_microbatch", bytes_per_microbatch, 0)
    return each * positive("in_flight", in_flight)
