"""Points that are given by hand, in place of those of the answers."""

from typing import Annotated

from fastapi import Query, Response
from sqlmodel import Session

from app.classes.api.access import ERRORS, LINK, Number, Paged, Scoped, assignment_for, class_to_change, persons_called
from app.classes.api.assignments import ASSIGNMENT
from app.classes.api.shapes import NewOverride, OverrideDocument
from app.classes.people.classes import members_of
from app.classes.people.gradebook import WHOLE
from app.classes.people.overrides import Override, held, override
from app.core.errors import NotFoundError
from app.server.db.people import REASON_LIMIT
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here

OVERRIDES = ASSIGNMENT + "/overrides"
router = Router(tags=["grades"], responses=ERRORS)
Exercise = Annotated[str, Query(max_length=200, description="the exercise; without one, the whole assignment")]


@router.get(OVERRIDES, summary="List points given by hand", responses={200: LINK})
def list_overrides(
    site: Here, grant: Scoped, class_id: Number, assignment: Number, page: Paged
) -> list[OverrideDocument]:
    """Returns the points that were given by hand and hold, by the number of the person.

    All of a person are in one part of the list, however many they are.
    """
    with open_session(site.engine) as session:
        assignment_for(session, grant, class_id, assignment)
        found = _held(session, class_id, assignment)
    persons = set(page.cut(sorted({one.number for one in found}), lambda number: number))
    return [one for one in found if one.number in persons]


@router.post(OVERRIDES, summary="Give points by hand")
def give_points(
    site: Here, grant: Scoped, class_id: Number, assignment: Number, body: NewOverride
) -> list[OverrideDocument]:
    """Gives these people the same points, and returns what holds for them now."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        found = assignment_for(session, grant, class_id, assignment)
        persons = persons_called(session, class_id, body.people)
        given = [Override(one, body.exercise or WHOLE, body.points) for one in sorted(persons)]
        override(session, found, given, f"token {grant.name}", body.why)
        session.commit()
        now = _held(session, class_id, assignment)
    return [one for one in now if one.number in persons]


@router.delete(OVERRIDES + "/{person}", status_code=204, summary="Take points back")
def take_points_back(
    site: Here,
    grant: Scoped,
    class_id: Number,
    assignment: Number,
    person: Number,
    exercise: Exercise = WHOLE,
    why: Annotated[str, Query(max_length=4 * REASON_LIMIT)] = "taken back",
) -> Response:
    """The points of the answers hold again for the person with that number."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        found = assignment_for(session, grant, class_id, assignment)
        if not any((row.person, row.exercise) == (person, exercise) for row in held(session, found.id)):
            raise NotFoundError("this person was not given points by hand for that")
        override(session, found, [Override(person, exercise, None)], f"token {grant.name}", why)
        session.commit()
    return Response(status_code=204)


def _held(session: Session, class_id: int, assignment: int) -> list[OverrideDocument]:
    members = {one.person: one for one in members_of(session, class_id)}
    return [
        OverrideDocument(
            number=row.person,
            id=members[row.person].outside_id,
            name=members[row.person].name,
            exercise=row.exercise or None,
            points=row.points or 0.0,
            by=row.by,
            why=row.why,
            at=row.at,
        )
        for row in held(session, assignment)
        if row.person in members
    ]
