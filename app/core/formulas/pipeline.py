"""Pipeline parallelism: bubbles, activation memory, and traffic between stages.

Two quantities are called the bubble. The ratio is idle over ideal time and may exceed one; the
fraction is idle over the whole step. They have two names here.
"""

from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from app.core.formulas.checks import at_least, larger_than, not_below, one_of, positive, too_large, whole
from app.core.translation import noted, value_error
from app.core.units import Bytes, Count, Ratio, Seconds


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

    Source:
        Huang et al., GPipe, arXiv:1811.06965, section 2.3; Qi et al., Zero Bubble Pipeline
        Parallelism, arXiv:2401.10241, section 5.3 (bubble rate).
    """
    waits = whole("stages", stages) - 1
    work = whole("virtual", virtual) * whole("microbatches", microbatches)
    return waits / (work + waits)


def microbatches_for_ratio(stages: Count, limit: Ratio, virtual: Count = 1, strict: bool = False) -> Count:
    """Fewest micro-batches at which the bubble ratio is within a limit.

    The ratio is inversely proportional to the micro-batches. M just meets the limit; S stays below it.

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

    Source:
        Solved from Huang et al., arXiv:1811.06965, section 2.3.
    """
    waits = whole("stages", stages) - 1
    bound = _decimal(positive("limit", limit))
    if bound > 1:
        raise value_error("{name} must be at most 1, the whole step, not {value}", name="limit", value=limit)
    return _fewest(waits * (1 - bound) / (whole("virtual", virtual) * bound), strict)


def _decimal(limit: float) -> Fraction:
    """*limit* as written: 0.05 is exactly one twentieth, so that equality can be tested."""
    return Fraction(repr(limit))


def _fewest(needed: Fraction, strict: bool) -> int:
    one_of("strict", strict, (False, True))
    return max(1, needed.__floor__() + 1 if strict else needed.__ceil__())


ScheduleName = Literal["naive", "gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "dualpipe", "dualpipe_v"]
Waits = Literal["first", "every"]
_PLAY_IT = noted("for other values simulate it with `wallclock schedule`")


def schedule_bubble(
    schedule: ScheduleName,
    stages: Count,
    microbatches: Count,
    forward: Seconds,
    backward_input: Seconds,
    backward_weight: Seconds,
    communication: Seconds = 0.0,
    virtual: Count = 1,
    waits: Waits = "first",
) -> Seconds:
    """Idle time of a device in one step of a pipeline schedule.

    T is the work of a micro-batch on a device; communication is the time of a message. N is the naive schedule, with
    one micro-batch in the pipeline at a time; G GPipe; A 1F1B, whose forward and backward passes nearly always wait for
    a message; I and J interleaved 1F1B, whose longer lead hides most messages. ZB-H1 (Z), ZB-H2 (Y) and ZB-V (V) split
    the backward pass and fill gaps with weight gradients. D is DualPipe and E DualPipeV. A single device never waits.

        T = forward + backward_input + backward_weight
        N = (stages - 1) * microbatches * (T + 2 communication)
        G = (stages - 1) * (T + 2 communication)
        K = stages + microbatches - 2 - ceil((microbatches - 1) / stages)
        A = (stages - 1) * T + 2 K * communication
        I = (stages - 1) * T / virtual + (2 stages * virtual - stages - 2) * communication
        J = (stages - 1) * T / virtual + 2 (stages * virtual - 1) * communication
        Z = (stages - 1) * (forward + backward_input - min(forward, backward_weight))
        Y = (stages - 1) * max(0, forward + backward_input - 2 * min(forward, backward_weight))
        V = (stages - 1) * (backward_input - backward_weight)
        X = 2 forward + max(0, backward_input - backward_weight)
        D = (stages / 2 - 1) * X
        E = (stages - 1) / 2 * X

    Convention:
        The times are those of one micro-batch on one device, all its chunks together; the papers'
        B is the input gradient in zero bubble and the whole backward pass in DualPipe. A step lasts
        from a device's first pass to its own last: zero-bubble devices do not wait for one another
        between steps. The stages of dualpipe_v are devices, half of the report's PP; a forward
        pass that overlaps a backward pass takes the sum of both, so with equal passes D is the
        report's (PP/2 - 1)(F&B + B - 3W).

        I is the bubble of the zero-bubble paper's tables, whose 12 interleaved cells it reproduces:
        only the first micro-batch of a round waits for the message from the last device back to the
        first. J is what a legal schedule takes: every one waits, or the last micro-batches would
        start before their gradients arrive. That is one message more for each stage.

        The closed forms require: I, messages no longer than half a chunk; J, than a chunk; Z, Y, V,
        D and E, no communication time; V, weight gradients no longer than a forward pass, and that
        no longer than an input gradient; D and E, a forward pass no shorter than an input gradient.

    Args:
        schedule: order of the passes.
        stages: devices of the pipeline.
        microbatches: micro-batches per step.
        forward: seconds of a micro-batch's forward pass on a device.
        backward_input: seconds to compute the gradient of the input.
        backward_weight: seconds to compute the gradient of the weights.
        communication: seconds of a message to the next device, overlapped with computation.
        virtual: chunks of layers that each device holds; only the interleaved schedule has several.
        waits: which micro-batches of a round wait where it goes around: the first (I), or every one (J).

    Raises:
        ValueError: an argument is outside its domain, the schedule does not exist for these
            numbers, or no closed form is known for these times.

    Source:
        Huang et al., GPipe, arXiv:1811.06965, section 2.3; Narayanan et al., arXiv:2104.04473,
        section 2.2; Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2 and
        table 1; DeepSeek-V3 Technical Report, arXiv:2412.19437, table 2. The terms with
        communication and for unequal times are derived from simulated schedules.
    """
    p, m, v = Sizes.of(schedule, stages, microbatches, virtual)
    f = positive("forward", forward)
    b = positive("backward_input", backward_input)
    w = at_least("backward_weight", backward_weight, 0)
    c = at_least("communication", communication, 0)
    one_of("waits", waits, get_args(Waits))
    if schedule == "interleaved" and v > 1:
        return _interleaved(p, v, f, b + w, c, waits)
    if schedule in ("naive", "gpipe", "1f1b", "interleaved"):
        return _whole_backward(schedule, p, m, f + b + w, c)
    if c > 0:
        form = noted("{name} must be 0 for {schedule}, not {value}; {cure}")
        raise value_error(form, name="communication", schedule=schedule, value=c, cure=_PLAY_IT)
    if schedule in ("dualpipe", "dualpipe_v"):
        return _two_way(schedule, p, f, b, w)
    return _split_backward(schedule, p, m, f, b, w)


class Sizes(NamedTuple):
    """Stages, micro-batches and chunks of a schedule."""

    stages: int
    microbatches: int
    virtual: int

    @classmethod
    def of(cls, schedule: ScheduleName, stages: Count, microbatches: Count, virtual: Count) -> "Sizes":
        """The sizes of *schedule*, which must exist for them."""
        one_of("schedule", schedule, get_args(ScheduleName))
        p, m, v = (whole("stages", stages), whole("microbatches", microbatches), whole("virtual", virtual))
        if v > 1 and schedule != "interleaved":
            raise value_error(
                "{name} must be 1 for {schedule}, not {value}", name="virtual", schedule=schedule, value=virtual
            )
        if v > 1 and m % p:
            form = noted("{name} must be a multiple of the stages, {stages}, when chunks interleave, not {value}")
            raise value_error(form, name="microbatches", stages=p, value=m)
        if schedule == "dualpipe" and p % 2:
            raise value_error("{name} must be even for dualpipe, not {value}", name="stages", value=stages)
        if schedule == "dualpipe" and m % 2:
            raise value_error("{name} must be even for dualpipe, not {value}", name="microbatches", value=microbatches)
        if schedule in ("dualpipe", "dualpipe_v") and m < 2 * p:
            form = noted("{name} must be at least twice the stages, {least}, for {schedule}, not {value}")
            raise value_error(form, name="microbatches", least=2 * p, schedule=schedule, value=m)
        return cls(p, m, v)


def _whole_backward(schedule: ScheduleName, p: int, m: int, work: float, c: float) -> float:
    if p == 1:
        return 0.0  # a single device waits for nothing
    if schedule == "naive":
        return (p - 1) * m * (work + 2 * c)
    if schedule == "gpipe":
        return (p - 1) * (work + 2 * c)
    waits = p + m - 2 - -(-(m - 1) // p)
    return (p - 1) * work + 2 * waits * c


def _interleaved(p: int, v: int, forward: float, backward: float, c: float, waits: Waits) -> float:
    if p == 1:
        return 0.0  # a single device waits for nothing, however many chunks it holds
    longest, part = min(forward, backward) / v, "a chunk's pass"
    if waits == "first":
        longest, part = longest / 2, "half a chunk's pass"
    if c > longest:
        form = noted("{name} must be at most {most}, {longest} s, for interleaved, not {value}; {cure}")
        raise value_error(form, name="communication", most=part, longest=f"{longest:g}", value=c, cure=_PLAY_IT)
    messages = 2 * p * v - 2 - (p if waits == "first" else 0)
    return (p - 1) * (forward + backward) / v + messages * c


def _split_backward(
    schedule: ScheduleName, p: int, m: int, forward: float, backward_input: float, weight: float
) -> float:
    full = p if schedule == "zb_h1" else 2 * p - 1
    if m < full:
        form = noted("{name} must be at least {least} to fill {schedule}, not {value}; {cure}")
        raise value_error(form, name="microbatches", least=full, schedule=schedule, value=m, cure=_PLAY_IT)
    filled = min(forward, weight)
    if schedule == "zb_h1":
        return (p - 1) * (forward + backward_input - filled)
    if schedule == "zb_h2":
        return (p - 1) * max(0.0, forward + backward_input - 2 * filled)
    if not weight <= forward <= backward_input:
        form = noted("{name} must be between backward_weight and backward_input for zb_v, not {value}; {cure}")
        raise value_error(form, name="forward", value=forward, cure=_PLAY_IT)
    return (p - 1) * (backward_input - weight)


def _two_way(schedule: ScheduleName, p: int, forward: float, backward_input: float, weight: float) -> float:
    if forward < backward_input:
        form = noted("{name} must be at least backward_input for {schedule}, not {value}; {cure}")
        raise value_error(form, name="forward", schedule=schedule, value=forward, cure=_PLAY_IT)
    turns = p / 2 - 1 if schedule == "dualpipe" else (p - 1) / 2
    return turns * (2 * forward + max(0.0, backward_input - weight))


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

    With several chunks per device there are stages * virtual chunks in a row, and one boundary fewer. For every
    micro-batch, an activation crosses each boundary forward and its gradient crosses it backward.

        V = 2 * boundary_bytes * microbatches * (stages * virtual - 1)

    Convention:
        The sum over all boundaries and both directions. Interleaving multiplies it by
        (p v - 1) / (p - 1), which is more than the often quoted factor v.

    Args:
        boundary_bytes: bytes of one micro-batch's activation between two stages.
        stages: devices of the pipeline.
        microbatches: micro-batches per step.
        virtual: chunks of layers that each device holds.

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

    A micro-batch is held from its forward pass until the end of its backward pass. N is the naive schedule, G GPipe, A
    1F1B; B interleaved 1F1B, which runs ahead by whole rounds of chunks; C ZB-H1, which delays weight gradients until
    every device holds as much as the first; D ZB-H2; V ZB-V; E DualPipe; H DualPipeV.

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
        Narayanan et al., arXiv:2104.04473, section 2.2; Korthikanti et al., arXiv:2205.05198, section 4.2.3; Qi et al.,
        arXiv:2401.10241, sections 2 and 6; DeepSeek-V3 Technical Report, arXiv:2412.19437, table 2.
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

    Source:
        Narayanan et al., arXiv:2104.04473, section 2.2.1.
    """
    each = at_least("bytes_per_microbatch", bytes_per_microbatch, 0)
    return each * positive("in_flight", in_flight)
