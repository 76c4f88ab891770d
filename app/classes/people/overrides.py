"""Points that a teacher gives by hand: with a reason, appended, and the last one holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment
from app.classes.people.gradebook import WHOLE
from app.core.errors import InputError, nearest
from app.core.translation import translate
from app.server.db.people import REASON_LIMIT, OverrideRow, PersonRow
from app.server.db.tables import NAME_LIMIT


@dataclass(frozen=True, slots=True)
class Override:
    """Points for an exercise, or for the whole; none: the points of the answers hold again."""

    person: int
    exercise: str
    points: float | None


def override(session: Session, assignment: Assignment, given: Iterable[Override], by: str, why: str) -> None:
    """Give points by hand; not committed.

    Raises:
        InputError: there is no reason, or the assignment or the student does not have the exercise.
    """
    reason = " ".join(why.split())
    if not reason:
        raise InputError(translate("give a reason: the student sees it beside the points"))
    if len(reason) > REASON_LIMIT or not reason.isprintable():
        raise InputError(
            translate("a reason has at most {reason_limit} printable characters", reason_limit=REASON_LIMIT)
        )
    names = [entry.exercise for entry in assignment.entries]
    for one in given:
        if one.points is not None:
            _refuse_undrawn(session, assignment, one)
        if one.exercise not in (WHOLE, *names):
            near = nearest(one.exercise, names)
            raise InputError(
                translate("the assignment has no exercise {exercise!r}{near}", exercise=one.exercise[:80], near=near)
            )
        session.add(
            OverrideRow(
                assignment=assignment.id,
                person=one.person,
                exercise=one.exercise,
                points=one.points,
                by=by[:NAME_LIMIT],
                why=reason,
            )
        )
    session.flush()


def _refuse_undrawn(session: Session, assignment: Assignment, one: Override) -> None:
    """Refuse points for an exercise of a pool that the student does not have."""
    pooled = any(entry.pool and entry.exercise == one.exercise for entry in assignment.entries)
    person = session.get(PersonRow, one.person) if pooled else None
    if person is not None and one.exercise not in assignment.drawn(person.learner):
        raise InputError(translate("{exercise} was not drawn for this student", exercise=one.exercise))


def held(session: Session, assignment: int) -> Sequence[OverrideRow]:
    """The overrides of an assignment that hold, by person and exercise."""
    rows = session.exec(select(OverrideRow).where(OverrideRow.assignment == assignment).order_by(col(OverrideRow.id)))
    last = {(row.person, row.exercise): row for row in rows}
    return [last[cell] for cell in sorted(last) if last[cell].points is not None]


def overrides_of(session: Session, assignment: Assignment, person: int) -> Mapping[str, Sequence[OverrideRow]]:
    """Every override of *person* in an assignment, by exercise; the last one first."""
    rows = session.exec(
        select(OverrideRow)
        .where(OverrideRow.assignment == assignment.id, OverrideRow.person == person)
        .order_by(col(OverrideRow.id).desc())
    )
    found: dict[str, list[OverrideRow]] = {}
    for row in rows:
        found.setdefault(row.exercise, []).append(row)
    return found
