"""The answers that a class caused, as a program reads them: one after another, oldest first.

Those are answers to what it assigned, since the student has been in it. What a student does elsewhere,
or did before, is not the class's.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice

from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, assignments_of
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.variants import Drawings, former_learners
from app.server.db.people import MemberRow, PersonRow
from app.server.db.tables import AttemptRow

_LEARNERS = 500  # of a query: databases limit its parameters


class ClassWork:
    """Which rows of learners a class caused."""

    def __init__(self, session: Session, secret: str, class_id: int) -> None:
        former = former_learners(session)
        self.assignments = assignments_of(session, class_id)
        self._drawings: dict[str, list[tuple[Assignment, Drawings]]] = {}
        for one in self.assignments:
            for entry in one.entries:
                self._drawings.setdefault(entry.exercise, []).append((one, Drawings(secret, one, former)))
        joined = columns(col(PersonRow.learner), col(MemberRow.joined)).where(
            col(MemberRow.class_id) == class_id, col(PersonRow.id) == col(MemberRow.person)
        )
        self._joined = {row.learner: row.joined for row in session.connection().execute(joined)}

    @property
    def exercises(self) -> Collection[str]:
        """What the class has assigned."""
        return self._drawings.keys()

    def caused(self, learner: str, exercise: str, seed: int, at: datetime) -> bool:
        """Whether *learner*, a member, did that for the class *at* that time."""
        if at < self._joined[learner]:
            return False
        return any(
            drawings.counts(learner, exercise, seed) and _since_open(one, at)
            for one, drawings in self._drawings.get(exercise, ())
        )


def _since_open(assignment: Assignment, at: datetime) -> bool:
    """Whether *at* is not before an assignment of which any drawing counts."""
    policy = assignment.policy
    return policy.variants != "many" or policy.opens is None or at >= policy.opens


def results_of_class(
    session: Session, secret: str, class_id: int, after: int = 0, limit: int | None = None
) -> Iterator[Mapping[str, object]]:
    """The answers of the students of a class whose number is above *after*, at most *limit*."""
    students = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
    work = ClassWork(session, secret, class_id)
    found = _rows(session, [one.learner for one in students], after, limit, work)
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


def _rows(
    session: Session, learners: Sequence[str], after: int, limit: int | None, work: ClassWork | None = None
) -> Iterator[AttemptRow]:
    """The rows in order, those that a class caused; of many learners, those of a part of them at a time."""
    parts = [learners[start : start + _LEARNERS] for start in range(0, len(learners), _LEARNERS)]
    found: list[int] = []
    for part in parts:
        numbers = (
            columns(col(AttemptRow.id), *(getattr(AttemptRow, name) for name in ("learner", "exercise", "seed", "at")))
            .where(col(AttemptRow.learner).in_(part), col(AttemptRow.id) > after)
            .order_by(col(AttemptRow.id))
        )
        if work is not None:
            numbers = numbers.where(col(AttemptRow.exercise).in_(work.exercises), ~col(AttemptRow.carried))
        given = session.connection().execute(numbers.limit(limit) if work is None else numbers)
        theirs = (row.id for row in given if work is None or work.caused(row.learner, row.exercise, row.seed, row.at))
        found += islice(theirs, limit)
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
