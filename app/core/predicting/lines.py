"""One line after another: what is predicted for each, in its place."""

import json
from collections.abc import Iterable, Iterator

from app.core.errors import InputError
from app.core.predicting.estimate import Estimate, estimate
from app.core.predicting.record_reader import PredictionReader, Reference, line_reference
from app.core.predicting.tally import PredictionTally
from app.core.predicting.why import why

_LONGEST = 500  # characters of an error


class Predictor:
    """Predicts line by line; *limit* is the most bytes of a line."""

    def __init__(self, limit: int) -> None:
        self.tally = PredictionTally()
        self._limit = limit
        self._reader = PredictionReader()
        self._number = 0

    def results(self, lines: Iterable[bytes | None]) -> Iterator[bytes]:
        """A line of JSON for each of the next *lines* that is not blank; None is one too long."""
        for line in lines:
            self._number += 1
            if line is None or line.strip():
                yield self._result(line)

    def _result(self, line: bytes | None) -> bytes:
        if line is None:
            return self._error(b"", f"too long: at most {self._limit:,} bytes are read")
        try:
            read = self._reader.read(line)
            found = estimate(read.asked)
        except (InputError, ValueError, RecursionError) as error:
            return self._error(line, str(error))
        except ArithmeticError:
            return self._error(line, "the result is too large for a number")
        self.tally.count(read, found)
        return prediction_row(read.ref, found)

    def _error(self, line: bytes, says: str) -> bytes:
        self.tally.errors += 1
        says = says if len(says) <= _LONGEST else f"{says[:_LONGEST]}..."
        return _lines_line({"ref": line_reference(line), "error": f"line {self._number}: {says}"})


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
