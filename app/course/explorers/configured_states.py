"""A pasted configuration as the state of an explorer: its model, and what it says of a layout."""

from collections.abc import Mapping
from dataclasses import fields

from app.core.formulas.configurations import is_configuration, layout_fields, model_fields
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


def configured_state(text: str, gpus: int) -> Mapping[str, str]:
    """What the configuration *text* says of the controls, on *gpus* GPUs.

    Raises:
        ValueError: it is not a configuration, or says neither a model nor a layout.
    """
    if not is_configuration(text):
        raise ValueError(say("this is not a configuration: paste a config.json, arguments, a JSON or a TOML"))
    model = _said(text, "model")
    layout = _said(text, "layout", gpus)
    if not model and not layout:
        model_fields(text)  # says what is missing
    return {**model, **layout}


def _said(text: str, what: str, gpus: int = 0) -> Mapping[str, str]:
    """What the configuration says of the model, or of the layout; nothing if it does not."""
    try:
        return {"model": model_value(text)} if what == "model" else _layout_state(text, gpus)
    except ValueError:
        return {}


def _layout_state(text: str, gpus: int) -> Mapping[str, str]:
    found = layout_fields(text)
    said = set(found.fields) if found else set()
    layout = Layout.on(text, gpus)
    state = {control: str(getattr(layout, name)) for name, control in _CONTROLS.items() if name in said}
    if found and (found.batch or "microbatches" in said):
        state["batch"] = str(layout.data * layout.microbatches * layout.micro_batch)
    return state
