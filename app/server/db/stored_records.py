"""The records of a learner in a database."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from sqlalchemy import ColumnElement, and_, case, delete, func, not_, or_, true
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.server.db import assessments, personal
from app.server.db.history import Drawing, Effort, PastAnswer, Standing
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.tables import Attempt, AttemptRow, PredictionRow


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """The records of *learner* without the answers at drawings under the *veil*: `LearnerRecords` of a server."""

    session: Session
    learner: str
    veil: frozenset[Drawing] = frozenset()  # a seed of None is any

    @property
    def _shown(self) -> ColumnElement[bool]:
        """Whether a row is an answer of the learner that is not left out."""
        hidden = [
            and_(col(AttemptRow.exercise) == exercise, col(AttemptRow.seed) == seed if seed is not None else true())
            for exercise, seed in self.veil
        ]
        own = col(AttemptRow.learner) == self.learner
        return and_(own, not_(or_(*hidden))) if hidden else own

    def standings(self) -> Mapping[str, Standing]:
        """The standing of the learner with every exercise tried, by id.

        A correct answer after the worked solution was shown does not count as solved.
        """
        own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
        unaided = own & (col(AttemptRow.hints) == 0)
        statement = (
            columns(
                col(AttemptRow.exercise),
                func.count(),
                func.max(case((own, 1), else_=0)),
                func.max(case((unaided, 1), else_=0)),
                func.max(col(AttemptRow.at)),
            )
            .where(self._shown)
            .group_by(col(AttemptRow.exercise))
        )
        rows = self.session.connection().execute(statement).all()
        return {name: Standing(n, bool(right), bool(free), at) for name, n, right, free, at in rows}

    def answers(self) -> Sequence[PastAnswer]:
        """Every answer of the learner, oldest first."""
        own = col(AttemptRow.correct) & ~col(AttemptRow.revealed)
        statement = (
            columns(col(AttemptRow.exercise), col(AttemptRow.at), own, own & (col(AttemptRow.hints) == 0))
            .where(self._shown)
            .order_by(col(AttemptRow.at), col(AttemptRow.id))
        )
        rows = self.session.connection().execute(statement).all()
        return [PastAnswer(name, at, bool(right), bool(free)) for name, at, right, free in rows]

    def prediction(self, exercise: str, seed: int) -> str | None:
        """The prediction of the learner for that drawing, as JSON."""
        statement = select(PredictionRow.answer).where(
            PredictionRow.learner == self.learner, PredictionRow.exercise == exercise, PredictionRow.seed == seed
        )
        return self.session.exec(statement).first()

    def forget_prediction(self, exercise: str, seed: int, answer: str) -> None:
        """Delete the prediction *answer* of the learner, because the exercise has changed since.

        A different prediction, which may have been stored a moment ago, stays.
        """
        own = (
            col(PredictionRow.learner) == self.learner,
            col(PredictionRow.exercise) == exercise,
            col(PredictionRow.seed) == seed,
            col(PredictionRow.answer) == answer,
        )
        self.session.connection().execute(delete(PredictionRow).where(*own))
        self.session.commit()

    def last_right_answers(self, exercises: Collection[str]) -> Mapping[str, Attempt]:
        """The last right answer of the learner to each of *exercises*, by id, before any solution."""
        own = (self._shown, col(AttemptRow.exercise).in_(exercises), col(AttemptRow.correct), ~col(AttemptRow.revealed))
        last = columns(func.max(col(AttemptRow.id))).where(*own).group_by(col(AttemptRow.exercise))
        rows = self.session.exec(select(AttemptRow).where(col(AttemptRow.id).in_(last)))
        return {row.exercise: row for row in rows}

    def latest_attempts(self, limit: int = 20, *which: ColumnElement[bool]) -> Sequence[Attempt]:
        """The last attempts of the learner, or those *which* hold, newest first."""
        newest_first = col(AttemptRow.at).desc(), col(AttemptRow.id).desc()
        return self.session.exec(
            select(AttemptRow).where(self._shown, *which).order_by(*newest_first).limit(limit)
        ).all()

    def wrong_attempts(self, limit: int) -> Sequence[Attempt]:
        """The last wrong answers of the learner, newest first."""
        return self.latest_attempts(limit, ~col(AttemptRow.correct))

    def efforts(self) -> Mapping[str, Effort]:
        """The effort of the learner on each exercise, by id.

        The time is that of the last answer on each drawing's page, if the page recorded when it was opened.
        """
        statement = (
            columns(
                col(AttemptRow.exercise),
                func.count(),
                func.sum(case((col(AttemptRow.correct), 1), else_=0)),
                func.max(col(AttemptRow.seconds)),
            )
            .where(self._shown)
            .group_by(col(AttemptRow.exercise), col(AttemptRow.seed))
        )
        found: dict[str, Effort] = {}
        for name, count, right, seconds in self.session.connection().execute(statement).all():
            other = found.get(name, Effort(0, 0, None))
            times = [time for time in (other.seconds, seconds) if time is not None]
            whole = sum(times) if times else None
            found[name] = Effort(other.answers + count, other.right + int(right), whole)
        return found

    def attempts_by_day(self, since: date) -> Mapping[date, int]:
        """The number of answers of the learner on each day from *since* on; a day begins at 00:00 UTC."""
        moment = datetime.combine(since, time(), UTC)
        statement = select(AttemptRow.at).where(AttemptRow.learner == self.learner, col(AttemptRow.at) >= moment)
        return Counter(at.astimezone(UTC).date() for at in self.session.exec(statement))

    def known_chapters(self) -> frozenset[str]:
        """As `assessments.known_chapters`."""
        return assessments.known_chapters(self.session, self.learner)

    def mark_known(self, chapters: Collection[str]) -> None:
        """As `assessments.mark_known`."""
        assessments.mark_known(self.session, self.learner, chapters)

    def everything(self) -> Mapping[str, object]:
        """As `personal.collect_everything`."""
        return personal.collect_everything(self.session, self.learner)

    def delete_everything(self) -> None:
        """As `personal.delete_everything`."""
        personal.delete_everything(self.session, self.learner)

    def merge(self, rows: PersonalRows) -> MergeResult:
        """As `personal.merge`."""
        return personal.merge(self.session.get_bind().engine, self.learner, rows)
