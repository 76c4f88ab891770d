"""A whole run, projected: its memory, its step, its days and its bill, all from the formulas."""

from dataclasses import dataclass

from app.core.formulas.cost import energy, gpu_hours, rental_cost
from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.presets import GIVEN, Shares
from app.core.formulas.step.memory import StageMemory
from app.core.formulas.step.model_flops import counted_flops
from app.core.formulas.throughput import model_utilization, training_time
from app.core.translation import translate
from app.core.units import (
    Bytes,
    Count,
    Dollars,
    DollarsPerHour,
    Flops,
    FlopsPerSecond,
    Joules,
    PerSecond,
    Ratio,
    Seconds,
)
from app.course.explorers.base import Values
from app.course.explorers.placements import Placement

_TRILLION = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A run over *tokens* with the layout of *placed*.

    *token_flops* and *utilization* are those of the model, with a causal mask.
    """

    placed: Placement
    memory: StageMemory
    times: StepTime
    token_flops: Flops
    utilization: Ratio
    tokens: Count
    price: DollarsPerHour = 0.0

    @property
    def gpus(self) -> Count:
        """GPUs of the run."""
        return self.placed.cluster.gpus

    @property
    def room(self) -> Bytes:
        """Memory of a GPU."""
        return self.placed.cluster.gpu.memory

    @property
    def spare(self) -> Bytes:
        """Memory of a GPU that is left over; less than nothing if it is too small."""
        return self.room - self.memory.total

    @property
    def rate(self) -> FlopsPerSecond:
        """FLOP per second that a GPU computes for the model."""
        return self.utilization * self.placed.cluster.gpu.peak

    @property
    def token_rate(self) -> PerSecond:
        """Tokens per second and GPU."""
        return self.placed.layout.tokens / self.times.total / self.gpus

    @property
    def duration(self) -> Seconds:
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
    def rent(self) -> Dollars:
        """What the GPUs cost."""
        return rental_cost(self.gpus, self.duration, self.price)

    @property
    def energy(self) -> Joules:
        """Energy of the GPUs."""
        return energy(self.gpus, self.placed.cluster.gpu.power, self.duration)

    @property
    def communication(self) -> Seconds:
        """Time of a step in which GPUs only send and wait for messages."""
        return sum(spent for _, spent in self.sent)

    @property
    def sent(self) -> tuple[tuple[str, Seconds], ...]:
        """The parts of that time, by kind of parallelism."""
        times = self.times
        return (
            (translate("tensor parallelism"), times.tensor),
            (translate("context parallelism"), times.context),
            (translate("expert parallelism"), times.expert),
            (translate("messages between stages"), times.messages),
            (translate("data parallelism"), times.data),
        )

    def _duration_of(self, tokens: Count) -> Seconds:
        peak = self.placed.cluster.gpu.peak
        return training_time(self.token_flops * tokens, self.gpus, peak, self.utilization)


def projection(values: Values, placed: Placement) -> Projection:
    """The run that the controls describe, laid out as in *placed*."""
    return projected(
        placed,
        tokens=round(values.number("tokens")),
        shares=Shares(product=values.number("product") / 100),
        price=values.number("price"),
    )


def projected(placed: Placement, tokens: Count, shares: Shares = GIVEN, price: DollarsPerHour = 0.0) -> Projection:
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
    )
