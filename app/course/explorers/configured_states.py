"""A pasted configuration as the state of an explorer: its model, and what it says of a layout."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import NamedTuple

from app.core.formulas.configurations import (
    configuration_notes,
    is_configuration,
    layout_fields,
    model_fields,
    stack_doubt,
)
from app.core.formulas.presets import Layout, ModelShape
from app.core.translation import say

_CONTROLS = {
    "tensor": "tensor",
    "pipeline": "pipeline",
    "virtual": "virtual",
    "context": "context",
    "expert": "expert",
    "micro_batch": "micro",
    "sequence": "sequence",
    "zero_stage": "stage",
    "recompute": "recompute",
}
_NOT_OF_A_SHAPE = {"name", "source"}


def model_value(text: str) -> str:
    """The value of a control for the model that *text* says: a known name, or its fields.

    Raises:
        ValueError: it says none.
    """
    shape = ModelShape.read(text)
    if ModelShape.known().get(shape.name) == shape:
        return shape.name
    pairs = (
        (one.name, getattr(shape, one.name))
        for one in fields(shape)
        if one.name not in _NOT_OF_A_SHAPE and getattr(shape, one.name) != one.default
    )
    return " ".join(f"{name}={value}" for name, value in pairs)


class ConfiguredState(NamedTuple):
    """What a configuration says of the controls, and its doubts, each in a sentence."""

    controls: Mapping[str, str]
    doubts: tuple[str, ...]


def configured_state(text: str, gpus: int) -> ConfiguredState:
    """What the configuration *text* says of the controls, on *gpus* GPUs unless it says how many.

    Raises:
        ValueError: it is not a configuration, or says neither a model nor a layout.
    """
    if not is_configuration(text):
        raise ValueError(say("this is not a configuration: paste a config.json, a file of your trainer, or arguments"))
    model, about_model = _said(_model_state, text)
    layout, about_layout = _said(_layout_state, text, gpus)
    if not model and not layout:
        model_fields(text)  # says what is missing
        layout_fields(text)
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
    return {"model": model_value(text)}, [f"The model: {note}." for note in configuration_notes(source)]


def _layout_state(text: str, gpus: int) -> _State:
    found = layout_fields(text)
    if found is None:
        return {}, []
    said = set(found.fields)
    doubts, state = [], {}
    try:
        layout = Layout.on(text, found.gpus or gpus)
        doubts = [f"The layout: {note}." for note in configuration_notes(layout.source)]
    except ValueError as error:  # such as a batch that the GPUs do not divide
        return {}, [f"The layout: {error}."]
    if found.gpus:
        state["gpus"] = str(found.gpus)
    state |= {control: str(getattr(layout, name)) for name, control in _CONTROLS.items() if name in said}
    if found.batch or "microbatches" in said:
        state["batch"] = str(layout.data * layout.microbatches * layout.micro_batch)
    return state, [*doubts, *filter(None, [stack_doubt(found.stack)])]
