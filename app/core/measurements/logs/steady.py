"""The steps after warm-up, and how long one takes: as printed, checked by the clock."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.measurements.logs.runs import LoggedStep, LogRun, StepCount
from app.core.measurements.number_checks import far_apart
from app.core.units import SECOND, Seconds, show

_FEW = 10  # steps of which none is left out
_SHARP = 10.0  # seconds between lines with a clock of whole seconds that are exact enough


@dataclass(frozen=True, slots=True)
class SteadyRun:
    """The steps of a run after warm-up: of more than ten the first tenth, at least two, is out."""

    run: LogRun
    counts: Sequence[tuple[StepCount, Sequence[LoggedStep]]]
    aside: Sequence[LoggedStep]  # lines that do not say which step

    @classmethod
    def of(cls, run: LogRun) -> "SteadyRun":
        """The steady part of *run*."""
        counts = [(count, _steady(_whole_steps(count))) for count in run.ordered()]
        return cls(run, counts, _steady(run.unnumbered))

    @property
    def family(self) -> str:
        """Whose log it is."""
        first = self.run.family
        return "hf-trainer" if self.run.trainer else first.name if first else "megatron"

    @property
    def count(self) -> int:
        """How many steps there are."""
        if self.counts:
            return len(self.counts[0][0].steps)
        return len(self.run.unnumbered) or round(self.run.summary.get("steps", 0))

    def each(self, name: str) -> list[float]:
        """What the steps say as *name*, of the first family that says it."""
        for _, steps in (*self.counts, (None, self.aside)):
            if values := [step.values[name] for step in steps if name in step.values]:
                return values
        return []

    def median(self, name: str) -> float | None:
        """The median of what the steps say as *name*; None if none does."""
        values = self.each(name)
        return statistics.median(values) if values else None

    def by_clock(self) -> tuple[Seconds | None, bool]:
        """Seconds of a step by the times of the lines, and whether these have whole seconds."""
        for count, steps in self.counts:
            if (time := _by_clock(steps, coarse=count.coarse)) is not None:
                return time, count.coarse
        return None, True

    def fault_of_rate(self) -> str:
        """What is known to be wrong with the samples per second; empty for most."""
        for count, steps in self.counts:
            if any("samples_per_second" in step.values for step in steps):
                return count.family.rate_fault
        return ""


def _steady(steps: Sequence[LoggedStep]) -> Sequence[LoggedStep]:
    return steps[max(2, len(steps) // 10) :] if len(steps) > _FEW else steps


def _whole_steps(count: StepCount) -> Sequence[LoggedStep]:
    """The steps; where each micro-batch is printed, without the first and the last."""
    steps = sorted(count.steps.values(), key=lambda step: step.number)
    summed = any(step.micro for step in steps)
    return steps[1:-1] if summed and len(steps) > 2 else steps  # noqa: PLR2004 (ends)


def _by_clock(steps: Sequence[LoggedStep], *, coarse: bool) -> Seconds | None:
    timed = [step for step in steps if step.at is not None]
    pairs = [(a, b) for a, b in zip(timed, timed[1:], strict=False) if b.number > a.number]
    gaps = [((b.at or 0) - (a.at or 0), b.number - a.number) for a, b in pairs]
    if not gaps or sum(gap for gap, _ in gaps) <= 0:
        return None
    if coarse and statistics.median(gap for gap, _ in gaps) < _SHARP:
        # Whole seconds: only their sum is exact.
        return sum(gap for gap, _ in gaps) / sum(count for _, count in gaps)
    return statistics.median(gap / count for gap, count in gaps)


def batch_of(steady: SteadyRun) -> float | None:
    """Sequences of a step of all GPUs."""
    return steady.median("global_batch") or steady.run.settings.count("global_batch") or None


def measured_step_time(steady: SteadyRun) -> tuple[Seconds | None, str]:
    """Seconds of a step: as printed, else by the samples per second, else by the clock.

    Where the clock differs by more than a quarter, it is the measurement.
    """
    printed, said, fault = _printed(steady)
    clock, coarse = steady.by_clock()
    if printed is None or clock is None:
        return printed or clock, ""
    if not far_apart(clock, printed) or (coarse and abs(clock - printed) < 1):
        return printed, ""
    known = fault or (
        "the clock counts whatever lies between two steps, such as a checkpoint, and the printed"
        " time may leave out a part of the step"
    )
    return clock, (
        f"{said} says {show(printed, SECOND)} for a step, and its clock says {show(clock, SECOND)},"
        f" which is shown; {known}"
    )


def _printed(steady: SteadyRun) -> tuple[Seconds | None, str, str]:
    """Seconds of a step as the log says, how it says so, and what is known to be wrong with it."""
    if (printed := steady.median("step_time")) is not None:
        return printed, "the log", ""
    rate, batch = steady.median("samples_per_second"), batch_of(steady)
    if rate and batch:
        text = f"{rate:.4g} samples per second of {batch:g} a step"
        return batch / rate, text, steady.fault_of_rate()
    return steady.run.summary.get("step_time"), "the log", ""
