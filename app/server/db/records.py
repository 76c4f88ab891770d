"""What is stored about one learner, as pages read and change it: in a database, or in a browser."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Protocol

from app.server.db.assessments import AssessedAnswer, KnownChapter
from app.server.db.history import Effort, PastAnswer, Standing
from app.server.db.measurements import MeasurementRow
from app.server.db.tables import Attempt, DailyGuess, LabRunRow, Prediction, Reveal


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalRows:
    """Rows of one learner, as they come from a file."""

    attempts: Sequence[Attempt]
    reveals: Sequence[Reveal]
    predictions: Sequence[Prediction]
    guesses: Sequence[DailyGuess]
    runs: Sequence[LabRunRow]
    measurements: Sequence[MeasurementRow] = ()
    assessed: Sequence[AssessedAnswer] = ()
    known_chapters: Sequence[KnownChapter] = ()

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(getattr(self, one.name)) for one in fields(self))


@dataclass(frozen=True, slots=True)
class MergeResult:
    """How many rows were added, and how many were left out because they were stored already."""

    added: int
    known: int


class LearnerRecords(Protocol):
    """The records of one learner; what is read leaves out answers whose verdicts are hidden."""

    def standings(self) -> Mapping[str, Standing]:
        """The standing with every exercise tried, by id."""

    def answers(self) -> Sequence[PastAnswer]:
        """Every answer, oldest first."""

    def known_chapters(self) -> frozenset[str]:
        """The chapters that the learner knows."""

    def mark_known(self, chapters: Collection[str]) -> None:
        """Let the learner know these *chapters*, and no others."""

    def attempts_by_day(self, since: date) -> Mapping[date, int]:
        """The number of answers on each day from *since* on, hidden ones too."""

    def efforts(self) -> Mapping[str, Effort]:
        """The effort on each exercise, by id."""

    def latest_attempts(self) -> Sequence[Attempt]:
        """The last attempts, newest first."""

    def wrong_attempts(self, limit: int) -> Sequence[Attempt]:
        """The last wrong answers, newest first."""

    def last_right_answers(self, exercises: Collection[str]) -> Mapping[str, Attempt]:
        """The last right answer to each of *exercises*, by id, before any solution."""

    def prediction(self, exercise: str, seed: int) -> str | None:
        """The prediction for a drawing, as JSON."""

    def forget_prediction(self, exercise: str, seed: int, answer: str) -> None:
        """Delete the prediction *answer*, because the exercise has changed since."""

    def everything(self) -> Mapping[str, object]:
        """Everything stored, ready for JSON."""

    def delete_everything(self) -> None:
        """Delete everything stored."""

    def merge(self, rows: PersonalRows) -> MergeResult:
        """Store those of *rows* that are not stored yet.

        Raises:
            InputError: there would be too many answers, runs or measurements.
            UnavailableError: they cannot be stored.
        """
