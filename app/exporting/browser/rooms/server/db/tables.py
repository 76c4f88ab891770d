"""In place of the tables, in a browser: the rows of one learner."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

IN_PLACE_OF = (
    "app.server.db.assessments",
    "app.server.db.lab_runs",
    "app.server.db.measurements",
    "app.server.db.replays",
)
NAME_LIMIT, REPORT_LIMIT, MOST_CHAPTERS = 100, 0, 500
SENT = "sent"


def now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


class Row(BaseModel):
    """A row, and its form in a file of progress."""

    model_config = ConfigDict(defer_build=True)

    learner: str = Field(default="")
    at: datetime = Field(default_factory=now)

    def stored(self) -> dict[str, Any]:
        """The row as JSON has it."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "learner"}
        return fields | {"at": self.at.isoformat()}


class Attempt(Row):
    """One submitted answer."""

    exercise: str
    seed: int
    answer: str
    correct: bool
    score: float
    hints: int = 0
    revealed: bool = False
    digest: str = ""
    drawn: str = ""
    seconds: float | None = None
    mistake: str | None = None
    carried: bool = False

    def stored(self) -> dict[str, Any]:
        """The row without where it came from."""
        return {name: value for name, value in super().stored().items() if name != "carried"}


class Reveal(Row):
    """A hint that was shown, or with number 0 the worked solution."""

    exercise: str
    seed: int
    number: int


class Prediction(Row):
    """A prediction of what a lab measures, as JSON."""

    exercise: str
    seed: int
    answer: str


class DailyGuess(Row):
    """A guess on a question of the day of an earlier version: carried along."""

    day: Any
    question: str
    answer: str
    value: float

    def stored(self) -> dict[str, Any]:
        """The row with its day as text."""
        return super().stored() | {"day": self.day.isoformat()}


LabRunRow = MeasurementRow = Replay = ReplayedAttempt = Row  # rows of a server, of which a browser has none


class AssessedAnswer(Row):
    """An answer in an assessment of a server: carried along."""

    assessment: str
    draw: int
    number: int
    exercise: str
    seed: int
    outcome: str


class KnownChapter(Row):
    """A chapter that the learner knows."""

    chapter: str


KINDS: Mapping[str, type[Row]] = {
    "attempts": Attempt,
    "reveals": Reveal,
    "predictions": Prediction,
    "guesses": DailyGuess,
    "assessed": AssessedAnswer,
    "known_chapters": KnownChapter,
}


def read_row(kind: str, text: str) -> Row:
    """The row that the browser stored as *text*."""
    fields = json.loads(text)
    fields["at"] = datetime.fromisoformat(fields["at"])
    if "day" in fields:
        fields["day"] = datetime.fromisoformat(fields["day"]).date()
    return KINDS[kind](**fields)


def is_measurement_name(_: str) -> bool:
    """Whether a file's measurement can be taken: it cannot."""
    return False
