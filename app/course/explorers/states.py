"""States of the explorer of a run: what a pasted configuration says, and what shows given records."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from app.core.formulas import configurations
from app.core.formulas.presets import GPUS, MODELS, Cluster, Layout, ModelShape
from app.core.formulas.records import Record
from app.core.translation import say
from app.core.units import BYTE_PER_SECOND, show
from app.course.explorers.base import Values
from app.course.explorers.controls import Select, read_controls
from app.course.explorers.placements import LAYOUT_CONTROLS, exact_placement, layout_state, model_value
from app.course.explorers.run_fit import FIT


class ConfiguredState(NamedTuple):
    """What a configuration says of the controls, and its doubts, each in a sentence."""

    controls: Mapping[str, str]
    doubts: tuple[str, ...]


def configured_state(text: str, gpus: int) -> ConfiguredState:
    """What the configuration *text* says of the controls, on *gpus* GPUs unless it says how many.

    Raises:
        ValueError: it is not a configuration, or says neither a model nor a layout.
    """
    if not configurations.is_configuration(text):
        raise ValueError(say("this is not a configuration: paste a config.json, a file of your trainer, or arguments"))
    model, about_model = _said(_model_state, text)
    layout, about_layout = _said(_layout_state, text, gpus)
    if not model and not layout:
        configurations.model_fields(text)  # says what is missing
        configurations.layout_fields(text)
    return ConfiguredState({**model, **layout}, (*about_model, *about_layout))


_State = tuple[Mapping[str, str], list[str]]


def _said(read: Callable[..., _State], *given: object) -> _State:
    """What *read* says of the controls, and its doubts; nothing if it does not."""
    try:
        return read(*given)
    except ValueError:
        return {}, []


def _model_state(text: str) -> _State:
    source = ModelShape.read(text).source
    return {"model": model_value(text)}, [f"The model: {note}." for note in configurations.configuration_notes(source)]


def _layout_state(text: str, gpus: int) -> _State:
    found = configurations.layout_fields(text)
    if found is None:
        return {}, []
    said = {*found.fields, *(["batch"] if found.batch or "microbatches" in found.fields else [])}
    doubts, state = [], {}
    try:
        layout = Layout.on(text, found.gpus or gpus)
        doubts = [f"The layout: {note}." for note in configurations.configuration_notes(layout.source)]
    except ValueError as error:  # such as a batch that the GPUs do not divide
        return {}, [f"The layout: {error}."]
    if found.gpus:
        state["gpus"] = str(found.gpus)
    own = layout_state(layout).items()
    state |= {control: text for control, text in own if LAYOUT_CONTROLS.get(control, control) in said}
    return state, [*doubts, *filter(None, [configurations.stack_doubt(found.stack)])]


_NOT_COMPARED = {"name", "source"}
_ALONE = {"context_by": "context", "virtual": "pipeline"}  # they matter with that degree alone


@dataclass(frozen=True, slots=True)
class StateOfRecords:
    """The *state* that is nearest to the records, and what of them the explorer cannot show."""

    state: Mapping[str, str]
    differs: tuple[str, ...]


def state_of_records(model: ModelShape, cluster: Cluster, layout: Layout) -> StateOfRecords | None:
    """The state that shows the records; None if the explorer has no such model or GPU."""
    gpu = next((name for name in _options("gpu") if GPUS[name] == cluster.gpu), "")
    same = [name for name in _options("model") if not any(_differences(model, MODELS[name]))]
    name = model.name if model.name in same else next(iter(same), "")
    if not gpu or not name:
        return None
    state = {
        "model": name,
        "gpu": gpu,
        "gpus": str(layout.gpus),
        "network": show(cluster.inter_bandwidth, BYTE_PER_SECOND, 9),
        **layout_state(layout),
        "precision": layout.precision,
    }
    values, corrections = read_controls(FIT.controls, state)
    if corrections:
        return StateOfRecords(state, corrections)
    placed = exact_placement(Values(values))
    given = replace(cluster, gpus=layout.gpus)
    differs = (*_differences(given, placed.cluster), *_differences(layout, placed.layout))
    return StateOfRecords(state, differs)


def _options(name: str) -> tuple[str, ...]:
    """What can be chosen with the control called *name*."""
    chosen = (one for one in FIT.controls if one.name == name)
    return next(tuple(one.options) for one in chosen if isinstance(one, Select))


def _differences(given: Record, there: Record) -> Iterator[str]:
    """What is different there, in words."""
    for field in fields(given):
        own, other = getattr(given, field.name), getattr(there, field.name)
        alone = _ALONE.get(field.name)
        if _same(own, other) or field.name in _NOT_COMPARED:
            continue
        if not alone or getattr(given, alone) > 1:
            yield f"{field.name.replace('_', ' ')} {_text(other)}, not {_text(own)}"


def _same(own: object, other: object) -> bool:
    if isinstance(own, float) and isinstance(other, float):
        return math.isclose(own, other)
    return own == other


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
