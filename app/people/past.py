"""What is stored of a learner that the page of an exercise needs: read once, for many at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from app.db.at_exercise import (
    SHOWN,
    LastAnswer,
    LastAnswers,
    joined,
    last_answers,
    reveals_of,
    standings_by,
)
from app.db.queries import Drawing, Revealed, Standing
from app.db.session import open_session
from app.db.tables import Attempt
from app.people.persons import SignedIn
from app.people.work import Work, veils, works_at

if TYPE_CHECKING:
    from sqlalchemy import Engine

_NOTHING = Revealed(0, solution=False)


@dataclass(frozen=True, slots=True)
class LearnerAt:
    """A learner at a drawing of an exercise, now; *person* if the learner is signed in."""

    learner: str
    exercise: str
    seed: int
    person: SignedIn | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAt:
    """What a learner has done before, as seen from a drawing of an exercise.

    *seen*: the hints and the solution of that drawing; *last*: answers to the exercise, newest
    first; *veil*: the drawings whose verdicts are hidden, which *known* leaves out.
    """

    seen: Revealed = _NOTHING
    last: LastAnswers = LastAnswers()
    known: Mapping[str, Standing] = field(default_factory=dict)
    works: Sequence[Work] = ()
    veil: frozenset[Drawing] = frozenset()

    def hides(self, exercise: str, seed: int) -> bool:
        """Whether verdicts on that drawing are hidden."""
        return (exercise, seed) in self.veil or (exercise, None) in self.veil

    def shown(self, number: int) -> "PastAt":
        """The past after the hint with that *number*, or the solution, was shown."""
        if number:
            return replace(self, seen=Revealed(max(number, self.seen.hints), self.seen.solution))
        return replace(self, seen=Revealed(self.seen.hints, solution=True))

    def answered(self, attempt: Attempt) -> "PastAt":
        """The past after one more answer."""
        one = LastAnswer(attempt.seed, attempt.at, attempt.answer, attempt.correct)
        right = self.last.right | {attempt.seed} if attempt.correct else self.last.right
        known = self.known
        if not self.hides(attempt.exercise, attempt.seed):
            own = attempt.correct and not attempt.revealed
            standing = Standing(1, own, own and not attempt.hints)
            standing = joined(known.get(attempt.exercise), standing)
            known = {**known, attempt.exercise: standing}
        return replace(
            self,
            last=LastAnswers((one, *self.last.shown)[:SHOWN], right),
            known=known,
            works=[work.answered(attempt.seed) for work in self.works],
        )


def pasts(engine: "Engine", secret: str, those: Sequence[LearnerAt]) -> Sequence[PastAt]:
    """The past of each of *those*, in their order.

    Raises:
        UnavailableError: the database cannot be read.
    """
    learners = {one.learner for one in those}
    exercises = {one.exercise for one in those}
    persons = {one.person.person: one.person for one in those if one.person}.values()
    now = those[0].now
    with open_session(engine) as session:
        connection = session.connection()
        works = works_at(session, secret, persons, exercises, now)
        hidden = veils(session, secret, persons, now)
        seen = reveals_of(connection, learners, exercises, {one.seed for one in those})
        last = last_answers(connection, learners, exercises)
        veil = dict.fromkeys(learners, frozenset[Drawing]())
        veil |= {one.learner: hidden[one.person.person] for one in those if one.person}
        known = standings_by(connection, veil)
    return [
        PastAt(
            seen=seen.get((one.learner, one.exercise, one.seed), _NOTHING),
            last=last.get((one.learner, one.exercise), LastAnswers()),
            known=known[one.learner],
            works=works.get((one.person.person, one.exercise), ()) if one.person else (),
            veil=veil[one.learner],
        )
        for one in those
    ]
