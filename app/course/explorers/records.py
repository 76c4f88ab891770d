"""The state of the layout explorer that shows a given model, cluster and layout."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from app.core.formulas.presets import GPUS, MODELS, Cluster, Layout, ModelShape
from app.core.formulas.records import Record
from app.core.units import BYTE_PER_SECOND, show
from app.course.explorers.base import Values
from app.course.explorers.controls import Select, read_controls
from app.course.explorers.placements import exact_placement
from app.course.explorers.run_fit import FIT

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
    name = _name_of(model)
    if not gpu or not name:
        return None
    state = {
        "model": name,
        "gpu": gpu,
        "gpus": str(layout.gpus),
        "network": show(cluster.inter_bandwidth, BYTE_PER_SECOND, 9),
        "tensor": str(layout.tensor),
        "pipeline": str(layout.pipeline),
        "virtual": str(layout.virtual),
        "context": str(layout.context),
        "expert": str(layout.expert),
        "stage": str(layout.zero_stage),
        "batch": str(layout.data * layout.microbatches * layout.micro_batch),
        "micro": str(layout.micro_batch),
        "sequence": str(layout.sequence),
        "recompute": layout.recompute,
        "precision": layout.precision,
    }
    values, corrections = read_controls(FIT.controls, state)
    if corrections:
        return StateOfRecords(state, corrections)
    placed = exact_placement(Values(values))
    given = replace(cluster, gpus=layout.gpus)
    differs = (*_differences(given, placed.cluster), *_differences(layout, placed.layout))
    return StateOfRecords(state, differs)


def _name_of(model: ModelShape) -> str:
    """The name of the model in the explorer; empty if it has none of that shape."""
    same = [name for name in _options("model") if not any(_differences(model, MODELS[name]))]
    return model.name if model.name in same else next(iter(same), "")


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
