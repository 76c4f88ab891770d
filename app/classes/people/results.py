"""The answers of a class, as a program reads them: one after another, oldest first."""

import json
from collections.abc import Iterator, Mapping, Sequence

from sqlmodel import Session, col, select

from app.classes.people.classes import Member, Role, members_of
from app.server.db.tables import AttemptRow

_LEARNERS = 500  # of a query: databases limit its parameters


def results_of_class(
    session: Session, class_id: int, after: int = 0, limit: int | None = None
) -> Iterator[Mapping[str, object]]:
    """The answers of the students of a class whose number is above *after*, at most *limit*."""
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    found = _rows(session, [one.learner for one in students], after, limit)
    members = {one.learner: one for one in students}
    for row in found:
        yield {**answer_result(row), "learner": _named(members[row.learner])}


def results_of_learner(session: Session, learner: str) -> Iterator[Mapping[str, object]]:
    """The answers of one learner."""
    for row in _rows(session, [learner], 0, None):
        yield {**answer_result(row), "learner": learner}


def answer_result(row: AttemptRow) -> Mapping[str, object]:
    """An answer and its verdict; *digest* is that of the exercise's file."""
    return {
        "number": row.id,
        "exercise": row.exercise,
        "seed": row.seed,
        "answer": _answer(row.answer),
        "verdict": "correct" if row.correct else "incorrect",
        "score": row.score,
        "hints": row.hints,
        "revealed": row.revealed,
        "seconds": row.seconds,
        "mistake": row.mistake,
        "digest": row.digest,
        "at": row.at.isoformat(),
    }


def _rows(session: Session, learners: Sequence[str], after: int, limit: int | None) -> Iterator[AttemptRow]:
    """The rows in order; of many learners, the rows of a part of them at a time."""
    parts = [learners[start : start + _LEARNERS] for start in range(0, len(learners), _LEARNERS)]
    found: list[int] = []
    for part in parts:
        numbers = (
            select(AttemptRow.id)
            .where(col(AttemptRow.learner).in_(part), col(AttemptRow.id) > after)
            .order_by(col(AttemptRow.id))
        )
        found += [number for number in session.exec(numbers.limit(limit)) if number is not None]
    found = sorted(found)[:limit]
    for start in range(0, len(found), _LEARNERS):
        some = found[start : start + _LEARNERS]
        rows = select(AttemptRow).where(col(AttemptRow.id).in_(some)).order_by(col(AttemptRow.id))
        yield from session.exec(rows)
        session.expunge_all()


def _answer(text: str) -> object:
    """The answer as it is sent: a list or an object is stored as JSON."""
    if text[:1] not in "[{":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _named(member: Member) -> str:
    """What a check calls a member: the id of the other system, or the person's number."""
    return member.outside_id or str(member.person)
