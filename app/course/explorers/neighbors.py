"""Layouts that are one legal step away: what a single change does to memory and time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core.formulas.presets import Layout
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, figures, show
from app.course.explorers.base import StateRow, Values, change_words, counted
from app.course.explorers.controls import Control, Select, Slider, address_text
from app.course.explorers.placements import Placement, exact_placement
from app.course.explorers.projection import Projection, projection

MOST = 3  # neighbors that are shown
HEADER = (noted("One change"), noted("Step"), noted("Memory per GPU"), noted("GPU-hours of the run"))
_DEGREES = ("gpus", "tensor", "pipeline", "virtual", "context", "micro")  # doubled and halved
_RISING = {"stage": ("0", "1", "2", "3"), "recompute": ("none", "selective", "operations", "full")}
_AGAIN = {
    "none": noted("No recomputation"),
    "selective": noted("Selective recomputation"),
    "operations": noted("Recomputation of operations"),
    "full": noted("Full recomputation"),
}
_GAIN = 0.005  # of the GPU-hours: the formulas are not more exact than that


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A run that is one step away, and the whole state of its controls."""

    run: Projection
    changed: str
    state: Mapping[str, str]


def best_neighbors(controls: Sequence[Control], values: Values, run: Projection) -> tuple[Neighbor, ...]:
    """The best neighbors of *run*, the best first.

    Those that fit, by their GPU-hours; where nothing fits, those that need less memory.
    """
    moved = _neighbors(controls, _as_placed(values, run.placed))
    same = run.times, run.memory  # such as two chunks of a pipeline of one stage
    found = [one for one in moved if (one.run.times, one.run.memory) != same]
    fitting = [one for one in found if one.run.spare >= 0]
    if fitting or run.spare >= 0:
        return tuple(sorted(fitting, key=lambda one: one.run.hours)[:MOST])
    smaller = [one for one in found if one.run.spare > run.spare]
    return tuple(sorted(smaller, key=lambda one: -one.run.spare)[:MOST])


def is_better(other: Neighbor, run: Projection) -> bool:
    """Whether *other* fits and takes fewer GPU-hours than *run*, or *run* does not fit."""
    return other.run.spare >= 0 > run.spare or (other.run.spare >= 0 and other.run.hours < run.hours * (1 - _GAIN))


def neighbor_row(run: Projection, other: Neighbor) -> StateRow:
    """*other*, compared with *run*."""
    then = other.run
    cells = (
        f"{show(then.times.total, SECOND)} ({change_words(then.times.total, run.times.total)})",
        f"{show(then.memory.total, BYTE)} ({change_words(then.memory.total, run.memory.total)})",
        f"{figures(float(f'{then.hours:.4g}'))} ({change_words(then.hours, run.hours)})",
    )
    return StateRow(other.changed, other.state, cells)


def _as_placed(values: Values, placed: Placement) -> Values:
    """The controls as *placed* has them."""
    layout = placed.layout
    return Values(
        values
        | {
            "tensor": layout.tensor,
            "pipeline": layout.pipeline,
            "virtual": layout.virtual,
            "context": layout.context,
            "expert": layout.expert,
            "micro": layout.micro_batch,
            "batch": layout.data * layout.microbatches * layout.micro_batch,
        }
    )


def _neighbors(controls: Sequence[Control], values: Values) -> Iterator[Neighbor]:
    state = _state(controls, values)
    for control in controls:
        for value in _steps(control, values):
            moved = Values(values | {control.name: value})
            try:
                placed = exact_placement(moved)
                run = projection(moved, placed)
            except ValueError:
                continue
            text = address_text(control, value)
            changed = _named(control.name, str(value), placed.layout)
            yield Neighbor(run, changed, {**state, control.name: text})


def _state(controls: Sequence[Control], values: Values) -> Mapping[str, str]:
    return {one.name: address_text(one, values[one.name]) for one in controls}


def _steps(control: Control, values: Values) -> Iterator[float | str]:
    """The next values of a control, up and down, as far as it goes."""
    if isinstance(control, Select) and control.name in _RISING:
        known = _RISING[control.name]
        at = known.index(values.word(control.name))
        yield from known[max(0, at - 1) : at] + known[at + 1 : at + 2]
    elif isinstance(control, Slider) and control.name in _DEGREES:
        now = values.count(control.name)
        halved = (now // 2,) if now % 2 == 0 else ()
        yield from (value for value in (2 * now, *halved) if control.low <= value <= control.high)


def _named(name: str, value: str, layout: Layout) -> str:
    return {
        "tensor": translate(
            "Tensor parallelism {tensor}, data parallelism {data}", tensor=layout.tensor, data=layout.data
        ),
        "context": translate(
            "Context parallelism {context}, data parallelism {data}", context=layout.context, data=layout.data
        ),
        "virtual": counted(layout.virtual, "pipeline chunk") + translate(" per GPU"),
        "pipeline": translate(
            "{pipeline_stage}, data parallelism {data}",
            pipeline_stage=counted(layout.pipeline, "pipeline stage"),
            data=layout.data,
        ),
        "gpus": translate("{gpu}: data parallelism {data}", gpu=counted(layout.gpus, "GPU"), data=layout.data),
        "micro": translate("Micro-batches of {sequence}", sequence=counted(layout.micro_batch, "sequence")),
        "stage": translate("ZeRO stage {value}", value=value),
        "recompute": _AGAIN.get(value, ""),
    }[name]
