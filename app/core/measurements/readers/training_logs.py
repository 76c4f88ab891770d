"""Training logs, of every family in `app/core/measurements/logs/families`."""

from collections.abc import Iterable
from typing import ClassVar

from app.core.measurements.logs.families import family_titles
from app.core.measurements.logs.reader import LogReader
from app.core.measurements.logs.summary import training_logs
from app.core.measurements.readers.base import TextReader
from app.core.measurements.reports import TrainingLog


class TrainingLogReader(TextReader):
    """Takes every line that nobody else does: it may be a setting."""

    reads: ClassVar = "a training log"
    looks: ClassVar = f"step of a training log of {', '.join(family_titles())}"
    sample: ClassVar = """\
[2026-01-02 10:00:00] iteration 1/ 100 | elapsed time per iteration (ms): 1500.0 |
[2026-01-02 10:00:02] iteration 2/ 100 | elapsed time per iteration (ms): 1400.0 |
"""
    takes_the_rest: ClassVar = True

    def __init__(self) -> None:
        self._log = LogReader()

    def take(self, line: str) -> bool:
        """Read *line*; whether it was that of a step."""
        return self._log.take(line)

    def reports(self, trouble: str = "") -> Iterable[TrainingLog]:
        """The log, if it has steps."""
        return training_logs(self._log, trouble)

    @property
    def refusal(self) -> str:
        """The name of a family of logs that is known and not read."""
        return self._log.foreign
