"""What a file of predictions amounts to."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from app.core.predicting.accuracy import Accuracy, Summary
from app.core.predicting.estimate import Estimate
from app.core.predicting.record_reader import PredictionLine
from app.core.units import Bytes, Seconds


class TalliedLine(NamedTuple):
    """What counts of a line: what was measured, 0 where nothing was, and what was predicted."""

    group: str
    measured: Seconds
    measured_memory: Bytes
    total: Seconds
    low: Seconds
    high: Seconds
    allocated: Bytes
    fits: bool

    @classmethod
    def of(cls, line: PredictionLine, found: Estimate) -> "TalliedLine":
        """That of *line*, for which *found* is predicted."""
        measured = line.group, line.measured, line.measured_memory
        return cls(*measured, found.total, found.low, found.high, found.allocated, found.fits)


@dataclass(slots=True)
class PredictionTally:
    """Counts of lines, and how far predictions are from what was measured.

    *refuted* runs were measured, and predicted not to fit.
    """

    predicted: int = 0
    errors: int = 0
    refuted: int = 0
    times: Accuracy = field(default_factory=Accuracy)
    memory: Accuracy = field(default_factory=Accuracy)

    def __str__(self) -> str:
        return "\n".join([self._counts(), *self._agreement()])

    @property
    def text(self) -> str:
        """The summary as a line of JSON."""
        times, memory = self.times.summary(), self.memory.summary()
        summary = {
            "predicted": self.predicted,
            "errors": self.errors,
            "measured_but_predicted_not_to_fit": self.refuted,
            "step_time": times and asdict(times),
            "memory": memory and asdict(memory),
        }
        return json.dumps({"summary": summary})

    def count(self, line: TalliedLine) -> None:
        """Add the prediction for *line*."""
        self.predicted += 1
        if line.measured:
            self.times.add(line.group, line.total, line.measured)
            if line.low < line.high:
                self.times.bracket(line.low, line.high, line.measured)
        if line.measured_memory:
            self.memory.add(line.group, line.allocated, line.measured_memory)
        self.refuted += not line.fits and bool(line.measured or line.measured_memory)

    def _counts(self) -> str:
        return f"{_several(self.predicted, 'prediction')}, {_several(self.errors, 'line')} with an error"

    def _agreement(self) -> Iterator[str]:
        for name, accuracy in (("step time", self.times), ("memory", self.memory)):
            if (found := accuracy.summary()) is not None:
                yield from _said(name, found)
        if self.refuted:
            yield f"{_several(self.refuted, 'measured run')} predicted not to fit"


def _said(name: str, found: Summary) -> Iterator[str]:
    says = [f"MAPE {_percent(found.mape)}", f"bias {found.bias:+.1%}".replace("%", " %")]
    if found.spearman is not None:
        says.append(f"Spearman {found.spearman:.3f}")
    if found.regret is not None and found.worst_regret is not None:
        says.append(f"regret {_percent(found.regret)}, at worst {_percent(found.worst_regret)}")
    groups = f" in {_several(found.groups, 'group')}" if found.groups > 1 else ""
    yield f"{name}: {found.rows:,} measured, {', '.join(says)}{groups}"
    if found.interval_width is not None:
        yield (
            f"  {found.inside:,} of {_several(found.intervals, 'interval')} hold what was measured;"
            f" their mean width is {_percent(found.interval_width)}"
        )
    if found.ranked < found.rows:
        yield f"  Spearman is that of the first {found.ranked:,} rows"


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
