"""A reader of measurements: it takes the lines of a text that are of its tool."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from app.core.measurements.plausibility import judge_tests
from app.core.measurements.reports import CollectiveTest, TrainingLog
from app.core.measurements.table import CollectiveTable


class TextReader(ABC):
    """Takes the lines of a text one by one, and reports what was in them.

    *reads* is what it reads, as in a list, and *looks* how that looks, for a text that has nothing
    of it; a second format of a tool has neither. *sample* is text from which it makes a report.
    """

    reads: ClassVar[str] = ""
    looks: ClassVar[str] = ""
    sample: ClassVar[str]
    takes_the_rest: ClassVar[bool] = False  # lines that no other reader takes

    @property
    def refusal(self) -> str:
        """The name of a tool whose text was seen and is not read."""
        return ""

    @abstractmethod
    def take(self, line: str) -> bool:
        """Read *line*; whether it was one of its tool."""

    @abstractmethod
    def reports(self, trouble: str = "") -> Iterable[CollectiveTest | TrainingLog]:
        """What was in the lines; *trouble*: why there were no further ones."""


class CollectiveReader(TextReader):
    """A reader of tests of collectives, which are judged in the same way."""

    @abstractmethod
    def finish(self) -> Iterable[CollectiveTable]:
        """The tests in the lines, as they were printed."""

    def reports(self, trouble: str = "") -> Iterable[CollectiveTest]:
        """The tests, and the doubts about them."""
        for table in self.finish():
            table.doubts += [trouble] * bool(trouble)
            yield from judge_tests(table)
