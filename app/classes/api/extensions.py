"""Later dates for single students."""

from datetime import UTC, datetime

from fastapi import Response
from sqlmodel import Session, select

from app.classes.api.access import ERRORS, LINK, Number, Paged, Scoped, assignment_for, class_to_change, persons_called
from app.classes.api.assignments import ASSIGNMENT
from app.classes.api.shapes import ExtensionDocument, NewExtension
from app.classes.people.assignments import Assignment
from app.classes.people.classes import members_of
from app.classes.people.personal_dates import extend, first_end
from app.core.errors import InputError, NotFoundError
from app.server.db.people import ExtensionRow
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here

EXTENSIONS = ASSIGNMENT + "/extensions"
router = Router(tags=["assignments"], responses=ERRORS)


@router.get(EXTENSIONS, summary="List extensions", responses={200: LINK})
def list_extensions(
    site: Here, grant: Scoped, class_id: Number, assignment: Number, page: Paged
) -> list[ExtensionDocument]:
    """Returns the extensions of an assignment, by the number of the person."""
    with open_session(site.engine) as session:
        assignment_for(session, grant, class_id, assignment)
        found = _extensions(session, class_id, assignment)
    return list(page.cut(found, lambda one: one.number))


@router.post(EXTENSIONS, summary="Extend for one or many")
def give_extensions(
    site: Here, grant: Scoped, class_id: Number, assignment: Number, body: NewExtension
) -> list[ExtensionDocument]:
    """Moves the due date and the close of these people; an earlier extension is replaced."""
    until = body.until.astimezone(UTC)
    why = " ".join(body.why.split())
    if not why.isprintable():
        raise InputError("body.why: a reason has printable characters only")
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        extended = assignment_for(session, grant, class_id, assignment)
        persons = persons_called(session, class_id, body.people)
        _refuse_useless(extended, first_end(session, extended, persons), until)
        extend(session, assignment, sorted(persons), until, f"token {grant.name}"[:100], why)
        session.commit()
        found = _extensions(session, class_id, assignment)
    return [one for one in found if one.number in persons]


@router.delete(EXTENSIONS + "/{person}", status_code=204, summary="Take an extension back")
def end_extension(site: Here, grant: Scoped, class_id: Number, assignment: Number, person: Number) -> Response:
    """The dates of everyone hold again for the person with that number."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        assignment_for(session, grant, class_id, assignment)
        row = session.get(ExtensionRow, (assignment, person))
        if row is None:
            raise NotFoundError("this person has no extension")
        session.delete(row)
        session.commit()
    return Response(status_code=204)


def _extensions(session: Session, class_id: int, assignment: int) -> list[ExtensionDocument]:
    members = {one.person: one for one in members_of(session, class_id)}
    rows = session.exec(select(ExtensionRow).where(ExtensionRow.assignment == assignment))
    return [
        ExtensionDocument(
            number=row.person,
            id=members[row.person].outside_id,
            name=members[row.person].name,
            until=row.until,
            by=row.by,
            why=row.why,
        )
        for row in sorted(rows, key=lambda row: row.person)
        if row.person in members
    ]


def _refuse_useless(assignment: Assignment, first: datetime | None, until: datetime) -> None:
    """Refuse an extension that moves no date; in an exam it is when the student must stop."""
    if assignment.policy.sitting:
        return
    if first is None:
        raise InputError("this assignment has no due date: nothing can be extended")
    if until <= first:
        raise InputError(f"body.until: everyone has until {first:%Y-%m-%dT%H:%MZ} already")
