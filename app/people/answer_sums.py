"""What an exercise earned, added up by the database: a row for each drawing that was answered."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Float, FromClause, case, func, literal
from sqlalchemy import select as columns
from sqlmodel import Session, col

from app.db.tables import AttemptRow
from app.people.assignments import Assignment
from app.people.policy import Dates, Policy, worth_steps
from app.people.variants import since_joined

_AT_ONCE = 1_000  # learners of a query: databases limit its parameters
_NOTHING = literal(0.0, Float)
Steps = Sequence[tuple[datetime, float]]


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
