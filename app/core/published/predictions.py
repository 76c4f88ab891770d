"""What the formulas say of a published run, and how far they are from what was measured."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from app.core.formulas.layout import step_time_range
from app.core.formulas.memory import card_memory
from app.core.formulas.step.cluster_speeds import attention_kernels
from app.core.published.rows import PublishedRun
from app.core.published.sources import published_runs
from app.core.units import Bytes, Ratio, Seconds

NEAR = 0.10  # a deviation up to here needs no reason


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """The time of a step, from *low* to *high*, and what the fullest GPU's allocator reserves."""

    low: Seconds
    high: Seconds
    memory: Bytes

    @property
    def middle(self) -> Seconds:
        """The geometric mean of both ends."""
        return math.sqrt(self.low * self.high)

    @property
    def is_interval(self) -> bool:
        """Whether a share that the formulas need has no source, so that both ends differ."""
        return self.high > self.low


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run and its prediction; without one, *why* not."""

    run: PublishedRun
    prediction: StepPrediction | None
    why: str = ""

    @property
    def error(self) -> Ratio:
        """How much longer the predicted step is than the measured one; 0 without a prediction."""
        if self.prediction is None:
            return 0.0
        return self.prediction.middle / self.run.step_time - 1

    @property
    def holds(self) -> bool:
        """Whether the measured time lies within the predicted interval."""
        found = self.prediction
        return found is not None and found.low <= self.run.step_time <= found.high

    @property
    def is_near(self) -> bool:
        """Whether the prediction is at most a tenth away, or an interval that holds the time."""
        return self.prediction is not None and (self.holds or abs(self.error) <= NEAR)

    @property
    def memory_error(self) -> Ratio | None:
        """How much more memory is predicted than was measured; None if it was not."""
        if self.prediction is None or not self.run.printed.memory:
            return None
        return self.prediction.memory / self.run.printed.memory - 1

    @property
    def reason(self) -> str:
        """Why time or memory is more than a tenth away, as far as the source tells."""
        near = self.is_near and abs(self.memory_error or 0.0) <= NEAR
        return "" if self.prediction is None or near else "; ".join(self.run.apart)


@dataclass(frozen=True, slots=True)
class PublishedAccuracy:
    """How near the predictions of some runs are; of *intervals*, how many hold the measurement.

    *error* is the mean of the absolute deviations of those predicted by one number, *bias* the
    mean with signs; both are None if there are none. *width* is the mean of an interval's high end
    over its low end.
    """

    rows: int
    predicted: int
    points: int
    error: Ratio | None
    bias: Ratio | None
    intervals: int
    held: int
    width: Ratio | None
    worst: Outcome | None


def outcome(run: PublishedRun) -> Outcome:
    """What the formulas say of *run*."""
    if run.shape is None or run.layout is None:
        return Outcome(run, None, run.unknown)
    try:
        recipe = run.source.recipe
        low, high = step_time_range(run.shape, run.machine.cluster, run.layout, recipe=recipe)
        kernels = attention_kernels(run.shape, run.machine.cluster.gpu)
        memory = card_memory(run.shape, run.layout, recipe, kernels=kernels).reserved
    except ValueError as error:
        return Outcome(run, None, f"the formulas refuse its layout: {error}")
    return Outcome(run, StepPrediction(low, high, memory))


@cache
def outcomes() -> tuple[Outcome, ...]:
    """What the formulas say of every row."""
    return tuple(outcome(run) for run in published_runs())


def accuracy(found: Iterable[Outcome]) -> PublishedAccuracy:
    """How near the predictions among *found* are."""
    every = tuple(found)
    predicted = [one for one in every if one.prediction]
    points = [one for one in predicted if one.prediction and not one.prediction.is_interval]
    wide = [one for one in predicted if one.prediction and one.prediction.is_interval]
    return PublishedAccuracy(
        rows=len(every),
        predicted=len(predicted),
        points=len(points),
        error=_mean([abs(one.error) for one in points]),
        bias=_mean([one.error for one in points]),
        intervals=len(wide),
        held=sum(one.holds for one in wide),
        width=_mean([one.prediction.high / one.prediction.low for one in wide if one.prediction]),
        worst=max((one for one in predicted if not one.holds), key=_far, default=None),
    )


def _far(found: Outcome) -> float:
    return abs(found.error)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
