"""One run of a log: its counts of steps, and what it says of itself."""

from dataclasses import dataclass, field

from app.core.measurements.logs.families import LogFamily
from app.core.measurements.logs.settings import LogSettings
from app.core.measurements.number_checks import Counter, far_apart

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
        if known is not None and _same_line(known, step):
            return False
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
            _add_micro_batch(known, step)
        else:
            for name, value in step.values.items():
                known.values.setdefault(name, value)


_PAUSE = 3600.0  # seconds without a line
_BACK = 60.0  # seconds by which a clock that goes back tells another run


def _same_line(known: LoggedStep, step: LoggedStep) -> bool:
    """Whether *step* was printed twice."""
    same = all(known.values.get(name) == value for name, value in step.values.items())
    return same and bool(step.values) and known.at == step.at


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


def _add_micro_batch(known: LoggedStep, step: LoggedStep) -> None:
    known.micro = step.micro
    known.at = step.at if step.at is not None else known.at
    time = known.values.get("step_time", 0.0) + step.values.get("step_time", 0.0)
    known.values |= {"step_time": time} if time else {}


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
