"""One run of a log, the steps after warm-up, and how long one takes."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.core.measurements.logs.families import LogFamily
from app.core.measurements.logs.settings import LogSettings
from app.core.measurements.number_checks import Counter, far_apart
from app.core.units import SECOND, Seconds, show

MOST_STEPS = 200_000
_LATE = 5.0  # seconds after which the same number is of another time


@dataclass(slots=True)
class LoggedStep:
    """One step as it was logged, in base units."""

    number: int
    at: float | None
    values: dict[str, float]
    micro: int = 0  # the last micro-batch of it, where each is printed


@dataclass(slots=True)
class StepCount:
    """The steps that one family counts; every rank may print the same one."""

    family: LogFamily
    total: str = ""
    steps: dict[int, LoggedStep] = field(default_factory=dict)
    counter: Counter = field(default_factory=Counter)
    coarse: bool = True  # the clock has whole seconds
    left_out: int = 0
    highest: float = 0.0  # the latest time of a line

    def begins_again(self, step: LoggedStep, source: str, total: str) -> bool:
        """Whether *step* is of another run than those before."""
        if self.total and total and total != self.total:
            return True
        known = self.steps.get(step.number)
        if known is not None and known.at == step.at and step.values and known.values.items() >= step.values.items():
            return False  # it was printed twice
        if known is not None and (self._is_another(known, step) or _of_another_time(known, step)):
            return True
        if known is None and self._is_elsewhen(step):
            return True
        return self.counter.began_again(source, step.number, known=known is not None)

    def _is_another(self, known: LoggedStep, step: LoggedStep) -> bool:
        """Whether a family that prints each step once has printed other numbers for it."""
        both = known.values.keys() & step.values.keys()
        return self.family.printed_once and any(known.values[k] != step.values[k] for k in both)

    def _is_elsewhen(self, step: LoggedStep) -> bool:
        """Whether the clock went back, or stood still for long and other numbers follow."""
        if step.at is None or not self.steps:
            return False
        last = self.steps[next(reversed(self.steps))]
        usual = last.values.get("step_time", 0.0) * max(1, step.number - last.number)
        if self.highest - step.at > _BACK:
            return True
        return step.at - self.highest > max(_PAUSE, 10 * usual) and _differ(last, step)

    def add(self, step: LoggedStep) -> None:
        """Keep *step*; what another line or rank said of it first counts."""
        known = self.steps.get(step.number)
        if known is None and len(self.steps) >= MOST_STEPS:
            self.left_out += 1
            return
        if known is None:
            self.steps[step.number] = step
            self.highest = max(self.highest, step.at or 0.0)
        elif step.micro > known.micro:
            known.micro = step.micro
            known.at = step.at if step.at is not None else known.at
            time = known.values.get("step_time", 0.0) + step.values.get("step_time", 0.0)
            known.values |= {"step_time": time} if time else {}
        else:
            for name, value in step.values.items():
                known.values.setdefault(name, value)


_PAUSE = 3600.0  # seconds without a line
_BACK = 60.0  # seconds by which a clock that goes back tells another run


def _of_another_time(known: LoggedStep, step: LoggedStep) -> bool:
    """Whether the same number is of another run: printed later, or with other numbers."""
    if step.micro != known.micro:
        return False
    if known.at is not None and step.at is not None:
        usual = known.values.get("step_time", 0.0)
        return abs(step.at - known.at) > max(_LATE, usual)
    return _differ(known, step)


def _differ(known: LoggedStep, step: LoggedStep) -> bool:
    """Whether one number of both differs by more than a quarter."""
    return any(far_apart(known.values[name], value) for name, value in step.values.items() if name in known.values)


@dataclass(slots=True)
class LogRun:
    """One run: of each family its steps, lines without a number, and the settings."""

    settings: LogSettings = field(default_factory=LogSettings)
    counts: dict[str, StepCount] = field(default_factory=dict)
    unnumbered: list[LoggedStep] = field(default_factory=list)
    summary: dict[str, float] = field(default_factory=dict)  # of the whole run
    odd: dict[str, str] = field(default_factory=dict)  # numbers with an unknown unit
    trainer: bool = False  # of Hugging Face: its lines have no number
    broken: bool = False  # lines of another run lie between its steps
    cut_off: bool = False  # the text ends with its only number

    @property
    def is_one(self) -> bool:
        """Whether there are steps; a bar alone may be of anything."""
        bars = all(count.family.companion and count.total for count in self.counts.values())
        return bool(self.unnumbered or self.summary or (self.counts and not bars)) or (
            self.trainer and bool(self.counts)
        )

    @property
    def family(self) -> LogFamily | None:
        """Whose run it is: of a program rather than of a library beside it."""
        return next((count.family for count in self.ordered()), None)

    def ordered(self) -> list[StepCount]:
        """The counts, those first whose steps count: of a program, then of libraries."""
        return sorted(
            self.counts.values(),
            key=lambda one: (one.family.companion, one.family.rank, -len(one.total), -len(one.steps)),
        )


FEWEST_STEADY = 4  # steps: among fewer, a first one that warms up is not told from the others
_APART = 1.5  # of two steps: by more, one of them is not steady
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
        if is_warm_up(values):
            return values[-1]
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


def is_warm_up(values: Sequence[float]) -> bool:
    """Whether *values* are too few to tell which of them are steady, and far apart."""
    return 1 < len(values) < FEWEST_STEADY and max(values) > _APART * min(values)


def _steady(steps: Sequence[LoggedStep]) -> Sequence[LoggedStep]:
    return steps[max(2, len(steps) // 10) :] if len(steps) > _FEW else steps


def _whole_steps(count: StepCount) -> Sequence[LoggedStep]:
    """The steps; where each micro-batch is printed, without the first and the last."""
    steps = sorted(count.steps.values(), key=lambda step: step.number)
    summed = any(step.micro for step in steps)
    return steps[1:-1] if summed and len(steps) > 2 else steps  # noqa: PLR2004 (ends)


def _by_clock(steps: Sequence[LoggedStep], *, coarse: bool) -> Seconds | None:
    timed = [step for step in steps if step.at is not None]
    gaps = [((b.at or 0) - (a.at or 0), b.number - a.number) for a, b in pairwise(timed)]
    if not gaps or sum(gap for gap, _ in gaps) <= 0:
        return None
    if coarse and statistics.median(gap for gap, _ in gaps) < _SHARP:
        # Whole seconds: only their sum is exact.
        return sum(gap for gap, _ in gaps) / sum(count for _, count in gaps)
    return statistics.median(gap / count for gap, count in gaps)


_TENTH = 10  # of the steps, which warm up
_READ = 1.0  # seconds that a clock of whole seconds is off, at most


def _by_bar(steady: SteadyRun, printed: Seconds | None) -> Seconds | None:
    """Seconds of a step by the clock of a progress bar, between its first line after warm-up and its last.

    What the bar prints is smoothed, and of the few steps before; None where its clock says no more.
    """
    for count in (one for one, _ in steady.counts if one.family.companion and one.total):
        timed = [step for step in count.steps.values() if step.at is not None and step.number > 1]
        whole = int(count.total) if count.total.isdigit() else 0
        late = [step for step in timed if step.number * _TENTH >= min(whole, max(step.number for step in timed))]
        if len(late) < 2:  # noqa: PLR2004 (ends)
            continue
        first, last = (pick(late, key=lambda step: step.number) for pick in (min, max))
        steps, seconds = last.number - first.number, (last.at or 0.0) - (first.at or 0.0)
        if seconds <= 0 or (printed is not None and abs(seconds - printed * steps) <= _READ):
            return None
        return seconds / steps if seconds > _SHARP else None
    return None


def batch_of(steady: SteadyRun) -> float | None:
    """Sequences of a step of all GPUs."""
    return steady.median("global_batch") or steady.run.settings.count("global_batch") or None


def measured_step_time(steady: SteadyRun) -> tuple[Seconds | None, str]:
    """Seconds of a step: as printed, else by the samples per second; by the clock where that differs by a quarter."""
    printed, said, fault = _printed(steady)
    if (bar := _by_bar(steady, printed)) is not None:
        if printed is None or not far_apart(bar, printed):
            return bar, ""
        return bar, (
            f"the bar prints {show(printed, SECOND)} for a step, smoothed over the last few, and its clock says"
            f" {show(bar, SECOND)}, which is shown: with evaluations and checkpoints between the steps"
        )
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
