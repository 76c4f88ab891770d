"""What each exercise of an assignment earned each person: cells of a gradebook."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Float, FromClause, Select, case, func, literal
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.classes.people.assignments import Assignment
from app.classes.people.classes import Member
from app.classes.people.counted_answers import Drawings, Former, dates_of_everyone, former_learners, since_joined
from app.classes.people.policy import CountableAnswer, Dates, Policy, Share, best_share, dates_of, worth_steps
from app.server.db.people import RegradeRow
from app.server.db.tables import AttemptRow

_AT_ONCE = 1_000  # learners of a query: databases limit its parameters
_NOTHING = literal(0.0, Float)
Steps = Sequence[tuple[datetime, float]]
_MANY = 10  # learners with dates of their own, from whom on the database adds up for them
_ANSWERS: Select[*tuple[Any, ...]] = (
    columns(
        col(AttemptRow.learner),
        col(AttemptRow.exercise),
        col(AttemptRow.seed),
        col(AttemptRow.id),
        col(AttemptRow.at),
        col(AttemptRow.score),
        col(AttemptRow.hints),
        col(AttemptRow.revealed),
    )
    .where(~col(AttemptRow.carried))
    .order_by(col(AttemptRow.learner), col(AttemptRow.exercise), col(AttemptRow.id))
)
Key = tuple[int, str]  # a person, an exercise


def drawing_sums(
    session: Session, assignment: Assignment, dates: Dates, exercises: Collection[str], learners: Collection[str]
) -> Iterator[Sequence[Any]]:
    """Exercise, learner, seed, answers that count, and the most earned in time and late, 0 to 1.

    Of *learners*, all of whom have these *dates*, in which worth goes down in steps. If drawings
    do not matter, all of them are one. The products are those of `best_share`: they are equal.
    """
    policy = assignment.policy
    steps = worth_steps(policy, dates) or ()
    whose = sorted(learners) if steps and exercises else []
    for start in range(0, len(whose), _AT_ONCE):
        part = whose[start : start + _AT_ONCE]
        answers = _countable(assignment, dates, exercises, part)
        earned = _unaided(policy, answers)
        statement = columns(
            answers.c.exercise,
            answers.c.learner,
            func.min(answers.c.seed),
            func.count(),
            func.max(_worth(answers, earned, steps[:1])),
            func.max(_worth(answers, earned, [(steps[0][0], 0.0), *steps[1:]])),
        )
        statement = statement.group_by(*_drawing(policy, answers)).order_by(answers.c.exercise)
        yield from session.connection().execute(statement).all()


def _countable(
    assignment: Assignment, dates: Dates, exercises: Collection[str], learners: Collection[str]
) -> FromClause:
    """The answers that may count, as a table: of those in the window, the first *attempts*."""
    policy = assignment.policy
    first, last = dates.window(policy.grace)
    drawing = _drawing(policy, AttemptRow.__table__)  # type: ignore[attr-defined]
    place = func.row_number().over(partition_by=drawing, order_by=col(AttemptRow.id))
    answers = columns(
        col(AttemptRow.learner),
        col(AttemptRow.exercise),
        col(AttemptRow.seed),
        col(AttemptRow.at),
        col(AttemptRow.score),
        col(AttemptRow.hints),
        col(AttemptRow.revealed),
        *([place.label("place")] if policy.attempts else []),
    ).where(
        ~col(AttemptRow.carried),
        col(AttemptRow.at) >= first,
        col(AttemptRow.at) <= last,
        col(AttemptRow.learner).in_(learners),
        col(AttemptRow.exercise).in_(exercises),
        *since_joined(assignment),
    )
    if not policy.attempts:
        return answers.subquery()
    numbered = answers.subquery()
    return columns(numbered).where(numbered.c.place <= policy.attempts).subquery()


def _drawing(policy: Policy, answers: FromClause) -> Sequence[ColumnElement[Any]]:
    """The columns that are equal in the answers of one number of tries."""
    drawing = [answers.c.exercise, answers.c.learner]
    return drawing if policy.variants == "many" else [*drawing, answers.c.seed]


def _unaided(policy: Policy, answers: FromClause) -> ColumnElement[float]:
    """What an answer is worth after its hints, and nothing after the solution."""
    score: ColumnElement[float] = answers.c.score
    if policy.hints == "cost":
        lost = literal(policy.hint_cost, Float) * answers.c.hints
        score = score * case((lost >= 1.0, _NOTHING), else_=literal(1.0, Float) - lost)
    return case((answers.c.revealed, _NOTHING), else_=score)


def _worth(answers: FromClause, earned: ColumnElement[float], steps: Steps) -> ColumnElement[float]:
    """What is left of *earned* at the time of an answer."""
    parts = [(answers.c.at <= until, earned * literal(part, Float) if part else _NOTHING) for until, part in steps]
    return case(*parts, else_=_NOTHING)


class Cell(NamedTuple):
    """The points of a person for an exercise; *tries*: the answers that count.

    One that is *excused* is left out of every sum.
    """

    points: float
    tries: int = 0
    late: bool = False
    overridden: bool = False
    excused: bool = False


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """The verdict of an exercise that was mended on an attempt."""

    exercise: str
    learner: str
    score: float
    correct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentAnswers:
    """The answers of *persons*, by learner, in an assignment, and how each is judged.

    *points* are by exercise; *dates* are those of the persons who have others than everyone.
    """

    assignment: Assignment
    persons: Mapping[str, int]
    points: Mapping[str, float]
    dates: Mapping[int, Dates]
    former: Former
    drawings: Drawings
    regraded: Mapping[int, JudgedAgain]

    @classmethod
    def read(
        cls, session: Session, secret: str, assignment: Assignment, members: Iterable[Member]
    ) -> "AssignmentAnswers":
        """The answers of *members*."""
        former = former_learners(session)
        return cls(
            assignment=assignment,
            persons={member.learner: member.person for member in members},
            points={entry.exercise: entry.points for entry in assignment.entries},
            dates=dates_of_everyone(session, assignment),
            former=former,
            drawings=Drawings(secret, assignment, former),
            regraded=judged_again(session, assignment),
        )

    def cells(self, session: Session) -> dict[Key, Cell]:
        """What each exercise earned each person who has an answer to it that counts.

        The database adds up what has the same rules for many; the rest is judged one by one.
        """
        mended = {one.exercise for one in self.regraded.values()} & self.points.keys()
        whole, together = self.points.keys() - mended, self._together()
        found: dict[Key, Cell] = {}
        for dates, learners in together.items():
            found.update(self._summed(session, whole, dates, learners))
        special = self.persons.keys() - set().union(*together.values())
        for exercises, learners in ((whole, special), (mended, self.persons.keys())):
            for key, share in self._one_by_one(session, exercises, learners):
                earned = self.points[key[1]] * share.earned
                found[key] = Cell(earned, share.tries, share.late)
        return found

    def times(self, session: Session) -> Iterator[tuple[Key, datetime]]:
        """When the answers were given that earned it; of those that earned nothing, the last."""
        for key, share in self._one_by_one(session, self.points.keys(), self.persons.keys()):
            if share.at:
                yield key, share.at

    def _together(self) -> Mapping[Dates, Collection[str]]:
        """The learners with the same dates, by these, where the database can add up for them.

        Few with dates of their own are not worth a query, nor those with drawings of their own.
        """
        policy, general = self.assignment.policy, dates_of(self.assignment.policy)
        found: dict[Dates, set[str]] = {}
        for learner in self.persons.keys() - self.former.keys():
            own = self.dates.get(self.persons[learner], general)
            found.setdefault(own, set()).add(learner)
        return {
            dates: learners
            for dates, learners in found.items()
            if (dates == general or len(learners) >= _MANY) and worth_steps(policy, dates) is not None
        }

    def _summed(
        self, session: Session, exercises: Collection[str], dates: Dates, learners: Collection[str]
    ) -> Iterator[tuple[Key, Cell]]:
        """The cells of *learners*, who have the same *dates*."""
        has, costs = self.drawings.has, self.assignment.policy.late > 0
        sums = drawing_sums(session, self.assignment, dates, exercises, learners)
        for exercise, rows in groupby(sums, itemgetter(0)):
            points, seed_of = self.points[exercise], self.drawings.seeds(exercise)
            for _, learner, seed, tries, early, late in rows:
                if (seed_of is None or seed == seed_of(learner)) and has(learner, exercise):
                    earned = points * (late if late > early else early)
                    yield (self.persons[learner], exercise), Cell(earned, tries, costs and late > early)

    def _one_by_one(
        self, session: Session, exercises: Collection[str], learners: Collection[str]
    ) -> Iterator[tuple[Key, Share]]:
        """What *learners* earned by the latest verdicts, and by dates of their own."""
        policy, general = self.assignment.policy, dates_of(self.assignment.policy)
        rows = self._rows(session, exercises, learners)
        for (learner, exercise), those in groupby(rows, itemgetter(0, 1)):
            person, own = self.persons[learner], self.drawings.only(learner, exercise)
            answers = (answer for _, _, seed, answer in those if own is None or seed in own)
            share = best_share(policy, self.dates.get(person, general), answers)
            if share.tries:
                yield (person, exercise), share

    def _rows(
        self, session: Session, exercises: Collection[str], learners: Collection[str]
    ) -> Iterator[tuple[str, str, int, CountableAnswer]]:
        """The answers in order, by learner and exercise."""
        whose = sorted(learners) if exercises else []
        for start in range(0, len(whose), _AT_ONCE):
            statement = _ANSWERS.where(
                col(AttemptRow.learner).in_(whose[start : start + _AT_ONCE]),
                col(AttemptRow.exercise).in_(sorted(exercises)),
                *since_joined(self.assignment),
            )
            for row in session.connection().execute(statement).all():
                learner, exercise, seed, number, at, score, hints, revealed = row
                score = self.regraded[number].score if number in self.regraded else score
                yield learner, exercise, seed, CountableAnswer(at, score, hints, revealed)


def judged_again(session: Session, assignment: Assignment) -> Mapping[int, JudgedAgain]:
    """The latest regrades of answers to its exercises, by attempt."""
    statement = (
        columns(
            col(RegradeRow.attempt),
            col(AttemptRow.exercise),
            col(AttemptRow.learner),
            col(RegradeRow.score),
            col(RegradeRow.correct),
        )
        # + 0: from the few regrades to their answers; never from all answers to their regrades
        .join_from(RegradeRow, AttemptRow, col(AttemptRow.id) == col(RegradeRow.attempt) + 0)
        .where(col(AttemptRow.exercise).in_([entry.exercise for entry in assignment.entries]))
        .order_by(col(RegradeRow.at))
    )
    rows = session.connection().execute(statement)
    return {
        attempt: JudgedAgain(exercise, learner, score, correct) for attempt, exercise, learner, score, correct in rows
    }
