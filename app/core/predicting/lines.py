"""One line after another: what is predicted for each, and how far a file of them is from what was measured."""

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from itertools import groupby
from typing import NamedTuple

from app.core.errors import InputError
from app.core.formulas.presets import Cluster
from app.core.formulas.presets.stacks import STACK_KEYS
from app.core.predicting.estimate import Estimate, StepFigures, estimate, explain_estimate, figures_in_columns
from app.core.predicting.reader import PredictionLine, PredictionReader, Reference, line_reference
from app.core.units import Bytes, Seconds

_FEWEST = 2  # rows of a group that can be ranked


@dataclass(slots=True)
class _Group:
    """The rows of a group, and the measurement of those that are predicted to be the best."""

    predicted: "array[float]" = field(default_factory=lambda: array("d"))
    measured: "array[float]" = field(default_factory=lambda: array("d"))
    rows: int = 0
    first: float = math.inf
    firsts: int = 0
    sum_of_firsts: float = 0.0
    best: float = math.inf

    def add(self, predicted: float, measured: float) -> None:
        self.rows += 1
        self.best = min(self.best, measured)
        if predicted < self.first:
            self.first, self.firsts, self.sum_of_firsts = predicted, 0, 0.0
        if predicted == self.first:
            self.firsts += 1
            self.sum_of_firsts += measured

    @property
    def regret(self) -> float:
        """How much more than the best the row that is ranked first has; the mean of equal ones."""
        return max(0.0, self.sum_of_firsts / self.firsts / self.best - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Errors relative to what was measured, and agreement in rank.

    *mape* is the mean absolute error, *bias* the mean error, positive where predictions are too
    high. *spearman* and *regret* are means over *groups*, None if no group has two rows; *ranked*
    rows were compared in rank. Of the *intervals*, *inside* hold what was measured.
    """

    rows: int
    mape: float
    bias: float
    spearman: float | None
    groups: int
    regret: float | None
    worst_regret: float | None
    worst_group: str | None
    ranked: int
    intervals: int
    inside: int
    interval_width: float | None


class Accuracy:
    """Predictions beside measurements, added one by one; memory is bounded.

    The first *ranked* rows are compared in rank, and the first *groups* are ranked at all; the
    errors are those of every row.
    """

    def __init__(self, ranked: int = 200_000, groups: int = 100_000) -> None:
        self._most_ranked, self._most_groups = ranked, groups
        self._rows = self._ranked = self._intervals = self._inside = 0
        self._absolute = self._signed = self._width = 0.0
        self._groups: dict[str, _Group] = {}

    def add(self, group: str, predicted: float, measured: float) -> None:
        """Add a row of *group*; what was *measured* is above 0."""
        error = predicted / measured - 1
        self._rows += 1
        self._absolute += abs(error)
        self._signed += error
        rows = self._groups.get(group)
        if rows is None:
            if len(self._groups) >= self._most_groups:
                return
            rows = self._groups[group] = _Group()
        rows.add(predicted, measured)
        if self._ranked < self._most_ranked:
            self._ranked += 1
            rows.predicted.append(predicted)
            rows.measured.append(measured)

    def bracket(self, low: float, high: float, measured: float) -> None:
        """Count whether the interval from *low* to *high* holds what was *measured*."""
        self._intervals += 1
        self._inside += low <= measured <= high
        self._width += (high - low) / ((high + low) / 2)

    def summary(self) -> Summary | None:
        """The summary of all rows; None if there are none."""
        if not self._rows:
            return None
        groups = {name: rows for name, rows in self._groups.items() if rows.rows >= _FEWEST}
        worst = max(groups, key=lambda name: groups[name].regret, default=None)
        ranks = [found for rows in groups.values() if (found := spearman(rows.predicted, rows.measured)) is not None]
        return Summary(
            rows=self._rows,
            mape=self._absolute / self._rows,
            bias=self._signed / self._rows,
            spearman=_mean(ranks),
            groups=len(groups),
            regret=_mean([rows.regret for rows in groups.values()]),
            worst_regret=None if worst is None else groups[worst].regret,
            worst_group=worst,
            ranked=self._ranked,
            intervals=self._intervals,
            inside=self._inside,
            interval_width=self._width / self._intervals if self._intervals else None,
        )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values with their mean rank; None if it is undefined.

    >>> spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
    0.5
    """
    one, other = ranks(first), ranks(second)
    middle = (len(one) + 1) / 2
    square = math.sqrt(sum((a - middle) ** 2 for a in one) * sum((b - middle) ** 2 for b in other))
    if not square:
        return None
    return sum((a - middle) * (b - middle) for a, b in zip(one, other, strict=True)) / square


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each of *values* from 1; equal ones share the mean of theirs.

    >>> ranks([30.0, 10.0, 30.0])
    [2.5, 1.0, 2.5]
    """
    found = [0.0] * len(values)
    before = 0
    for _, equal in groupby(sorted(range(len(values)), key=values.__getitem__), values.__getitem__):
        places = list(equal)
        for place in places:
            found[place] = before + (len(places) + 1) / 2
        before += len(places)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


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
        counts = f"{_several(self.predicted, 'prediction')}, {_several(self.errors, 'line')} with an error"
        return "\n".join([counts, *self._agreement()])

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


_LONGEST = 500  # characters of an error
_MOST_BYTES = 1 << 22  # of lines that are read at once
_REMEMBERED = 512  # clusters that are put into words once
_TOO_LARGE = "the result is too large for a number"
NumberedLine = tuple[int, bytes | None]


class PredictedLine(NamedTuple):
    """A line of JSON with what is predicted, and what counts of it; None if it has an error."""

    row: bytes
    counts: TalliedLine | None


class Predictor:
    """Predicts line by line; *limit* is the most bytes of a line.

    *run* calls the function that reads and predicts lines, here or in another process.
    """

    def __init__(
        self, limit: int, run: "Callable[[Sequence[NumberedLine], int], list[PredictedLine]] | None" = None
    ) -> None:
        self.tally = PredictionTally()
        self._limit = limit
        self._run = run or predict_lines
        self._number = 0

    def results(self, lines: Iterable[bytes | None], at_once: int = 1) -> Iterator[bytes]:
        """A line of JSON for each of the next *lines* that is not blank; None is one too long.

        *at_once* lines are read before the first is answered; fewer if they are long.
        """
        some: list[bytes | None] = []
        size = 0
        for line in lines:
            some.append(line)
            size += len(line or b"")
            if len(some) >= at_once or size > _MOST_BYTES:
                yield from self.batch(some)
                some, size = [], 0
        yield from self.batch(some)

    def batch(self, lines: Iterable[bytes | None]) -> Iterator[bytes]:
        """As `results`, for lines that are predicted at once."""
        numbered = list(enumerate(lines, self._number + 1))
        self._number += len(numbered)
        for found in self._predicted([(n, line) for n, line in numbered if line is None or line.strip()]):
            if found.counts:
                self.tally.count(found.counts)
            else:
                self.tally.errors += 1
            yield found.row

    def _predicted(self, lines: Sequence[NumberedLine]) -> list[PredictedLine]:
        """What is predicted for *lines*; if all together are too much, for each by itself."""
        try:
            return self._run(lines, self._limit) if lines else []
        except InputError as error:
            if len(lines) == 1:
                return [_refused_line(*lines[0], str(error))]
        return [found for one in lines for found in self._predicted([one])]


def predict_lines(lines: Sequence[NumberedLine], limit: int) -> list[PredictedLine]:
    """What is predicted for each of *lines*, which have at most *limit* bytes."""
    read = [_read_line(line, limit) for _, line in lines]
    known = [one for one in read if isinstance(one, PredictionLine)]
    figures = iter(figures_in_columns([one.asked for one in known]))
    return [
        _refused_line(number, line, one) if isinstance(one, str) else _predicted_line(number, line, one, next(figures))
        for (number, line), one in zip(lines, read, strict=True)
    ]


@cache
def _reader() -> PredictionReader:
    return PredictionReader()  # it remembers records, of all batches


def _read_line(line: bytes | None, limit: int) -> PredictionLine | str:
    """What *line* says, or why it cannot be read."""
    if line is None:
        return f"too long: at most {limit:,} bytes are read"
    try:
        return _reader().read(line)
    except (InputError, ValueError, RecursionError) as error:
        return str(error)
    except ArithmeticError:
        return _TOO_LARGE


def _predicted_line(
    number: int, line: bytes | None, read: PredictionLine, figures: StepFigures | None
) -> PredictedLine:
    try:
        found = estimate(read.asked, figures)
    except (InputError, ValueError, RecursionError) as error:
        return _refused_line(number, line, str(error))
    except ArithmeticError:
        return _refused_line(number, line, _TOO_LARGE)
    return PredictedLine(prediction_row(read.ref, found), TalliedLine.of(read, found))


def _refused_line(number: int, line: bytes | None, says: str) -> PredictedLine:
    says = says if len(says) <= _LONGEST else f"{says[:_LONGEST]}..."
    return PredictedLine(_lines_line({"ref": line_reference(line or b""), "error": f"line {number}: {says}"}), None)


def prediction_row(ref: Reference, found: Estimate) -> bytes:
    """The line of JSON for what was *found*."""
    return _lines_line(
        {
            "ref": ref,
            "step_time": found.total,
            "low": found.low,
            "high": found.high,
            "parts": found.parts,
            "tokens_per_second_per_gpu": found.token_rate,
            "mfu": found.utilization,
            "memory": {
                "allocated": found.allocated,
                "reserved": found.reserved,
                "stages": found.stages,
                "parts": found.memory,
            },
            "fits": found.fits,
            "why": explain_estimate(found),
            "cluster": _cluster_fields(found.cluster),
            "stack": {name: getattr(found.stack, name) for name in ("name", *STACK_KEYS)},
            "doubts": found.doubts,
        }
    )


@lru_cache(_REMEMBERED)
def _cluster_fields(cluster: Cluster) -> Mapping[str, object]:
    node = min(cluster.gpus, cluster.gpus_per_node)
    return {
        "gpu": cluster.gpu.name,
        "nodes": -(-cluster.gpus // node),
        "gpus_per_node": node,
        "intra_bandwidth": cluster.intra_bandwidth,
        "inter_bandwidth": cluster.inter_bandwidth,
        "text": cluster.understood,
    }


def _lines_line(values: dict[str, object]) -> bytes:
    return json.dumps(values).encode() + b"\n"
