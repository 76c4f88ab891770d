"""The records of a learner in a database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Engine
from sqlmodel import Session

from app.server.db import assessments, personal, queries
from app.server.db.history import Effort, PastAnswer, Standing
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.tables import Attempt


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """The records of *learner*, read in *session*: `LearnerRecords` of a server."""

    engine: Engine
    session: Session
    learner: str

    def standings(self) -> Mapping[str, Standing]:
        """As `queries.standings`."""
        return queries.standings(self.session, self.learner)

    def answers(self) -> Sequence[PastAnswer]:
        """As `queries.answers`."""
        return queries.answers(self.session, self.learner)

    def known_chapters(self) -> frozenset[str]:
        """As `assessments.known_chapters`."""
        return assessments.known_chapters(self.session, self.learner)

    def mark_known(self, chapters: Collection[str]) -> None:
        """As `assessments.mark_known`."""
        assessments.mark_known(self.session, self.learner, chapters)

    def attempts_by_day(self, since: date) -> Mapping[date, int]:
        """As `queries.attempts_by_day`."""
        return queries.attempts_by_day(self.session, self.learner, since)

    def efforts(self) -> Mapping[str, Effort]:
        """As `queries.efforts`."""
        return queries.efforts(self.session, self.learner)

    def latest_attempts(self) -> Sequence[Attempt]:
        """As `queries.latest_attempts`."""
        return queries.latest_attempts(self.session, self.learner)

    def wrong_attempts(self, limit: int) -> Sequence[Attempt]:
        """As `queries.wrong_attempts`."""
        return queries.wrong_attempts(self.session, self.learner, limit)

    def last_right_answers(self, exercises: Collection[str]) -> Mapping[str, Attempt]:
        """As `queries.last_right_answers`."""
        return queries.last_right_answers(self.session, self.learner, exercises)

    def count_of_guesses(self) -> int:
        """As `queries.count_of_guesses`."""
        return queries.count_of_guesses(self.session, self.learner)

    def prediction(self, exercise: str, seed: int) -> str | None:
        """As `queries.prediction_of`."""
        return queries.prediction_of(self.session, self.learner, exercise, seed)

    def forget_prediction(self, exercise: str, seed: int, answer: str) -> None:
        """As `queries.forget_prediction`."""
        queries.forget_prediction(self.session, self.learner, exercise, seed, answer)

    def everything(self) -> Mapping[str, object]:
        """As `personal.everything`."""
        return personal.collect_everything(self.session, self.learner)

    def delete_everything(self) -> None:
        """As `personal.delete_everything`."""
        personal.delete_everything(self.session, self.learner)

    def merge(self, rows: PersonalRows) -> MergeResult:
        """As `personal.merge`."""
        return personal.merge(self.engine, self.learner, rows)
