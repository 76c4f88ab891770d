"""A whole run, projected, and the layouts that are one legal step away."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.core import units
from app.core.formulas.cost import energy, gpu_hours, rental_cost
from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.presets import GIVEN, Layout, Shares
from app.core.formulas.step.layer import counted_flops
from app.core.formulas.step.memory import StageMemory
from app.core.formulas.throughput import model_utilization, training_time
from app.core.translation import noted, translate
from app.course.explorers.base import StateRow, Values
from app.course.explorers.controls import Control, Select, Slider, address_text
from app.course.explorers.placements import DEGREE_NAMES, Placement, exact_placement, layout_state
from app.course.explorers.words import change_words, counted_noun

_TRILLION = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A run over *tokens* with the layout of *placed*; its FLOP are those of the model, with a causal mask."""

    placed: Placement
    memory: StageMemory
    times: StepTime
    token_flops: units.Flops
    utilization: units.Ratio
    tokens: units.Count
    price: units.DollarsPerHour = 0.0
    shares: Shares = GIVEN

    @property
    def gpus(self) -> units.Count:
        """GPUs of the run."""
        return self.placed.cluster.gpus

    @property
    def room(self) -> units.Bytes:
        """Memory of a GPU."""
        return self.placed.cluster.gpu.memory

    @property
    def spare(self) -> units.Bytes:
        """Memory of a GPU that is left over; less than nothing if it is too small."""
        return self.room - self.memory.total

    @property
    def rate(self) -> units.FlopsPerSecond:
        """FLOP per second that a GPU computes for the model."""
        return self.utilization * self.placed.cluster.gpu.peak

    @property
    def token_rate(self) -> units.PerSecond:
        """Tokens per second and GPU."""
        return self.placed.layout.tokens / self.times.total / self.gpus

    @property
    def duration(self) -> units.Seconds:
        """Length of the run, without interruptions."""
        return self._duration_of(self.tokens)

    @property
    def hours(self) -> float:
        """GPU-hours of the run."""
        return gpu_hours(self.gpus, self.duration)

    @property
    def hours_per_trillion(self) -> float:
        """GPU-hours for a trillion tokens."""
        return gpu_hours(self.gpus, self._duration_of(_TRILLION))

    @property
    def rent(self) -> units.Dollars:
        """What the GPUs cost."""
        return rental_cost(self.gpus, self.duration, self.price)

    @property
    def energy(self) -> units.Joules:
        """Energy of the GPUs."""
        return energy(self.gpus, self.placed.cluster.gpu.power, self.duration)

    @property
    def communication(self) -> units.Seconds:
        """Time of a step in which GPUs only send and wait for messages."""
        return sum(spent for _, spent in self.sent)

    @property
    def sent(self) -> tuple[tuple[str, units.Seconds], ...]:
        """The parts of that time, by kind of parallelism."""
        times = self.times
        return (
            (translate("tensor parallelism"), times.tensor),
            (translate("context parallelism"), times.context),
            (translate("expert parallelism"), times.expert),
            (translate("messages between stages"), times.messages),
            (translate("data parallelism"), times.data),
        )

    def _duration_of(self, tokens: units.Count) -> units.Seconds:
        peak = self.placed.cluster.gpu.peak
        return training_time(self.token_flops * tokens, self.gpus, peak, self.utilization)


def projection(values: Values, placed: Placement) -> Projection:
    """The run that the controls describe, laid out as in *placed*."""
    return project_run(
        placed,
        tokens=round(values.number("tokens")),
        shares=Shares(product=values.number("product") / 100),
        price=values.number("price"),
    )


def project_run(
    placed: Placement, tokens: units.Count, shares: Shares = GIVEN, price: units.DollarsPerHour = 0.0
) -> Projection:
    """A run over *tokens*; kernels and links reach *shares* of their peaks.

    Raises:
        ValueError: the layout does not divide the model.
    """
    shape, layout, cluster = placed.model, placed.layout, placed.cluster
    times = step_time(shape, cluster, layout, shares)
    flops = counted_flops(shape, layout.sequence)
    used = model_utilization(flops * layout.tokens, times.total, cluster.gpus, cluster.gpu.peak)
    return Projection(
        placed=placed,
        memory=placed.memory,
        times=times,
        token_flops=flops,
        utilization=min(used, 1.0),  # it may be 1 and the noise of a sum
        tokens=tokens,
        price=price,
        shares=shares,
    )


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
    """The best neighbors of *run* that fit, by GPU-hours; where nothing fits, those that need the least memory."""
    own = layout_state(run.placed.layout)
    moved = _neighbors(controls, Values(values | {name: int(own[name]) for name in DEGREE_NAMES}))
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
        f"{units.show(then.times.total, units.SECOND)} ({change_words(then.times.total, run.times.total)})",
        f"{units.show(then.memory.total, units.BYTE)} ({change_words(then.memory.total, run.memory.total)})",
        f"{units.figures(float(f'{then.hours:.4g}'))} ({change_words(then.hours, run.hours)})",
    )
    return StateRow(other.changed, other.state, cells)


def _neighbors(controls: Sequence[Control], values: Values) -> Iterator[Neighbor]:
    state = {one.name: address_text(one, values[one.name]) for one in controls}
    for control in controls:
        for value in _steps(control, values):
            moved = Values(values | {control.name: value})
            try:
                placed = exact_placement(moved)
                run = projection(moved, placed)
            except ValueError:
                continue
            text = address_text(control, value)
            changed = _control_text(control.name, str(value), placed.layout)
            yield Neighbor(run, changed, {**state, control.name: text})


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


def _control_text(name: str, value: str, layout: Layout) -> str:
    return {
        "tensor": translate(
            "Tensor parallelism {tensor}, data parallelism {data}", tensor=layout.tensor, data=layout.data
        ),
        "context": translate(
            "Context parallelism {context}, data parallelism {data}", context=layout.context, data=layout.data
        ),
        "virtual": counted_noun(layout.virtual, "pipeline chunk") + translate(" per GPU"),
        "pipeline": translate(
            "{pipeline_stage}, data parallelism {data}",
            pipeline_stage=counted_noun(layout.pipeline, "pipeline stage"),
            data=layout.data,
        ),
        "gpus": translate("{gpu}: data parallelism {data}", gpu=counted_noun(layout.gpus, "GPU"), data=layout.data),
        "micro": translate("Micro-batches of {sequence}", sequence=counted_noun(layout.micro_batch, "sequence")),
        "stage": translate("ZeRO stage {value}", value=value),
        "recompute": _AGAIN.get(value, ""),
    }[name]
