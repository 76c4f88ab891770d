"""What is stored of a student that the page of an exercise needs: read once, for many at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from app.classes.people.work import StudentWork, veils, works_at
from app.server.db.exercise_histories import read_histories
from app.server.db.history import ExerciseHistory, LearnerDrawing, StoredAnswer
from app.server.db.session import open_session
from app.site.members import SignedIn

if TYPE_CHECKING:
    from sqlalchemy import Engine


@dataclass(frozen=True, slots=True)
class StudentDrawing:
    """A person at a *drawing* of an exercise, now."""

    drawing: LearnerDrawing
    person: SignedIn
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentHistory(ExerciseHistory):
    """What a person has done before, and what assignments say about the exercise."""

    works: Sequence[StudentWork] = ()

    def after_answer(self, attempt: StoredAnswer) -> Self:
        """The history after one more answer."""
        after = ExerciseHistory.after_answer(self, attempt)
        return replace(after, works=[work.answered(attempt.seed) for work in self.works])


def student_histories(engine: "Engine", secret: str, those: Sequence[StudentDrawing]) -> Sequence[StudentHistory]:
    """The history of each of *those*, in their order.

    Raises:
        UnavailableError: the database cannot be read.
    """
    persons = {one.person.person: one.person for one in those}.values()
    exercises = {one.drawing.exercise for one in those}
    now = those[0].now
    with open_session(engine) as session:
        works = works_at(session, secret, persons, exercises, now)
        hidden = veils(session, secret, persons, now)
        veil = {one.drawing.learner: hidden[one.person.person] for one in those}
        drawings = [one.drawing for one in those]
        found = read_histories(session.connection(), drawings, veil)
    return [
        StudentHistory(
            seen=history.seen,
            last=history.last,
            known=history.known,
            veil=history.veil,
            works=works.get((one.person.person, one.drawing.exercise), ()),
        )
        for one, history in zip(those, found, strict=True)
    ]
