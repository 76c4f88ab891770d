"""One line after another: what is predicted for each, in its place."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from app.core.errors import InputError
from app.core.predicting.estimate import Estimate, estimate
from app.core.predicting.record_reader import PredictionReader, Reference, line_reference
from app.core.predicting.tally import PredictionTally, TalliedLine
from app.core.predicting.why import why

_LONGEST = 500  # characters of an error
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

    def results(self, lines: Iterable[bytes | None]) -> Iterator[bytes]:
        """A line of JSON for each of the next *lines* that is not blank; None is one too long."""
        for line in lines:
            yield from self.batch([line])

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
    return [_predicted_line(number, line, limit) for number, line in lines]


@cache
def _reader() -> PredictionReader:
    return PredictionReader()  # it remembers records, of all batches


def _predicted_line(number: int, line: bytes | None, limit: int) -> PredictedLine:
    if line is None:
        return _refused_line(number, b"", f"too long: at most {limit:,} bytes are read")
    try:
        read = _reader().read(line)
        found = estimate(read.asked)
    except (InputError, ValueError, RecursionError) as error:
        return _refused_line(number, line, str(error))
    except ArithmeticError:
        return _refused_line(number, line, "the result is too large for a number")
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
            "why": why(found),
        }
    )


def _lines_line(values: dict[str, object]) -> bytes:
    return json.dumps(values).encode() + b"\n"
