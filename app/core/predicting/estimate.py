"""From a line to a prediction, the formulas that make it, and what limits the step."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from reprlib import repr as short
from typing import TypeVar, cast

from app.core.errors import InputError, nearest
from app.core.formulas.checks import positive
from app.core.formulas.configurations import (
    configuration_notes,
    configured_stack,
    is_configuration,
    is_layout_configuration,
    stack_doubt,
)
from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.parallelism.rules import PLAIN
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares
from app.core.formulas.presets.layouts import LAYOUT_FIELDS
from app.core.formulas.records import Record
from app.core.formulas.step.layer import counted_flops
from app.core.formulas.step.memory import RankMemoryTerms, StageMemory, stage_bytes
from app.core.formulas.step.speeds import Side, is_fused, peak_of, reduced_by, speeds_of
from app.core.formulas.step.step import step_parts
from app.core.formulas.transformer.parameters import LayerParts
from app.core.translation import say
from app.core.units import BYTE, SECOND, Bytes, PerSecond, Ratio, Seconds, Unit, parse_or_base, show

RECIPE = Recipe.named("Megatron")
# The bytes of each kind of number by the stack that a configuration names.
_RECIPES_OF = {"Megatron": "Megatron", "FSDP2": "FSDP2", "MaxText": "FSDP2", "DeepSpeed": "mixed", "eager": "FP32"}
_HELD_BACK = 1.05  # as in card_memory
_MOST_STAGES = 1024  # of a pipeline: each is a number in the result


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """What is predicted."""

    model: ModelShape
    cluster: Cluster
    layout: Layout
    recipe: Recipe = RECIPE
    shares: Shares = GIVEN
    assumed: str = ""  # what was not said, in a sentence
    told: Mapping[str, str] = field(default_factory=dict)  # of the stack, by the configuration of the layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A predicted step.

    *parts* are its exposed seconds; where a share has no source, the time is between *low* and
    *high*. *stages* are the bytes that are allocated at the peak on a GPU of each pipeline stage,
    *memory* the parts of the fullest; *reserved* is what the allocator then holds there.
    """

    parts: Mapping[str, Seconds]
    total: Seconds
    low: Seconds
    high: Seconds
    utilization: Ratio
    token_rate: PerSecond
    stages: tuple[Bytes, ...]
    memory: Mapping[str, Bytes]
    reserved: Bytes
    room: Bytes
    cluster: Cluster  # as it was understood
    scores: str = ""  # what becomes of attention's scores if nothing is computed again
    doubts: tuple[str, ...] = ()  # what was assumed, not understood, or left out

    @property
    def allocated(self) -> Bytes:
        """Bytes on the fullest GPU."""
        return max(self.stages)

    @property
    def fits(self) -> bool:
        """Whether what is allocated fits on the GPUs of every stage."""
        return self.allocated <= self.room


def estimate(asked: PredictionRequest) -> Estimate:
    """The predicted step, and its memory.

    Raises:
        ValueError: the layout does not divide the model, or has another number of GPUs.
        ArithmeticError: a result is too large for a number.
    """
    layout, gpu = asked.layout, asked.cluster.gpu
    peak = peak_of(gpu, layout.precision)
    if layout.pipeline > _MOST_STAGES:
        raise ValueError(
            say(
                "{name} must be at most {most} here, as each stage is listed, not {value}",
                name="pipeline",
                most=f"{_MOST_STAGES:,}",
                value=f"{layout.pipeline:,}",
            )
        )
    times = step_time(asked.model, asked.cluster, layout, asked.shares, asked.recipe)
    low, high = _ends(asked, times)
    stages = _stages(asked)
    fullest = max(stages, key=sum)
    found = Estimate(
        parts=times._asdict(),
        total=times.total,
        low=low,
        high=high,
        utilization=_flops(asked) / (layout.gpus * peak * times.total),
        token_rate=layout.tokens / times.total / layout.gpus,
        stages=tuple(map(sum, stages)),
        memory=fullest._asdict(),
        reserved=sum(fullest) * _HELD_BACK,
        room=gpu.memory,
        cluster=asked.cluster,
        scores=_scores(asked),
        doubts=tuple(_doubts(asked)),
    )
    if not all(map(isfinite, (*times, found.utilization, found.token_rate, found.reserved))):
        raise OverflowError
    return found


def _doubts(asked: PredictionRequest) -> Iterator[str]:
    """What was assumed, not understood, or left out, each in a sentence."""
    if asked.assumed:
        yield asked.assumed
    for name, record in (("model", asked.model), ("layout", asked.layout)):
        notes = configuration_notes(record.source)
        yield from (f"The {name}: {note}." for note in notes if not asked.assumed or "says no sequence" not in note)
    if left_out := stack_doubt(asked.told):
        yield left_out
    if (gpu := asked.cluster.gpu).dies > 1:
        yield (
            f"PyTorch sees {gpu.dies} GPUs in one {gpu.name}, each with a part of its memory: this is for ranks that"
            f" have all of it. Count {gpu.name} GCD instead."
        )


def _ends(asked: PredictionRequest, times: StepTime) -> tuple[Seconds, Seconds]:
    """The shortest and the longest step that is plausible, as in step_time_range."""
    layout, precision = asked.layout, asked.layout.precision
    sides: tuple[Side, ...] = ("fast", "slow")
    fast, slow = (speeds_of(asked.model, asked.cluster, asked.shares, precision, side) for side in sides)
    if fast == slow:  # every share has a source
        return times.total, times.total
    degrees, sent = layout.degrees(fast.fused), reduced_by(asked.recipe)
    low, high = (sum(step_parts(asked.model, speeds, degrees, PLAIN, sent)) for speeds in (fast, slow))
    return low, high


def _scores(asked: PredictionRequest) -> str:
    if asked.layout.recompute != "none":
        return ""
    if is_fused(asked.model, asked.cluster.gpu, asked.shares):
        return (
            "Attention is fused, as in FlashAttention, and stores no scores: recompute=none needs"
            " what recompute=selective does."
        )
    return (
        "Attention is not fused here, so recompute=none stores its scores: recompute=selective"
        " computes them again, and kernels=fused among the shares is FlashAttention."
    )


def _stages(asked: PredictionRequest) -> list[StageMemory]:
    on = asked.layout.degrees(is_fused(asked.model, asked.cluster.gpu, asked.shares))
    rank = RankMemoryTerms.of(asked.model, LayerParts.of(asked.model), asked.recipe, on)
    stages = range(asked.layout.pipeline)
    return [stage_bytes(asked.model, on, rank, stage) for stage in stages]


def _flops(asked: PredictionRequest) -> float:
    """FLOP of the model in a step, with a causal mask."""
    shape, layout = asked.model, asked.layout
    return counted_flops(shape, layout.sequence) * layout.tokens


# Of those whose name says too little; every other part is called by its name.
_CALLED = {
    "compute": "computation",
    "products": "matrix products",
    "element_wise": "element-wise kernels",
    "head": "the output head",
    "launches": "kernel launches",
    "recompute": "recomputation",
    "tensor": "tensor parallelism",
    "context": "context parallelism",
    "expert": "expert parallelism",
    "data": "data parallelism",
    "messages": "messages between stages",
    "bubble": "the pipeline bubble",
    "skew": "waiting for slower GPUs",
}
_NAMED = 0.01  # of the step: smaller parts limit nothing


def explain_estimate(found: Estimate) -> str:
    """What limits the step of *found*, and whether and where it fits."""
    texts = (_of_time(found), _of_interval(found), _of_memory(found), found.scores)
    return " ".join(text for text in texts if text)


def part_name(part: str) -> str:
    """The part of a step or of its memory, as a person calls it."""
    return _CALLED.get(part, part.replace("_", " "))


def _of_time(found: Estimate) -> str:
    first, *others = _largest(found.parts, found.total)
    then = f", then {others[0]}" if others else ""
    return f"The largest part of the step is {first}{then}."


def _largest(parts: Mapping[str, float], total: float) -> list[str]:
    """The largest *parts* that count, with their shares of *total*."""
    order = sorted(parts, key=lambda part: -parts[part])
    counts = [part for part in order[1:] if parts[part] >= _NAMED * total]
    return [f"{part_name(part)} ({100 * parts[part] / total:.3g} %)" for part in (order[0], *counts)]


def _of_interval(found: Estimate) -> str:
    if found.low == found.high:
        return ""
    low, high = (show(seconds, SECOND, 3) for seconds in (found.low, found.high))
    return (
        f"It takes {low} to {high}: not every share of the hardware's peak that it depends on has a"
        " published source. Measure yours, and give them under shares."
    )


def _of_memory(found: Estimate) -> str:
    needs, has = (show(size, BYTE, 3) for size in (found.allocated, found.room))
    stage = _stage(found)
    if found.fits:
        return f"It fits: {stage} needs {needs} of {has}."
    lacking = show(found.allocated - found.room, BYTE, 3)
    largest = max(found.memory, key=lambda part: found.memory[part])
    return (
        f"It does not fit{_unless(found)}: {stage} needs {needs}, {lacking} more than the {has} available;"
        f" the largest part is {part_name(largest)} ({show(found.memory[largest], BYTE, 3)})."
    )


def _unless(found: Estimate) -> str:
    """What of the configuration would make room, but is left out."""
    return ", unless offload makes room, which is left out" if any("offload" in one for one in found.doubts) else ""


def _stage(found: Estimate) -> str:
    if len(found.stages) == 1:
        return "a GPU"
    return f"stage {found.stages.index(found.allocated)} of {len(found.stages)}, the fullest,"


Reference = str | int | None
R = TypeVar("R", bound=Record)
RECORDS = ("model", "cluster", "layout")
OPTIONS = ("recipe", "shares")
FIELDS = ("ref", *RECORDS, *OPTIONS, "measured", "measured_memory", "group")
_SEQUENCE = re.compile(
    rf"\b_*(?:{'|'.join(['sequence', *(name for name, ours in LAYOUT_FIELDS.items() if ours == 'sequence')])})\b"
)
_LONGEST = 2000  # characters of a record as text
_LONGEST_GROUP = 200
_REMEMBERED = 1000  # records that are read once
_REMEMBERED_LENGTH = 1000  # characters of what is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionLine:
    """A line: what is predicted, and what was measured; 0 where nothing was."""

    asked: PredictionRequest
    ref: Reference = None
    measured: Seconds = 0.0
    measured_memory: Bytes = 0.0
    group: str = ""


class PredictionReader:
    """Reads lines; records that are written alike are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[type[Record], type, str], Record] = {}

    def read(self, line: bytes) -> PredictionLine:
        """What *line* says.

        Raises:
            InputError: it is not JSON, a field is unknown or missing, or a value is not valid.
        """
        given = _object(line)
        _check_names(given)
        ref = _reference(given.get("ref"))
        return PredictionLine(
            asked=self.asked(given),
            ref=ref,
            measured=_measured(given, "measured", SECOND),
            measured_memory=_measured(given, "measured_memory", BYTE),
            group=_group(given.get("group")),
        )

    def asked(self, given: Mapping[str, object]) -> PredictionRequest:
        """The records of *given*.

        Raises:
            InputError: one is missing, or cannot be read.
        """
        if missing := [name for name in RECORDS if name not in given]:
            raise InputError(f"{_listed_names(missing)} must be given")
        model = self._record(ModelShape, "model", given["model"])
        cluster = self._record(Cluster, "cluster", given["cluster"])
        layout = self._layout(given["layout"], model, cluster)
        told = configured_stack(given["layout"])
        recipe = Recipe.named(told.get("recipe") or _RECIPES_OF[told["stack"]]) if told else RECIPE
        return PredictionRequest(
            model=model,
            cluster=cluster,
            layout=layout,
            recipe=self._optional(Recipe, "recipe", given, recipe),
            shares=self._optional(Shares, "shares", given, GIVEN),
            assumed=_assumed(given["layout"], layout),
            told=told,
        )

    def _layout(self, given: object, model: ModelShape, cluster: Cluster) -> Layout:
        """The layout; one in a configuration is for the GPUs of *cluster*."""
        if (isinstance(given, str) and is_configuration(given)) or (
            isinstance(given, Mapping) and is_layout_configuration(given)
        ):
            _check_length("layout", given)
            try:
                return Layout.on(given, cluster.gpus, model.layers)
            except ValueError as error:
                raise InputError(f"layout: {error}") from None
        return self._record(Layout, "layout", given)

    def _optional(self, kind: type[R], name: str, given: Mapping[str, object], default: R) -> R:
        value = given.get(name)
        return default if value is None else self._record(kind, name, value)

    def _record(self, kind: type[R], name: str, given: object) -> R:
        written = given if isinstance(given, str) else repr(given)
        known = self._known.get((kind, type(given), written))
        if isinstance(known, kind):
            return known
        made = _read_record_reader(kind, name, given)
        if len(written) <= _REMEMBERED_LENGTH:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[kind, type(given), written] = made
        return made


def _assumed(given: object, layout: Layout) -> str:
    """What *layout* has that was not *given*, and that the result depends on most."""
    is_known = Layout.has(layout.name)
    if is_known or layout.sequence != Layout.sequence or _SEQUENCE.search(str(given).replace("-", "_")):
        return ""
    return f"Sequences of {layout.sequence:,} tokens are assumed; the layout may say otherwise, as in sequence=4096."


def _read_record_reader(kind: type[R], name: str, given: object) -> R:
    """The record under *name*, written as text or as an object."""
    _check_length(name, given)
    try:
        if isinstance(given, str):
            return kind.read(given)
        if isinstance(given, Mapping):
            return kind.of(given)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from None
    raise InputError(f"{name} must be text or an object, not {short(given)}")


def _check_length(name: str, given: object) -> None:
    """Refuse a text that is too long; a configuration has a limit of its own."""
    if isinstance(given, str) and len(given) > _LONGEST and not is_configuration(given):
        raise InputError(f"{name}: at most {_LONGEST:,} characters are read, not {len(given):,}")


def line_reference(line: bytes) -> Reference:
    """The `ref` of *line*, which may not be valid otherwise."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = given.get("ref") if isinstance(given, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _object(line: bytes) -> Mapping[str, object]:
    try:
        given = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON at character {error.pos + 1}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, deep nesting
        raise InputError(f"not valid JSON: {error}") from None
    if not isinstance(given, dict):
        raise InputError(f'must be a JSON object such as {{"model": ...}}, not {short(given)}')
    return given


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    given = dict(pairs)
    if len(given) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise InputError(f"{short(names.most_common(1)[0][0])} is given twice")
    return given


def _check_names(given: Mapping[str, object]) -> None:
    for name in given:
        if name not in FIELDS:
            offer = nearest(name, FIELDS) or f"; a line has {', '.join(FIELDS)}"
            raise InputError(f"no field is called {name!r}{offer}")


def _reference(given: object) -> Reference:
    if isinstance(given, bool) or not isinstance(given, str | int | None):
        raise InputError(f"ref must be text or a whole number, not {short(given)}")
    return given


def _listed_names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _measured(given: Mapping[str, object], name: str, unit: Unit) -> float:
    """The number under *name*, in *unit*; 0 if there is none."""
    value = given.get(name)
    if value is None:
        return 0.0
    if isinstance(value, str):
        try:
            value = parse_or_base(value, unit)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
    return float(positive(name, cast(float, value)))  # refuses what is not a number


def _group(given: object) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > _LONGEST_GROUP:
        raise InputError(f"group must be text of at most {_LONGEST_GROUP} characters, not {short(given)}")
    return given
